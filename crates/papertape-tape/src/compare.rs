//! Two recordings compared: requests aligned by direction, method and name, and their messages by the rules of [`Volatile`].

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Seek};
use std::sync::Arc;

use papertape::protocol::method;
use papertape::wire::Id;
use papertape::wire::message::{Message as Parsed, Payload, parse_member};
use papertape::wire::tape::Direction;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Call, Difference, Notification, Outcome, Place, Recording, Volatile, json_diff_at};

/// A recording and its tape.
#[derive(Debug)]
pub struct Recorded<T> {
    /// What is on the tape.
    pub recording: Recording,
    /// The tape, from which messages are read.
    pub tape: T,
}

/// A request or notification that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// Its direction.
    pub direction: Direction,
    /// Its method.
    pub method: Arc<str>,
    /// The tool, prompt or URI.
    pub name: Option<Arc<str>>,
    /// The number of the first record of the request in the old recording.
    pub old: Option<u64>,
    /// The same in the new recording.
    pub new: Option<u64>,
    /// The outcomes, if they differ.
    pub outcomes: Option<(Outcome, Outcome)>,
    /// Where the request and the response differ; pointers begin with `/params`, `/result` or `/error`.
    pub differences: Vec<Difference>,
}

/// One side of a comparison.
#[derive(Debug, Clone, Copy)]
enum Item<'a> {
    Call(&'a Call),
    Notification(&'a Notification),
}

type Key = (bool, bool, Arc<str>, Option<Arc<str>>);

impl Item<'_> {
    fn key(&self) -> Key {
        match self {
            Item::Call(call) => {
                (true, call.direction == Direction::ToClient, Arc::clone(&call.method), call.name.clone())
            }
            Item::Notification(notification) => {
                (false, notification.direction == Direction::ToClient, Arc::clone(&notification.method), None)
            }
        }
    }

    fn place(&self) -> Place {
        match self {
            Item::Call(call) => call.request,
            Item::Notification(notification) => notification.place,
        }
    }

    fn mismatch(&self) -> Mismatch {
        let (_, to_client, method, name) = self.key();
        Mismatch {
            direction: if to_client { Direction::ToClient } else { Direction::ToServer },
            method,
            name,
            old: None,
            new: None,
            outcomes: None,
            differences: Vec::new(),
        }
    }
}

impl<T: Read + Seek> Recorded<T> {
    /// The members of a message that are compared.
    fn members(&mut self, side: Side<'_>) -> io::Result<Members> {
        let message = side.place.read_message(&mut self.tape, side.direction, side.exchange)?;
        Ok(Members::of(message.payload().ok(), side.id))
    }
}

/// Where a message is that is compared.
#[derive(Clone, Copy)]
struct Side<'a> {
    place: Place,
    direction: Direction,
    exchange: Option<u64>,
    /// Its id: in a batch there are others.
    id: Option<&'a Id>,
}

impl<'a> Side<'a> {
    fn request(call: &'a Call) -> Self {
        Self { place: call.request, direction: call.direction, exchange: call.exchange, id: Some(&call.id) }
    }

    fn response(call: &'a Call) -> Option<Self> {
        let direction = opposite(call.direction);
        Some(Self { place: call.response?, direction, exchange: call.response_exchange, id: Some(&call.id) })
    }

    fn notification(notification: &Notification) -> Self {
        let Notification { place, direction, exchange, .. } = *notification;
        Self { place, direction, exchange, id: None }
    }
}

