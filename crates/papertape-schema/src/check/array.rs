//! Keywords for arrays.

use serde_json::Value;

use super::{At, Path, Run};
use crate::error::ErrorKind;
use crate::marks::Marks;
use crate::node::{ArrayKeyword, Contains, Items, NodeId, Rest};

impl<'v> Run<'v> {
    pub(super) fn check_array(
        &mut self,
        keyword: &'v ArrayKeyword,
        items: &[Value],
        at: &At<'_>,
        marks: Option<&mut Marks>,
    ) -> bool {
        match keyword {
            ArrayKeyword::Items(schemas) => self.check_items(schemas, items, at, marks),
            ArrayKeyword::Contains(contains) => self.check_contains(contains, items, at, marks),
            ArrayKeyword::UnevaluatedItems(rest) => self.check_unevaluated_items(*rest, items, at, marks),
        }
    }

    #[inline]
    fn check_item(&mut self, id: NodeId, index: usize, item: &Value, at: &At<'_>) -> bool {
        self.passes(id, item) || self.check_into_item(id, index, item, at)
    }

    #[inline(never)]
    fn check_into_item(&mut self, id: NodeId, index: usize, item: &Value, at: &At<'_>) -> bool {
        self.check(id, &At { value: item, path: &Path::Item(at.path, index), ..*at }, None)
    }

    fn check_items(
        &mut self,
        schemas: &'v Items,
        items: &[Value],
        at: &At<'_>,
        mut marks: Option<&mut Marks>,
    ) -> bool {
        let mut valid = true;
        for (index, item) in items.iter().enumerate() {
            let id = match (schemas.first.get(index), schemas.rest) {
                (Some(id), _) => *id,
                (None, Rest::Schema(id)) => id,
                (None, Rest::Free) => break,
                (None, Rest::Refused) => {
                    return self.fail(at, || ErrorKind::MaxItems(schemas.first.len() as u64));
                }
            };
            if !self.check_item(id, index, item, at) {
                if !self.goes_on() {
                    return false;
                }
                valid = false;
            }
            if let Some(marks) = &mut marks {
                marks.mark(index);
            }
        }
        valid
    }

    fn check_contains(
        &mut self,
        contains: &'v Contains,
        items: &[Value],
        at: &At<'_>,
        mut marks: Option<&mut Marks>,
    ) -> bool {
        let mut found = 0;
        for (index, item) in items.iter().enumerate() {
            let here = At { value: item, path: &Path::Item(at.path, index), ..*at };
            if self.is_valid(contains.schema, &here, None) {
                found += 1;
                match &mut marks {
                    Some(marks) if contains.evaluates => marks.mark(index),
                    _ if found >= contains.least && contains.most == u64::MAX => return true,
                    _ => {}
                }
            }
        }
        if found < contains.least {
            return self.fail(at, || ErrorKind::Contains(contains.least));
        }
        self.holds(found <= contains.most, at, || ErrorKind::MaxContains(contains.most))
    }

    fn check_unevaluated_items(
        &mut self,
        rest: Rest,
        items: &[Value],
        at: &At<'_>,
        marks: Option<&mut Marks>,
    ) -> bool {
        let Some(marks) = marks else { return true };
        let left: Vec<usize> = (0..items.len()).filter(|index| !marks.has(*index)).collect();
        let valid = match rest {
            Rest::Free => true,
            Rest::Refused => self.holds(left.is_empty(), at, || ErrorKind::UnevaluatedItems(left.len())),
            Rest::Schema(id) => {
                let mut valid = true;
                for index in left {
                    let Some(item) = items.get(index) else { continue };
                    valid &= self.check_item(id, index, item, at);
                    if !valid && !self.goes_on() {
                        return false;
                    }
                }
                valid
            }
        };
        marks.mark_all();
        valid
    }
}
