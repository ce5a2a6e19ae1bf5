//! Objects among the parameters to trees of values that take no more room than they may.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::protocol::raw_json::InexactNumber;
use crate::server::pipeline::exact;
use crate::wire::error::shortened;
use crate::wire::{RpcError, message, number};

/// The arguments of a call.
#[derive(Debug, Clone)]
pub(crate) struct Arguments {
    /// As a tree, which is what schemas are held against.
    value: Value,
    /// As they came, if the tree does not have their numbers as they were written.
    exact: Option<Box<str>>,
}

impl Arguments {
    /// The tree, in which numbers that it cannot hold are rounded: to be looked at, and not to be handed on.
    pub(crate) fn rounded(&self) -> &Value {
        &self.value
    }

    /// The same, to leave out what counts as absent. What is read from the text still has it.
    pub(crate) fn rounded_mut(&mut self) -> &mut Value {
        &mut self.value
    }

    /// The numbers that the tree does not have, as they were written.
    pub(crate) fn inexact(&self) -> Vec<&str> {
        self.exact.as_deref().map(|text| number::inexact(text).collect()).unwrap_or_default()
    }

    /// The tree, if it has everything.
    pub(crate) fn into_value(self) -> Result<Value, String> {
        match self.inexact().first() {
            None => Ok(self.value),
            Some(number) => Err(InexactNumber((*number).to_owned()).to_string()),
        }
    }

    /// Reads a type: straight from the text if the tree does not have everything, otherwise with `read`.
    pub(crate) fn read<A: DeserializeOwned>(
        self,
        read: impl FnOnce(Value) -> Result<A, String>,
    ) -> Result<A, String> {
        match &self.exact {
            None => read(self.value),
            Some(text) => exact::read(text).map_err(|error| error.to_string()),
        }
    }
}

/// The arguments of a call, empty if absent, whose tree takes at most `tree` bytes or not much more than its JSON.
pub(crate) fn read_exactly(what: &str, raw: Option<&RawValue>, tree: usize) -> Result<Arguments, RpcError> {
    let Some(text) = object(what, raw, tree)? else {
        return Ok(Arguments { value: Value::Object(Map::new()), exact: None });
    };
    let inexact = number::first_inexact(text);
    let value = serde_json::from_str(text).map_err(|error| unreadable(what, inexact, &error))?;
    Ok(Arguments { value, exact: inexact.map(|_| text.into()) })
}

/// An object among the parameters. One with a number that a tree cannot hold is refused.
pub(crate) fn read(what: &str, raw: Option<&RawValue>, tree: usize) -> Result<Map<String, Value>, RpcError> {
    let Some(text) = object(what, raw, tree)? else { return Ok(Map::new()) };
    if let Some(number) = number::first_inexact(text) {
        let inexact = InexactNumber(shortened(number).to_owned());
        return Err(RpcError::invalid_params(format!("`{what}`: {inexact}")));
    }
    serde_json::from_str(text).map_err(|error| unreadable(what, None, &error))
}

/// The JSON of an object that is not too large as a tree; none if it is absent.
fn object<'a>(what: &str, raw: Option<&'a RawValue>, tree: usize) -> Result<Option<&'a str>, RpcError> {
    let Some(text) = raw.map(RawValue::get).filter(|text| *text != "null") else { return Ok(None) };
    if !text.starts_with('{') {
        return Err(RpcError::invalid_params(format!("`{what}` must be a JSON object")));
    }
    let enough = tree.max(ROOM_PER_BYTE * text.len());
    if room_as_a_tree(text.as_bytes(), enough) > enough {
        let message =
            format!("`{what}` has so many arrays and objects that it would take over {enough} bytes");
        return Err(RpcError::invalid_request(message));
    }
    Ok(Some(text))
}

/// The envelope has been read, so that what fails here is a string that no text can hold, or a number that no double can.
fn unreadable(what: &str, inexact: Option<&str>, error: &serde_json::Error) -> RpcError {
    match inexact.filter(|_| error.to_string().starts_with("number out of range")) {
        Some(number) => {
            let number = shortened(number);
            RpcError::invalid_params(format!("`{what}`: the number {number} is beyond what a double can be"))
        }
        None => RpcError::parse(format!("in `{what}`: {error}")),
    }
}

/// No arguments of so few bytes take much room.
const SMALL: usize = 64 * 1024;
/// Bytes that a byte of JSON may take as a tree of values, however many that is.
const ROOM_PER_BYTE: usize = 20;

/// Bytes that JSON takes as a tree of values, about: a small object takes a hundred times its text.
fn room_as_a_tree(json: &[u8], enough: usize) -> usize {
    let room = |objects: usize, arrays: usize, commas: usize| {
        700 * objects + 180 * arrays + size_of::<Value>() * commas
    };
    if json.len() <= SMALL {
        return 0;
    }
    // Brackets within strings are counted too here, which is wrong but fast, and nearly always good enough.
    let count = |byte| memchr::memchr_iter(byte, json).count();
    let at_most = room(count(b'{'), count(b'['), count(b','));
    if at_most <= enough {
        return at_most;
    }
    let [mut objects, mut arrays, mut commas] = [0; 3];
    message::outside_strings(json, |byte| match byte {
        b'{' => objects += 1,
        b'[' => arrays += 1,
        b',' => commas += 1,
        _ => {}
    });
    room(objects, arrays, commas)
}
