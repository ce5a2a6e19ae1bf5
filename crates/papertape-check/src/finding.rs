//! One problem of a server.

use std::fmt;

use crate::code::Code;
use crate::evidence::Evidence;
use crate::hosts::Affected;

/// How much a finding matters; the most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A host, an SDK or a model API fails on it.
    Breaks,
    /// It violates the specification, or makes the server worse than it needs to be; known hosts tolerate it.
    Warning,
    /// Worth knowing, and harmless.
    Note,
}

impl Severity {
    /// Its name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Breaks => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A problem of a server: its cause, what proves it, what to do, and who breaks on it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// What kind of problem it is.
    pub code: Code,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about: `tool "search"`, if it is about a part of the server.
    pub subject: Option<String>,
    /// One sentence that names the cause.
    pub message: String,
    /// What proves it.
    pub evidence: Vec<Evidence>,
    /// What to do.
    pub remedy: String,
    /// Which hosts, SDKs and model APIs break on it.
    pub affects: Vec<Affected>,
}

impl Finding {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity,
            subject: None,
            message: message.into(),
            evidence: Vec::new(),
            remedy: String::new(),
            affects: Vec::new(),
        }
    }

    pub(crate) fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    pub(crate) fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    pub(crate) fn evidence(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }

    /// The same, before what else proves it.
    pub(crate) fn evidence_first(mut self, evidence: Evidence) -> Self {
        self.evidence.insert(0, evidence);
        self
    }

    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    pub(crate) fn affects(mut self, affects: Vec<Affected>) -> Self {
        self.affects = affects;
        self
    }
}
