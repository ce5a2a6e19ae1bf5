//! All findings about a server.

use std::cmp::Reverse;
use std::time::Duration;

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
        self.findings.iter().any(|finding| finding.severity == Severity::Breaks)
    }
}
