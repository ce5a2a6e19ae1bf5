//! What is wrong with the results of calls: content, structured content, size.

use serde_json::Value;

use crate::code::behaviour::{PT0605, PT0610, PT0611, PT0612, PT0613};
use crate::drive::arguments;
use crate::drive::calls::Call;
use crate::drive::run::Run;
use crate::evidence::Evidence;
use crate::finding::{Finding, Severity};
use crate::hosts::affected;
use crate::inspect::messages::{response_bytes, sent};
use crate::inspect::quote;

/// Results of so many bytes are more than most hosts show to a model.
const LARGE: u64 = 1024 * 1024;

/// The longest message that the SDKs for TypeScript accept, in bytes.
pub(super) const LONGEST: u64 = 10 * 1024 * 1024;

/// The first revision of MCP: an earlier date is not a revision.
const OLDEST: &str = "2024-11-05";

/// The first revision that has structured content.
const STRUCTURED: &str = "2025-06-18";

/// A call that was answered, on any transport.
#[derive(Debug)]
pub(crate) struct Called<'a> {
    /// The tool.
    pub(crate) tool: &'a str,
    /// Its output schema.
    pub(crate) output_schema: Option<&'a Value>,
    /// The arguments.
    pub(crate) arguments: Option<&'a Value>,
    /// The revision that the server was opened in.
    pub(crate) revision: Option<&'a str>,
    /// The result, unless the response is an error.
    pub(crate) result: Option<&'a Value>,
    /// The length of the response, in bytes.
    pub(crate) length: u64,
    /// The request and the response.
    pub(crate) evidence: Vec<Evidence>,
}

/// What is wrong with the result of a call over stdio.
pub(crate) fn inspect(run: &Run, call: &Call) -> Vec<Finding> {
    let exchange = run.exchanges.get(call.call);
    let Some((exchange, response)) = exchange.and_then(|one| Some((one, one.response.as_ref()?))) else {
        return Vec::new();
    };
    Called {
        tool: &call.tool,
        output_schema: call.output_schema.as_ref(),
        arguments: exchange.request.pointer("/params/arguments"),
        revision: run.opened.as_deref(),
        result: exchange.result(),
        length: response.length,
        evidence: vec![sent(exchange), response_bytes(run, response)],
    }
    .inspect()
}

impl Called<'_> {
    /// What is wrong with the result.
    pub(crate) fn inspect(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        findings.extend(large(self.length));
        if let Some(result) = self.result {
            findings.extend(self.inspect_result(result));
        }
        let subject = format!("tool \"{}\"", self.tool);
        let proven = |finding| self.evidence.iter().rev().cloned().fold(finding, Finding::evidence_first);
        findings.into_iter().map(|finding| proven(finding).subject(subject.clone())).collect()
    }

    fn inspect_result(&self, result: &Value) -> Vec<Finding> {
        let mut findings = Vec::new();
        // What is not complete has other members.
        if result.get("resultType").is_some_and(|kind| kind != "complete") || result.get("task").is_some() {
            return findings;
        }
        findings.extend(content(result, self.revision));
        if is_error(result) {
            return findings;
        }
        if let Some(said) = error_text(result).filter(|_| !self.asks_for_an_error()) {
            // The arguments are valid, so that it may be what was asked for.
            findings.push(as_success(self.tool, said).severity(Severity::Note));
        }
        if self.revision.is_some_and(|revision| revision >= STRUCTURED)
            && let Some(schema) = self.output_schema
        {
            findings.extend(structured(result, schema));
        }
        findings
    }

    /// Whether an argument is an error, so that the result may be the text of one.
    fn asks_for_an_error(&self) -> bool {
        let is_error = |value: &Value| value.as_str().is_some_and(|text| text.eq_ignore_ascii_case("error"));
        let arguments = self.arguments.and_then(Value::as_object);
        arguments.is_some_and(|arguments| arguments.values().any(is_error))
    }
}

pub(crate) fn is_error(result: &Value) -> bool {
    result.get("isError").and_then(Value::as_bool) == Some(true)
}

/// The text of a result, if it begins as errors do.
pub(crate) fn error_text(result: &Value) -> Option<&str> {
    let text = result.pointer("/content/0/text")?.as_str()?;
    [
        "Error: ",
        "Error executing tool",
        "Traceback (most recent call last)",
        "TypeError: ",
        "ValueError: ",
        "KeyError: ",
    ]
    .iter()
    .any(|begin| text.starts_with(begin))
    .then_some(text)
}

/// An error that is not marked as one.
pub(crate) fn as_success(tool: &str, said: &str) -> Finding {
    Finding::new(
        PT0605,
        format!(
            "tool \"{tool}\" reports an error as a success: the text is {}, and `isError` is not true",
            quote(said)
        ),
    )
    .remedy("set `\"isError\": true` in the result, so that the model and the host know that the call failed")
    .affects(affected("PT0605"))
}

fn large(length: u64) -> Option<Finding> {
    if length <= LARGE {
        return None;
    }
    let too_long = length > LONGEST;
    // English text and JSON have about four bytes for each token.
    let message = format!(
        "a result has {length} bytes, which are about {} tokens{}",
        length / 4,
        if too_long { ", and more than SDKs accept as one message" } else { "" }
    );
    Some(
        Finding::new(PT0610, message)
            .severity(if too_long { Severity::Breaks } else { Severity::Warning })
            .remedy("limit what a call returns: offer arguments for a range or a page, and say in the result how to get more")
            .affects(if too_long { affected("PT0610") } else { Vec::new() }),
    )
}