/// What is compared of a message.
#[derive(Default)]
struct Members([(&'static str, Option<Value>); 3]);

impl Members {
    fn of(payload: Option<Payload<'_>>, id: Option<&Id>) -> Self {
        match payload {
            Some(Payload::Single(message)) => Self::of_message(&message),
            Some(Payload::Batch(members)) => {
                let messages = members.iter().filter_map(|member| parse_member(member).ok());
                let of_id = |message: &Parsed<'_>| match message {
                    Parsed::Request(request) => Some(&request.id) == id,
                    Parsed::Response(response) => response.id.as_ref() == id,
                    Parsed::Notification(_) => id.is_none(),
                };
                messages.into_iter().find(of_id).map(|message| Self::of_message(&message)).unwrap_or_default()
            }
            None => Self::default(),
        }
    }

    fn of_message(message: &Parsed<'_>) -> Self {
        // What is nested too deeply for a value is compared as text.
        let value =
            |json: &RawValue| serde_json::from_str(json.get()).unwrap_or_else(|_| Value::from(json.get()));
        let (params, result, error) = match message {
            Parsed::Request(request) => (request.params, None, None),
            Parsed::Notification(notification) => (notification.params, None, None),
            Parsed::Response(response) => (None, response.result, response.error),
        };
        Self([("/params", params.map(value)), ("/result", result.map(value)), ("/error", error.map(value))])
    }
}

/// Compares two recordings, and calls `found` with each request and notification that differs, in the order of the old recording;
/// what only the new one has comes last. Progress notifications are not compared: how many there are is a matter of time.
///
/// # Errors
/// If a tape cannot be read, or `found` fails.
pub fn compare<T: Read + Seek, E: From<io::Error>>(
    old: &mut Recorded<T>,
    new: &mut Recorded<T>,
    volatile: &Volatile,
    mut found: impl FnMut(Mismatch) -> Result<(), E>,
) -> Result<(), E> {
    let (old_recording, new_recording) =
        (std::mem::take(&mut old.recording), std::mem::take(&mut new.recording));
    let new_items = items(&new_recording);
    let mut waiting: HashMap<Key, VecDeque<usize>> = HashMap::new();
    for (index, item) in new_items.iter().enumerate() {
        waiting.entry(item.key()).or_default().push_back(index);
    }
    let mut result = Ok(());
    for item in items(&old_recording) {
        let there = waiting.get_mut(&item.key()).and_then(VecDeque::pop_front);
        let other = there.and_then(|index| new_items.get(index));
        result = pair(old, new, item, other.copied(), volatile)
            .map_err(E::from)
            .and_then(|mismatch| mismatch.map_or(Ok(()), &mut found));
        if result.is_err() {
            break;
        }
    }
    if result.is_ok() {
        let mut only_new: Vec<usize> = waiting.into_values().flatten().collect();
        only_new.sort_unstable();
        let items = only_new.into_iter().filter_map(|index| new_items.get(index));
        result = items
            .into_iter()
            .try_for_each(|item| found(Mismatch { new: Some(item.place().first), ..item.mismatch() }));
    }
    (old.recording, new.recording) = (old_recording, new_recording);
    result
}

/// How two items differ that are aligned.
fn pair<T: Read + Seek>(
    old: &mut Recorded<T>,
    new: &mut Recorded<T>,
    item: Item<'_>,
    other: Option<Item<'_>>,
    volatile: &Volatile,
) -> io::Result<Option<Mismatch>> {
    let mut mismatch = item.mismatch();
    mismatch.old = Some(item.place().first);
    let Some(other) = other else { return Ok(Some(mismatch)) };
    mismatch.new = Some(other.place().first);
    let mut sides = Vec::new();
    match (item, other) {
        (Item::Call(item), Item::Call(other)) => {
            mismatch.outcomes = (item.outcome != other.outcome).then_some((item.outcome, other.outcome));
            sides.push((Side::request(item), Side::request(other)));
            sides.extend(Side::response(item).zip(Side::response(other)));
        }
        (Item::Notification(item), Item::Notification(other)) => {
            sides.push((Side::notification(item), Side::notification(other)));
        }
        _ => {}
    }
    for (ours, theirs) in sides {
        let (ours, theirs) = (old.members(ours)?, new.members(theirs)?);
        for ((name, ours), (_, theirs)) in ours.0.iter().zip(&theirs.0) {
            match (ours, theirs) {
                (None, None) => {}
                (Some(ours), Some(theirs)) => {
                    mismatch.differences.extend(json_diff_at(name, ours, theirs, volatile));
                }
                _ => mismatch.differences.push(Difference {
                    pointer: (*name).to_owned(),
                    label: None,
                    old: ours.clone(),
                    new: theirs.clone(),
                }),
            }
        }
    }
    Ok((mismatch.outcomes.is_some() || !mismatch.differences.is_empty()).then_some(mismatch))
}

/// What is compared, in its order.
fn items(recording: &Recording) -> Vec<Item<'_>> {
    let notifications =
        recording.notifications().iter().filter(|notification| &*notification.method != method::PROGRESS);
    let mut items: Vec<Item<'_>> =
        recording.calls().iter().map(Item::Call).chain(notifications.map(Item::Notification)).collect();
    items.sort_by_key(|item| (item.place().offset, item.place().within));
    items
}

fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::ToServer => Direction::ToClient,
        Direction::ToClient => Direction::ToServer,
    }
}

#[cfg(test)]
mod tests;
