//! What differs between two recordings of the same session and means nothing: ids, tokens, timestamps, trace context.

use serde_json::Value;

/// The rules by which values in messages are not compared.
///
/// ```
/// use papertape_tape::{Volatile, json_diff};
/// use serde_json::json;
///
/// let old = json!({"id": 1, "result": {"text": "a", "at": "2026-09-21T12:00:00Z"}});
/// let new = json!({"id": 7, "result": {"text": "b", "at": "2026-09-22T08:30:00Z"}});
/// let [difference] = &json_diff(&old, &new, &Volatile::new())[..] else { panic!() };
/// assert_eq!(difference.pointer, "/result/text");
/// let ignoring = Volatile::new().ignore("/result/text").unwrap();
/// assert!(json_diff(&old, &new, &ignoring).is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volatile {
    /// Whether the rules of MCP apply.
    of_mcp: bool,
    ignored: Vec<Ignored>,
}

/// What is not compared, whether it is there or not.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ignored {
    /// Members with this name, wherever they are.
    Name(String),
    /// The values that a JSON pointer leads to; `*` is any member or element.
    Pointer(Vec<String>),
}

/// Members that are compared by their presence and kind, wherever they are in a message.
const NAMES: [&str; 12] = [
    // Of requests, tasks and elicitations.
    "elicitationId",
    "io.modelcontextprotocol/subscriptionId",
    "progressToken",
    "requestId",
    "requestState",
    "sessionId",
    "taskId",
    // Opaque to the client.
    "cursor",
    "nextCursor",
    // Times, which need not be text.
    "createdAt",
    "lastUpdatedAt",
    "timestamp",
];

/// Members of `_meta` that are not compared: W3C trace context.
const TRACE: [&str; 3] = ["baggage", "traceparent", "tracestate"];

/// Where tools have arguments, and results data, of their own: there, only values are looked at.
const OWN: [&str; 2] = ["arguments", "structuredContent"];

impl Default for Volatile {
    fn default() -> Self {
        Self::new()
    }
}

impl Volatile {
    /// The rules of MCP: JSON-RPC ids, progress tokens, cursors, ids of tasks, sessions and subscriptions, timestamps, trace
    /// context. All of these are compared by presence and kind only, trace context not at all.
    #[must_use]
    pub fn new() -> Self {
        Self { of_mcp: true, ignored: Vec::new() }
    }

    /// No rules: everything is compared.
    #[must_use]
    pub fn nothing() -> Self {
        Self { of_mcp: false, ignored: Vec::new() }
    }

    /// The same rules, and one more: a JSON pointer (RFC 6901) from the root of the message, in which `*` stands for any member
    /// or element (`/result/content/*/text`), or the name of a member, wherever it is (`etag`).
    ///
    /// # Errors
    /// If it is neither.
    pub fn ignore(mut self, rule: &str) -> Result<Self, String> {
        let rule = match rule.strip_prefix('/') {
            Some(pointer) => Ignored::Pointer(pointer.split('/').map(unescaped).collect::<Result<_, _>>()?),
            None if rule.is_empty() => {
                return Err(
                    "write a JSON pointer such as /result/content, or the name of a member".to_owned()
                );
            }
            None if rule.contains('/') && !rule.contains('.') => {
                return Err(format!("\"{rule}\" is not a JSON pointer: it begins with /"));
            }
            None => Ignored::Name(rule.to_owned()),
        };
        self.ignored.push(rule);
        Ok(self)
    }

    /// Whether what is at this path is not compared, whether it is there or not.
    pub(crate) fn ignores(&self, path: &[&str]) -> bool {
        let by_rule = self.ignored.iter().any(|ignored| match ignored {
            Ignored::Name(name) => path.last() == Some(&&**name),
            Ignored::Pointer(pointer) => {
                pointer.len() == path.len()
                    && pointer.iter().zip(path).all(|(rule, name)| rule == "*" || rule == name)
            }
        });
        by_rule || self.of_mcp && matches!(path, [.., "_meta", name] if TRACE.contains(name))
    }

