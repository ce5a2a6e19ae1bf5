//! All findings about a server, and the formats that they are reported in.

mod json;
mod junit;
mod sarif;
mod text;

use std::cmp::Reverse;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::finding::{Finding, Severity};

/// What a check found out about a server.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Report {
    /// The findings, most important first.
    pub findings: Vec<Finding>,
    /// What the server is.
    pub server: ServerSummary,
    /// What was tried: `opened in 2025-11-25`, `called "echo"`.
    pub steps: Vec<String>,
    /// What was not tried, and why.
    pub skipped: Vec<String>,
}

/// The server that was checked, as its user named it.
#[derive(Debug, Clone)]
pub struct CheckedServer {
    /// Its command line, its name or its URL.
    pub name: String,
    /// The file that it is, relative to the current directory: where code scanning shows the findings.
    pub file: String,
    /// It is at a URL, and so has no stdout.
    pub http: bool,
}

/// What a server is, as far as it could be found out.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ServerSummary {
    /// Its name, as it says.
    pub name: Option<String>,
    /// Its version, as it says.
    pub version: Option<String>,
    /// The revisions that it can be opened in, oldest first.
    pub revisions: Vec<String>,
    /// How many tools it lists.
    pub tools: usize,
    /// How many resources.
    pub resources: usize,
    /// How many resource templates.
    pub templates: usize,
    /// How many prompts.
    pub prompts: usize,
    /// The size of its lists, in bytes.
    pub list_bytes: u64,
    /// From the start to the first response.
    pub first_response: Option<Duration>,
}

impl Report {
    pub(crate) fn new(mut findings: Vec<Finding>, server: ServerSummary) -> Self {
        findings.sort_by_key(|finding| (finding.severity, Reverse(finding.affects.len()), finding.code.name));
        findings.dedup();
        Self { findings, server, ..Self::default() }
    }

    /// Whether a host would break.
    #[must_use]
    pub fn breaks(&self) -> bool {
        self.count(Severity::Breaks) > 0
    }

    /// How many findings have this severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// The exit code of `papertape check`: 4 if a host would break, else 0.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if self.breaks() { 4 } else { 0 }
    }

    /// The report as a JSON document. Members may be added in later versions; `format` changes if one is removed, or means
    /// something else.
    #[must_use]
    pub fn json<'a>(&'a self, server: &'a CheckedServer) -> impl Serialize + use<'a> {
        json::document(self, server)
    }

    /// The report as a SARIF 2.1.0 log, for code scanning and editors.
    #[must_use]
    pub fn sarif(&self, server: &CheckedServer) -> Value {
        sarif::log(self, server)
    }

    /// The report as JUnit XML, for continuous integration: a test case for each code, which fails if a host would break.
    #[must_use]
    pub fn junit(&self, server: &CheckedServer) -> String {
        junit::document(self, server)
    }
}