/// Content that is not valid: hosts reject the whole result.
fn content(result: &Value, revision: Option<&str>) -> Option<Finding> {
    let fault = match result.get("content") {
        None => Some("a result has no `content`".to_owned()),
        Some(Value::Array(blocks)) => blocks
            .iter()
            .enumerate()
            .find_map(|(index, block)| Some(format!("`content[{index}]` {}", block_fault(block, revision)?))),
        Some(other) => Some(format!("`content` is {}, and should be an array", quote(&other.to_string()))),
    }?;
    Some(
        Finding::new(PT0613, fault)
            .remedy("return `\"content\": [{\"type\": \"text\", \"text\": \"..\"}]`, or an empty array; JSON belongs into `structuredContent`, and as text into `content`")
            .affects(affected("PT0613")),
    )
}

pub(crate) fn block_fault(block: &Value, revision: Option<&str>) -> Option<String> {
    let kind = match block.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(other) => return Some(format!("has the `type` {other}, and should have a string")),
        None if block.is_object() => return Some("has no `type`".to_owned()),
        None => return Some(format!("is {}, and should be an object", quote(&block.to_string()))),
    };
    let text = |pointer: &str| block.pointer(pointer).is_some_and(Value::is_string);
    let (required, since): (&[&str], &str) = match kind {
        "text" => (&["/text"], "2024-11-05"),
        "image" => (&["/data", "/mimeType"], "2024-11-05"),
        "audio" => (&["/data", "/mimeType"], "2025-03-26"),
        "resource" => (&["/resource/uri"], "2024-11-05"),
        "resource_link" => (&["/uri", "/name"], "2025-06-18"),
        other => return Some(format!("has the `type` {}, which does not exist", quote(other))),
    };
    if revision.is_some_and(|revision| (OLDEST..since).contains(&revision)) {
        return Some(format!("has the `type` \"{kind}\", which exists since {since} only"));
    }
    if let Some(missing) = required.iter().find(|pointer| !text(pointer)) {
        let name = missing.trim_start_matches('/').replace('/', ".");
        return Some(format!("of the type \"{kind}\" has no `{name}` that is a string"));
    }
    if kind == "resource" && !text("/resource/text") && !text("/resource/blob") {
        return Some("of the type \"resource\" has neither `resource.text` nor `resource.blob`".to_owned());
    }
    let data = block.get("data").and_then(Value::as_str).filter(|_| matches!(kind, "image" | "audio"));
    data.filter(|data| !is_base64(data))
        .map(|_| format!("of the type \"{kind}\" has `data` that is not base64"))
}

/// Whether text is base64 as JavaScript reads it: white space and a missing padding are tolerated.
fn is_base64(text: &str) -> bool {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let data = digits.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    let valid = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    digits.len() - data <= 2 && data % 4 != 1 && digits.iter().take(data).all(valid)
}

/// Structured content against the output schema.
fn structured(result: &Value, schema: &Value) -> Option<Finding> {
    let (finding, remedy) = match result.get("structuredContent") {
        None => (
            Finding::new(PT0611, "the tool has an `outputSchema`, and its result has no `structuredContent`"),
            "return `structuredContent` that the schema describes, or leave out `outputSchema`",
        ),
        Some(value) => {
            let validator = arguments::validator(schema)?;
            let errors = validator.errors(value);
            let error = errors.first()?;
            let place = format!("`structuredContent{}`", error.pointer().replace('/', "."));
            (
                Finding::new(PT0612, format!("{}, by the `outputSchema` of the tool", error.about(&place))),
                "return what the schema describes, or correct the schema",
            )
        }
    };
    let affects = affected(finding.code.name);
    Some(
        finding
            .evidence(Evidence::fact(format!("outputSchema: {}", quote(&schema.to_string()))))
            .remedy(remedy)
            .affects(affects),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{block_fault, is_base64};

    #[test]
    fn base64_is_recognised() {
        for text in ["", "AAAA", "AAA=", "AA==", "AA", "AA\nAA", "+/+/"] {
            assert!(is_base64(text), "{text}");
        }
        for text in ["A", "AA-_", "not base64!", "AA===", "=AAA", "A==="] {
            assert!(!is_base64(text), "{text}");
        }
    }

    #[test]
    fn content_has_a_type_of_the_revision_and_what_that_needs() {
        let fault = |block| block_fault(&block, Some("2025-03-26"));
        assert_eq!(fault(json!({"type": "text", "text": ""})), None);
        assert_eq!(fault(json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"})), None);
        assert_eq!(fault(json!({"type": "resource", "resource": {"uri": "a:b", "blob": ""}})), None);
        assert!(fault(json!("text")).unwrap().contains("should be an object"));
        assert!(fault(json!({"type": "json"})).unwrap().contains("does not exist"));
        assert!(fault(json!({"type": "image", "data": "AAAA"})).unwrap().contains("`mimeType`"));
        let link = json!({"type": "resource_link", "uri": "a:b", "name": "b"});
        assert!(fault(link.clone()).unwrap().contains("since 2025-06-18"));
        assert_eq!(block_fault(&link, Some("2025-06-18")), None);
    }
}
