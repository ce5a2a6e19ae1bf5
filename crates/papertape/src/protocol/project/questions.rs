//! What is asked of a client, and what it can be asked, in an older revision's shape.

use serde_json::Value;

use crate::protocol::capabilities::{Abilities, ClientCapabilities, ElicitationCapability};
use crate::protocol::revision::Revision;

/// What a client can be asked.
#[must_use]
pub fn client_capabilities(mut offered: ClientCapabilities, revision: Revision) -> ClientCapabilities {
    offered.elicitation = match offered.elicitation {
        // Forms were the only way to ask, and went without saying.
        Some(ways) if !revision.elicitation_has_modes() => {
            (ways.form.is_some() && revision.has_elicitation()).then(ElicitationCapability::default)
        }
        ways => ways,
    };
    if let Some(model) = &mut offered.sampling {
        model.tools = model.tools.filter(|_| revision.sampling_has_tools());
    }
    offered
}

/// What a client can be asked in a revision, of what it says it can.
#[must_use]
pub fn abilities(said: Abilities, revision: Revision) -> Abilities {
    Abilities {
        form: said.form && revision.has_elicitation(),
        url: said.url && revision.elicitation_has_modes(),
        sampling_tools: said.sampling_tools && revision.sampling_has_tools(),
        tasks: said.tasks && !revision.opens_with_handshake(),
        ..said
    }
}

/// A form for the user; the error says what an older revision has no place for.
///
/// # Errors
/// If it lets the user choose several of something, which came with the modes of elicitation.
pub fn form(mut params: Value, revision: Revision) -> Result<Value, &'static str> {
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
        // Only truth values had a default.
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

/// Something for the client's model; the error says what an older revision has no place for.
///
/// # Errors
/// If it has content of a kind that the revision does not know.
pub fn sampling(mut params: Value, revision: Revision) -> Result<Value, &'static str> {
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

/// A page for the user to visit. Older revisions want to name each such request.
#[must_use]
pub fn visit(mut params: Value, revision: Revision, name: impl FnOnce() -> String) -> Value {
    if revision.opens_with_handshake()
        && let Some(members) = params.as_object_mut()
    {
        members.insert("elicitationId".to_owned(), name().into());
    }
    params
}
