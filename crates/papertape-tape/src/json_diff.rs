//! The difference of two JSON values, as a list that people can read.

use std::collections::HashMap;
use std::fmt;

use serde_json::{Map, Number, Value};

use crate::Volatile;

/// A value that is in one of two messages only, or is another one there.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// A JSON pointer (RFC 6901) to it: in the old message, unless only the new one has it.
    pub pointer: String,
    /// What the element of the last list on the way is called (its name or URI), where lists are compared by that.
    pub label: Option<String>,
    /// The value in the old message.
    pub old: Option<Value>,
    /// The value in the new message.
    pub new: Option<Value>,
}

impl fmt::Display for Difference {
    /// `/result/tools/0/title (add): "Add" -> "Sum"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.pointer.is_empty() { "/" } else { &self.pointer })?;
        if let Some(label) = &self.label {
            write!(f, " ({})", label.escape_debug())?;
        }
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => write!(f, ": {old} -> {new}"),
            (Some(old), None) => write!(f, ": {old} is missing"),
            (None, Some(new)) => write!(f, ": {new} is new"),
            (None, None) => f.write_str(": the order differs"),
        }
    }
}

/// The members by which elements of a list are recognised.
const KEYS: [&str; 4] = ["name", "uri", "uriTemplate", "id"];

/// How many elements between the equal ones at both ends of two lists are aligned; more are compared by position.
const MOST_ALIGNED: usize = 200;

/// Compares two values by the rules. The order of members does not matter; the elements of lists are aligned: by name or URI if
/// all have one, else so that as many as possible are equal. Pointers begin at the root of the values.
#[must_use]
pub fn json_diff(old: &Value, new: &Value, volatile: &Volatile) -> Vec<Difference> {
    json_diff_at("", old, new, volatile)
}

/// The same for two values within messages, at this JSON pointer, such as `/result`.
#[must_use]
pub fn json_diff_at(pointer: &str, old: &Value, new: &Value, volatile: &Volatile) -> Vec<Difference> {
    let mut diff = Diff { volatile, path: Vec::new(), label: None, found: Vec::new() };
    diff.path.extend(pointer.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~")));
    diff.values(old, new);
    diff.found
}

struct Diff<'a> {
    volatile: &'a Volatile,
    path: Vec<String>,
    label: Option<String>,
    found: Vec<Difference>,
}

impl Diff<'_> {
    fn values(&mut self, old: &Value, new: &Value) {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        if self.volatile.ignores(&path) || self.volatile.equates(&path, old, new) {
            return;
        }
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => self.objects(old, new),
            (Value::Array(old), Value::Array(new)) => self.lists(old, new),
            (Value::Number(old), Value::Number(new)) if is_same_number(old, new) => {}
            _ if old == new => {}
            _ => self.note(Some(old), Some(new)),
        }
    }

    fn objects(&mut self, old: &Map<String, Value>, new: &Map<String, Value>) {
        for (name, value) in old {
            self.within(name.clone(), |diff| diff.member(Some(value), new.get(name)));
        }
        for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
            self.within(name.clone(), |diff| diff.member(None, Some(value)));
        }
    }

    fn lists(&mut self, old: &[Value], new: &[Value]) {
        if let Some((old_keys, new_keys)) = keys(old).zip(keys(new)) {
            return self.keyed_lists((old, &old_keys), (new, &new_keys));
        }
        let pairs = aligned(old, new, |old, new| {
            // The position does not matter to any rule but `*`.
            self.path.push("*".to_owned());
            let is_same = self.is_same(old, new);
            self.path.pop();
            is_same
        });
        for (old_at, new_at) in pairs {
            let at = old_at.or(new_at).unwrap_or_default();
            let (old, new) = (old_at.and_then(|at| old.get(at)), new_at.and_then(|at| new.get(at)));
            self.element(at, None, old, new);
        }
    }

    /// Whether there is no difference, without aligning what is within.
    fn is_same(&mut self, old: &Value, new: &Value) -> bool {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        if self.volatile.ignores(&path) || self.volatile.equates(&path, old, new) {
            return true;
        }
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => {
                let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
                names.into_iter().all(|name| {
                    self.path.push(name.clone());
                    let is_same = match (old.get(name), new.get(name)) {
                        (Some(old), Some(new)) => self.is_same(old, new),
                        _ => self.volatile.ignores(&self.path.iter().map(String::as_str).collect::<Vec<_>>()),
                    };
                    self.path.pop();
                    is_same
                })
            }
            (Value::Array(old), Value::Array(new)) => {
                old.len() == new.len()
                    && old.iter().zip(new).enumerate().all(|(at, (old, new))| {
                        self.path.push(at.to_string());
                        let is_same = self.is_same(old, new);
                        self.path.pop();
                        is_same
                    })
            }
            (Value::Number(old), Value::Number(new)) => is_same_number(old, new),
            _ => old == new,
        }
    }

    /// Compares elements of the same name.
    fn keyed_lists(
        &mut self,
        (old, old_keys): (&[Value], &Keys<'_>),
        (new, new_keys): (&[Value], &Keys<'_>),
    ) {
        let mut last = None;
        let mut in_order = true;
        for (at, (value, key)) in old.iter().zip(&old_keys.in_order).enumerate() {
            let there = new_keys.positions.get(key).copied();
            if there.is_some() {
                in_order &= last < there;
                last = there;
            }
            self.element(at, Some(key), Some(value), there.and_then(|at| new.get(at)));
        }
        for (at, (value, key)) in new.iter().zip(&new_keys.in_order).enumerate() {
            if !old_keys.positions.contains_key(key) {
                self.element(at, Some(key), None, Some(value));
            }
        }
        if !in_order {
            self.note(None, None);
        }
    }

    fn element(&mut self, at: usize, label: Option<&str>, old: Option<&Value>, new: Option<&Value>) {
        let before = self.label.clone();
        if let Some(label) = label {
            self.label = Some(label.to_owned());
        }
        self.within(at.to_string(), |diff| diff.member(old, new));
        self.label = before;
    }

    fn member(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (Some(old), Some(new)) => self.values(old, new),
            _ => {
                let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
                if !self.volatile.ignores(&path) {
                    self.note(old, new);
                }
            }
        }
    }

    fn within(&mut self, name: String, compare: impl FnOnce(&mut Self)) {
        self.path.push(name);
        compare(self);
        self.path.pop();
    }

    fn note(&mut self, old: Option<&Value>, new: Option<&Value>) {
        let escaped = |name: &String| format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        self.found.push(Difference {
            pointer: self.path.iter().map(escaped).collect(),
            label: self.label.clone(),
            old: old.cloned(),
            new: new.cloned(),
        });
    }
}

