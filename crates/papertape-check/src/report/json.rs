//! A report as JSON. docs/check.md documents its members.

use serde::Serialize;

use super::{CheckedServer, Report, text};
use crate::evidence::Evidence;
use crate::finding::{Finding, Severity};

/// The version of the format.
const FORMAT: u32 = 1;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    format: u32,
    papertape: &'static str,
    target: &'a str,
    healthy: bool,
    exit_code: u8,
    counts: Counts,
    server: Server<'a>,
    findings: Vec<FindingDocument<'a>>,
    steps: &'a [String],
    skipped: &'a [String],
}

#[derive(Serialize)]
struct Counts {
    error: usize,
    warning: usize,
    note: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Server<'a> {
    name: Option<&'a str>,
    version: Option<&'a str>,
    revisions: &'a [String],
    tools: usize,
    resources: usize,
    resource_templates: usize,
    prompts: usize,
    list_bytes: u64,
    first_response_seconds: Option<f64>,
}

#[derive(Serialize)]
struct FindingDocument<'a> {
    code: &'static str,
    title: &'static str,
    group: &'static str,
    severity: &'static str,
    subject: Option<&'a str>,
    message: &'a str,
    evidence: Vec<EvidenceDocument<'a>>,
    remedy: &'a str,
    affects: Vec<AffectedDocument<'a>>,
}

/// Bytes of a stream, or a fact.
#[derive(Default, Serialize)]
struct EvidenceDocument<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    fact: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
}

#[derive(Serialize)]
struct AffectedDocument<'a> {
    name: &'a str,
    effect: &'a str,
    evidence: &'a str,
}

pub(super) fn document<'a>(report: &'a Report, server: &'a CheckedServer) -> impl Serialize + use<'a> {
    let summary = &report.server;
    Document {
        format: FORMAT,
        papertape: env!("CARGO_PKG_VERSION"),
        target: &server.name,
        healthy: !report.breaks(),
        exit_code: report.exit_code(),
        counts: Counts {
            error: report.count(Severity::Breaks),
            warning: report.count(Severity::Warning),
            note: report.count(Severity::Note),
        },
        server: Server {
            name: summary.name.as_deref(),
            version: summary.version.as_deref(),
            revisions: &summary.revisions,
            tools: summary.tools,
            resources: summary.resources,
            resource_templates: summary.templates,
            prompts: summary.prompts,
            list_bytes: summary.list_bytes,
            first_response_seconds: summary.first_response.map(|time| time.as_secs_f64()),
        },
        findings: report.findings.iter().map(finding).collect(),
        steps: &report.steps,
        skipped: &report.skipped,
    }
}

fn finding(finding: &Finding) -> FindingDocument<'_> {
    let affected = finding.affects.iter();
    FindingDocument {
        code: finding.code.name(),
        title: finding.code.title(),
        group: finding.code.group(),
        severity: finding.severity.as_str(),
        subject: finding.subject.as_deref(),
        message: &finding.message,
        evidence: finding.evidence.iter().map(evidence).collect(),
        remedy: &finding.remedy,
        affects: affected
            .map(|affected| AffectedDocument {
                name: &affected.name,
                effect: &affected.effect,
                evidence: &affected.evidence,
            })
            .collect(),
    }
}

fn evidence(evidence: &Evidence) -> EvidenceDocument<'_> {
    match evidence {
        Evidence::Bytes { stream, offset, bytes, length, time, .. } => EvidenceDocument {
            stream: Some(stream.as_str()),
            offset: Some(*offset),
            length: Some(*length),
            seconds: time.map(|time| time.as_secs_f64()),
            text: Some(evidence.text()),
            hex: Some(text::hex(bytes)),
            ..EvidenceDocument::default()
        },
        Evidence::Fact(fact) => EvidenceDocument { fact: Some(fact), ..EvidenceDocument::default() },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::report::Report;
    use crate::report::text::tests::{report, server};

    #[test]
    fn a_report_as_json_is_complete() {
        let document = serde_json::to_value(report().json(&server())).unwrap();
        assert_eq!(document["format"], 1);
        assert_eq!(
            (&document["healthy"], &document["exitCode"], &document["counts"]),
            (&json!(false), &json!(4), &json!({"error": 1, "warning": 1, "note": 1}))
        );
        assert_eq!(document["target"], "python3 'my server.py'");
        assert_eq!(
            document["server"],
            json!({
                "name": "a\u{0}b", "version": null, "revisions": ["2025-11-25"], "tools": 3, "resources": 0,
                "resourceTemplates": 0, "prompts": 0, "listBytes": 1000, "firstResponseSeconds": 0.12,
            })
        );
        let finding = &document["findings"][0];
        assert_eq!((&finding["code"], &finding["severity"]), (&json!("PT0101"), &json!("error")));
        assert_eq!((&finding["group"], &finding["subject"]), (&json!("stdout"), &json!(null)));
        assert_eq!(
            finding["evidence"],
            json!([
                {
                    "stream": "stdout", "offset": 7, "length": 15, "seconds": 0.031,
                    "text": "⟦1b⟧[2J]]>\"<&⟦0a ff e2 80 ae⟧", "hex": "1b 5b 32 4a 5d 5d 3e 22 3c 26 0a ff e2 80 ae",
                },
                {"fact": "it exited with status 3"},
            ])
        );
        assert_eq!(finding["affects"][0]["name"], "Go SDK");
        assert_eq!(document["steps"], json!(["opened in 2025-11-25"]));
    }

    #[test]
    fn a_report_without_findings_is_healthy() {
        let document = serde_json::to_value(Report::default().json(&server())).unwrap();
        assert_eq!((&document["healthy"], &document["exitCode"]), (&json!(true), &json!(0)));
        assert_eq!(document["findings"], json!([]));
    }
}
