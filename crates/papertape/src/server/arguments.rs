//! Objects among the parameters to trees of values that take no more room than they may.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::wire::RpcError;
use crate::wire::message;

/// An object among the parameters, empty if absent, that takes at most `tree` bytes or not much more than its JSON.
pub(super) fn read(what: &str, raw: Option<&RawValue>, tree: usize) -> Result<Map<String, Value>, RpcError> {
    let Some(text) = raw.map(RawValue::get).filter(|text| *text != "null") else { return Ok(Map::new()) };
    if !text.starts_with('{') {
        return Err(RpcError::invalid_params(format!("`{what}` must be a JSON object")));
    }
    let enough = tree.max(ROOM_PER_BYTE * text.len());
    if room_as_a_tree(text.as_bytes(), enough) > enough {
        let message =
            format!("`{what}` has so many arrays and objects that it would take over {enough} bytes");
        return Err(RpcError::invalid_request(message));
    }
    // The envelope has been read, so that what fails here is a string that no text can hold.
    serde_json::from_str(text).map_err(|error| RpcError::parse(format!("in `{what}`: {error}")))
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
