//! A report as a SARIF 2.1.0 log.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{CheckedServer, Report, text};
use crate::code::Code;
use crate::finding::Finding;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub(super) fn log(report: &Report, server: &CheckedServer) -> Value {
    let mut rules: Vec<Code> = Vec::new();
    for finding in &report.findings {
        if !rules.contains(&finding.code) {
            rules.push(finding.code);
        }
    }
    // How many results had the same fingerprint so far.
    let mut seen = BTreeMap::new();
    let results: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            let index = rules.iter().position(|rule| *rule == finding.code);
            let fingerprint = fingerprint(finding);
            let count: &mut u32 = seen.entry(fingerprint).or_default();
            *count += 1;
            result(finding, index, &format!("{fingerprint:016x}:{count}"), server)
        })
        .collect();
    let exit = if report.breaks() { "a finding would break a host" } else { "no finding would break a host" };
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "papertape check",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.into_iter().map(rule).collect::<Vec<_>>(),
            }},
            "invocations": [{
                "executionSuccessful": true,
                "exitCode": report.exit_code(),
                "exitCodeDescription": exit,
            }],
            "columnKind": "unicodeCodePoints",
            "results": results,
            "properties": {
                "target": server.name,
                "server": report.server.name,
                "serverVersion": report.server.version,
                "revisions": report.server.revisions,
                "steps": report.steps,
                "skipped": report.skipped,
            },
        }],
    })
}

fn rule(code: Code) -> Value {
    let page = code.page();
    let paragraph = page.split("\n\n").nth(1).unwrap_or(code.title()).trim();
    json!({
        "id": code.name(),
        "shortDescription": {"text": code.title()},
        "fullDescription": {"text": paragraph},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": code.severity().as_str()},
        "properties": {"tags": [code.group()]},
    })
}

fn result(finding: &Finding, rule: Option<usize>, fingerprint: &str, server: &CheckedServer) -> Value {
    let part = finding.subject.as_deref().unwrap_or(&server.name);
    json!({
        "ruleId": finding.code.name(),
        "ruleIndex": rule,
        "level": finding.severity.as_str(),
        "message": {"text": text::lines(finding)},
        "locations": [{
            // Code scanning of GitHub rejects results that have only a logical location.
            "physicalLocation": {
                "artifactLocation": {"uri": relative_uri(&server.file)},
                "region": {"startLine": 1},
            },
            "logicalLocations": [{
                "name": part,
                "fullyQualifiedName": format!("{}/{part}", server.name),
                "kind": finding.code.group(),
            }],
        }],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint},
    })
}

/// The same for the same problem in each run (FNV-1a of the code and what it is about): messages may have times in them.
fn fingerprint(finding: &Finding) -> u64 {
    let subject = finding.subject.as_deref().unwrap_or_default();
    let bytes = finding.code.name().bytes().chain([0]).chain(subject.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A path as a URI reference: all but unreserved characters and slashes are percent-encoded.
fn relative_uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.trim_start_matches("./").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte))
            }
            byte => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::relative_uri;
    use crate::report::text::tests::{report, server};

    #[test]
    fn a_log_has_rules_results_and_the_exit_code() {
        let log = report().sarif(&server());
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        assert_eq!(run["invocations"][0]["exitCode"], 4);
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert_eq!((rules.len(), &rules[0]["id"]), (2, &json!("PT0101")));
        assert!(rules[0]["help"]["markdown"].as_str().unwrap().contains("**What to do.**"));
        assert!(
            rules[0]["fullDescription"]["text"].as_str().unwrap().starts_with("On stdio, stdout carries")
        );
        let results = run["results"].as_array().unwrap();
        assert_eq!(results.len(), 3);
        for result in results {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"]);
            let location = &result["locations"][0]["physicalLocation"]["artifactLocation"];
            assert_eq!(location["uri"], "my%20server.py");
        }
        assert_eq!((&results[0]["level"], &results[2]["level"]), (&json!("error"), &json!("note")));
        let name = &results[1]["locations"][0]["logicalLocations"][0]["name"];
        assert_eq!(name, "tool \"a/\u{1b}\u{202e}\u{ffff}\"");
    }

    #[test]
    fn results_of_the_same_problem_have_different_fingerprints() {
        let mut report = report();
        report.findings.push(report.findings[0].clone());
        let log = report.sarif(&server());
        let results = log["runs"][0]["results"].as_array().unwrap();
        let mut all: Vec<&str> = results
            .iter()
            .map(|result| result["partialFingerprints"]["primaryLocationLineHash"].as_str().unwrap())
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4);
    }

    #[test]
    fn a_path_is_a_uri() {
        assert_eq!(relative_uri("./a b/ü%.py"), "a%20b/%C3%BC%25.py");
    }
}
