//! The `arguments` of a call to a tree of values that takes no more room than it may.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::wire::RpcError;
use crate::wire::message;

/// The `arguments` of a call: an object, empty if absent, that takes at most `tree` bytes or not much more than its JSON.
pub(super) fn read(raw: Option<&RawValue>, tree: usize) -> Result<Value, RpcError> {
    match raw.map(RawValue::get) {
        None | Some("null") => Ok(Value::Object(Map::new())),
        Some(text) if text.starts_with('{') => {
            let enough = tree.max(ROOM_PER_BYTE * text.len());
            if room_as_a_tree(text.as_bytes(), enough) > enough {
                let message = format!(
                    "`params.arguments` has so many arrays and objects that it would take over {enough} bytes"
                );
                return Err(RpcError::invalid_request(message));
            }
            // The envelope has been read, so that what fails here is a string that no text can hold.
            serde_json::from_str(text)
                .map_err(|error| RpcError::parse(format!("in `params.arguments`: {error}")))
        }
        Some(_) => Err(RpcError::invalid_params("`params.arguments` must be a JSON object")),
    }
}

/// No arguments of so few bytes take much room.
const SMALL: usize = 64 * 1024;
/// Bytes that a byte of JSON may take as a tree of values, however many that is.
const ROOM_PER_BYTE: usize = 20;

/// Bytes that JSON takes as a tree of values, about: a small object takes a hundred times its text.
fn room_as_a_tree(json: &[u8], enough: usize) -> usize {
    let room = |objects: usize, arrays: usize, commas: usize| 700 * objects + 180 * arrays + 32 * commas;
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