    /// Whether two values at this path count as equal because both are there and of the same kind.
    pub(crate) fn equates(&self, path: &[&str], old: &Value, new: &Value) -> bool {
        if !self.of_mcp {
            return false;
        }
        let same_kind =
            matches!((old, new), (Value::String(_) | Value::Number(_), Value::String(_) | Value::Number(_)));
        let by_name = match path {
            ["id"] => true,
            [.., name] => NAMES.contains(name) && !path.iter().any(|name| OWN.contains(name)),
            [] => false,
        };
        same_kind && by_name
            || matches!((old.as_str(), new.as_str()), (Some(old), Some(new)) if is_time(old) && is_time(new))
    }
}

/// A segment of a JSON pointer: `~1` is `/`, `~0` is `~`.
fn unescaped(segment: &str) -> Result<String, String> {
    let rest = segment.replace("~0", "").replace("~1", "");
    if rest.contains('~') {
        return Err(format!("\"{segment}\": ~ is followed by 0 or 1 in a JSON pointer"));
    }
    Ok(segment.replace("~1", "/").replace("~0", "~"))
}

/// Whether it is a time of RFC 3339, such as `2026-09-21T12:00:00.5+02:00`.
fn is_time(text: &str) -> bool {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let Some((date, rest)) = text.as_bytes().split_at_checked(SHAPE.len()) else { return false };
    let fits = date.iter().zip(SHAPE).all(|(byte, shape)| match shape {
        b'0' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b't' | b' '),
        _ => byte == shape,
    });
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let zone = match rest.split_first() {
        Some((b'.', fraction)) => {
            let digits = digits(fraction);
            if digits == 0 {
                return false;
            }
            fraction.get(digits..).unwrap_or_default()
        }
        _ => rest,
    };
    fits && match zone {
        [b'Z' | b'z'] => true,
        [b'+' | b'-', a, b, b':', c, d] => [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Volatile, is_time};

    #[test]
    fn times_are_recognised() {
        for time in ["2026-09-21T12:00:00Z", "2026-09-21 12:00:00.123456789+02:00", "2026-09-21t12:00:00z"] {
            assert!(is_time(time), "{time}");
        }
        for other in [
            "",
            "2026-09-21",
            "2026-09-21T12:00:00",
            "2026-09-21T12:00:00.Z",
            "x2026-09-21T12:00:00Z",
            "2026-09-21T12:00:00Zé",
        ] {
            assert!(!is_time(other), "{other}");
        }
    }

    #[test]
    fn members_of_mcp_are_equated_and_those_of_tools_are_not() {
        let volatile = Volatile::new();
        let (one, two) = (json!(1), json!("2"));
        assert!(volatile.equates(&["id"], &one, &two));
        assert!(volatile.equates(&["params", "_meta", "progressToken"], &one, &two));
        assert!(volatile.equates(&["result", "task", "taskId"], &one, &two));
        assert!(!volatile.equates(&["params", "id"], &one, &two));
        assert!(!volatile.equates(&["params", "arguments", "taskId"], &one, &two));
        assert!(!volatile.equates(&["result", "structuredContent", "a", "cursor"], &one, &two));
        assert!(!volatile.equates(&["result", "nextCursor"], &one, &json!(null)));
        assert!(!volatile.equates(&["result", "serverInfo", "version"], &one, &two));
        assert!(volatile.equates(
            &["result", "structuredContent", "a"],
            &json!("2026-09-21T12:00:00Z"),
            &json!("2026-09-22T12:00:00Z")
        ));
        assert!(!Volatile::nothing().equates(&["id"], &one, &two));
    }

    #[test]
    fn rules_ignore_pointers_and_names() {
        let volatile = Volatile::new()
            .ignore("/result/content/*/text")
            .unwrap()
            .ignore("etag")
            .unwrap()
            .ignore("/a~1b")
            .unwrap();
        assert!(volatile.ignores(&["result", "content", "3", "text"]));
        assert!(!volatile.ignores(&["result", "content", "3", "text", "x"]));
        assert!(volatile.ignores(&["x", "etag"]) && volatile.ignores(&["a/b"]));
        assert!(volatile.ignores(&["params", "_meta", "traceparent"]));
        assert!(!volatile.ignores(&["params", "traceparent"]));
        assert!(Volatile::nothing().ignore("").is_err() && Volatile::nothing().ignore("/a~2").is_err());
        assert!(Volatile::nothing().ignore("result/content").is_err());
    }
}