/// 1 and 1.0 are the same number. An integer that a float cannot hold is not the same as any float.
fn is_same_number(old: &Number, new: &Number) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let floats = old.as_f64().zip(new.as_f64());
    old == new || floats.is_some_and(|(old, new)| old == new && old.abs() < EXACT)
}

/// What the elements of a list are called.
struct Keys<'a> {
    in_order: Vec<&'a str>,
    positions: HashMap<&'a str, usize>,
}

/// The names of all elements, if all of them have one and it is unique.
fn keys(list: &[Value]) -> Option<Keys<'_>> {
    KEYS.iter().find_map(|key| {
        let in_order: Vec<&str> = list.iter().map(|value| value.get(key)?.as_str()).collect::<Option<_>>()?;
        let positions: HashMap<&str, usize> =
            in_order.iter().enumerate().map(|(at, key)| (*key, at)).collect();
        (positions.len() == list.len() && !list.is_empty()).then_some(Keys { in_order, positions })
    })
}

/// Pairs of positions, in order: the longest common subsequence, and between two of its elements the others one by one.
fn aligned(
    old: &[Value],
    new: &[Value],
    mut is_equal: impl FnMut(&Value, &Value) -> bool,
) -> Vec<(Option<usize>, Option<usize>)> {
    let start = old.iter().zip(new).take_while(|(old, new)| is_equal(old, new)).count();
    let rest = (old.get(start..).unwrap_or_default(), new.get(start..).unwrap_or_default());
    let end =
        rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(|(old, new)| is_equal(old, new)).count();
    let (old_end, new_end) = (old.len() - end, new.len() - end);
    let (middle_old, middle_new) =
        (old.get(start..old_end).unwrap_or_default(), new.get(start..new_end).unwrap_or_default());

    if middle_old.len().max(middle_new.len()) > MOST_ALIGNED {
        let longest = old.len().max(new.len());
        return (0..longest)
            .map(|at| ((at < old.len()).then_some(at), (at < new.len()).then_some(at)))
            .collect();
    }

    // The lengths of the longest common subsequences of what is left, from the back.
    let width = middle_new.len() + 1;
    let mut lengths = vec![0u32; (middle_old.len() + 1) * width];
    let mut equal = vec![false; lengths.len()];
    let at = |row: usize, column: usize| row * width + column;
    let length = |lengths: &[u32], index: usize| lengths.get(index).copied().unwrap_or_default();
    for (row, old) in middle_old.iter().enumerate().rev() {
        for (column, new) in middle_new.iter().enumerate().rev() {
            let is_equal = is_equal(old, new);
            let best = if is_equal {
                length(&lengths, at(row + 1, column + 1)) + 1
            } else {
                length(&lengths, at(row + 1, column)).max(length(&lengths, at(row, column + 1)))
            };
            if let (Some(cell), Some(flag)) =
                (lengths.get_mut(at(row, column)), equal.get_mut(at(row, column)))
            {
                (*cell, *flag) = (best, is_equal);
            }
        }
    }

    let mut pairs: Vec<(Option<usize>, Option<usize>)> = (0..start).map(|at| (Some(at), Some(at))).collect();
    let (mut row, mut column) = (0, 0);
    let (mut only_old, mut only_new) = (Vec::new(), Vec::new());
    while row < middle_old.len() || column < middle_new.len() {
        let here = at(row, column);
        if equal.get(here) == Some(&true) && row < middle_old.len() && column < middle_new.len() {
            pair_up(&mut pairs, &mut only_old, &mut only_new);
            pairs.push((Some(start + row), Some(start + column)));
            (row, column) = (row + 1, column + 1);
        } else if column == middle_new.len()
            || row < middle_old.len()
                && length(&lengths, at(row + 1, column)) >= length(&lengths, at(row, column + 1))
        {
            only_old.push(start + row);
            row += 1;
        } else {
            only_new.push(start + column);
            column += 1;
        }
    }
    pair_up(&mut pairs, &mut only_old, &mut only_new);
    pairs.extend((0..end).map(|at| (Some(old_end + at), Some(new_end + at))));
    pairs
}

/// Elements that have no equal are changed ones, in their order; the rest of the longer list is missing or new.
fn pair_up(
    pairs: &mut Vec<(Option<usize>, Option<usize>)>,
    only_old: &mut Vec<usize>,
    only_new: &mut Vec<usize>,
) {
    let longest = only_old.len().max(only_new.len());
    pairs.extend((0..longest).map(|at| (only_old.get(at).copied(), only_new.get(at).copied())));
    only_old.clear();
    only_new.clear();
}

#[cfg(test)]
mod tests;
