//! Requests of a server to its client: elicitation and sampling.

use serde_json::Value;

use crate::protocol::Revision;

/// Form elicitation; the error names what the older revision does not have.
///
/// # Errors
/// If it has a multiple choice, which revisions before 2025-11-25 do not have.
pub(crate) fn form(mut params: Value, revision: Revision) -> Result<Value, &'static str> {
    if revision.elicitation_has_modes() {
        return Ok(params);
    }
    if let Some(members) = params.as_object_mut() {
        members.remove("mode");
    }
    let properties = params.pointer_mut("/requestedSchema/properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(|properties| properties.values_mut()) {
        let Some(members) = property.as_object_mut() else { continue };
        if members.get("type") == Some(&Value::from("array")) {
            return Err("choose several of something");
        }
        // Only booleans had a default.
        if members.get("type") != Some(&Value::from("boolean")) {
            members.remove("default");
        }
        // Choices with titles were two lists.
        if let Some(Value::Array(choices)) = members.remove("oneOf") {
            let all =
                |member| Value::from_iter(choices.iter().filter_map(|choice| choice.get(member).cloned()));
            members.insert("enum".to_owned(), all("const"));
            members.insert("enumNames".to_owned(), all("title"));
        }
    }
    Ok(params)
}

/// URL elicitation, which has an id in session-based revisions.
#[must_use]
pub(crate) fn visit(mut params: Value, revision: Revision, name: impl FnOnce() -> String) -> Value {
    if revision.opens_with_handshake()
        && let Some(members) = params.as_object_mut()
    {
        members.insert("elicitationId".to_owned(), name().into());
    }
    params
}

/// Sampling; the error names what the older revision does not have.
///
/// # Errors
/// If it has content of a type that the revision does not have.
pub(crate) fn sampling(mut params: Value, revision: Revision) -> Result<Value, &'static str> {
    if revision.sampling_has_tools() {
        return Ok(params);
    }
    if let Some(members) = params.as_object_mut() {
        members.remove("toolChoice");
    }
    let messages = params.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten();
    for content in messages.filter_map(|message| message.get_mut("content")) {
        // An array of one was written without the array.
        if let Value::Array(blocks) = content
            && let [only] = &mut blocks[..]
        {
            *content = only.take();
        }
        match content.get("type").and_then(Value::as_str) {
            Some("text" | "image") => {}
            Some("audio") if revision.has_annotations_and_audio() => {}
            Some("audio") => return Err("sound"),
            _ => return Err("several blocks of content at once, or the results of tools"),
        }
    }
    Ok(params)
}
