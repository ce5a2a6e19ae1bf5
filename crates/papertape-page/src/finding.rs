//! What is wrong with a frame, as far as a tape proves it: a code of `papertape check`, whose pages say what to do.

use papertape_check::Code;
use serde_json::{Value, json};

/// A problem of the server that is visible on the tape.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    /// The row it is about.
    pub(crate) row: usize,
    pub(crate) code: Code,
    /// One sentence that names the cause.
    pub(crate) message: String,
}

impl Finding {
    pub(crate) fn to_json(&self, number: u64) -> Value {
        let affects: Vec<Value> = self
            .code
            .affects()
            .into_iter()
            .map(|host| json!({"name": host.name, "effect": host.effect, "evidence": host.evidence}))
            .collect();
        json!({
            "number": number,
            "code": self.code.name(),
            "title": plain(self.code.title()),
            "severity": self.code.severity().as_str(),
            "message": self.message,
            "remedy": remedy(self.code),
            "affects": affects,
        })
    }
}

/// The paragraph of the code's page that says what to do, without Markdown.
fn remedy(code: Code) -> Option<String> {
    const HEADING: &str = "**What to do.**";
    code.page().split("\n\n").find_map(|paragraph| paragraph.trim().strip_prefix(HEADING)).map(plain)
}

fn plain(markdown: &str) -> String {
    markdown.trim().replace(['`', '*'], "")
}

/// The code for a frame of the server that is not a message, by what was found in it.
pub(crate) fn of_stray(problem: &str, bytes: &[u8]) -> Option<Code> {
    let looks_like_json = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let name = if problem.starts_with("the frame is not UTF-8") {
        "PT0110"
    } else if problem.starts_with("the frame is not JSON") {
        if looks_like_json { "PT0113" } else { "PT0101" }
    } else if problem.starts_with("a response to no request") {
        "PT0316"
    } else if problem.starts_with("a response without an id") {
        "PT0313"
    } else if problem.contains("jsonrpc") {
        "PT0317"
    } else if looks_like_json {
        "PT0318"
    } else {
        "PT0101"
    };
    Code::find(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_exists_and_says_what_to_do() {
        let problems = [
            ("the frame is not UTF-8: x", "x"),
            ("the frame is not JSON: x", "x"),
            ("the frame is not JSON: x", " {x"),
            ("a response to no request: id 1", "{}"),
            ("a response without an id", "{}"),
            ("`jsonrpc` is missing", "{}"),
            ("x", "{}"),
            ("x", "[]"),
        ];
        for (problem, bytes) in problems {
            let code = of_stray(problem, bytes.as_bytes()).unwrap();
            assert!(remedy(code).is_some(), "{code}");
        }
        for name in ["PT0208", "PT0209", "PT0705"] {
            assert!(remedy(Code::find(name).unwrap()).is_some(), "{name}");
        }
    }
}
