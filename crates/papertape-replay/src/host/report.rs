//! What has become of each request of a tape.

use std::time::Duration;

use papertape_tape::Difference;

use crate::call::Call;

/// What a server has done with the requests of a tape.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The requests in their order.
    pub requests: Vec<Replayed>,
    /// What else is different from the tape: requests of the server that did not come, or are new.
    pub others: Vec<String>,
    /// How the server has violated the protocol.
    pub violations: Vec<String>,
    /// Why it ended before the tape did.
    pub failure: Option<Failure>,
}

/// A request that was sent again.
#[derive(Debug)]
#[non_exhaustive]
pub struct Replayed {
    /// Its number on the tape.
    pub number: u64,
    /// What it asks for.
    pub call: Call,
    /// What has become of it.
    pub verdict: Verdict,
    /// How long the response took.
    pub time: Option<Duration>,
    /// The response that differs, to be written to the tape.
    pub(crate) update: Option<Update>,
}

/// A response that takes the place of a recorded one.
#[derive(Debug)]
pub(crate) struct Update {
    /// The index of the recorded response.
    pub(crate) response: usize,
    /// The new one, as JSON.
    pub(crate) text: String,
}

/// What has become of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The response is that of the tape.
    Same,
    /// The response differs.
    Different(Vec<Difference>),
    /// The tape has no response to it: it was cancelled, or the recording ended before.
    NotCompared,
    /// There was no response.
    NoResponse,
    /// It was not sent, because the server had ended.
    NotSent,
}

/// Why a server could not be driven to the end of a tape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The cause.
    pub cause: String,
    /// Before its first response.
    pub at_start: bool,
}

impl Report {
    /// Whether every response is that of the tape.
    #[must_use]
    pub fn is_same(&self) -> bool {
        let same = |request: &Replayed| matches!(request.verdict, Verdict::Same | Verdict::NotCompared);
        self.requests.iter().all(same) && self.others.is_empty() && !self.is_broken()
    }

    /// Whether the server has failed or violated the protocol.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.failure.is_some() || !self.violations.is_empty()
    }

    /// How many requests have a verdict.
    pub fn count(&self, is: impl Fn(&Verdict) -> bool) -> usize {
        self.requests.iter().filter(|request| is(&request.verdict)).count()
    }

    /// "12 requests: 10 the same, 2 different".
    #[must_use]
    pub fn summary(&self) -> String {
        let total = self.requests.len();
        let mut text = format!("{total} request{}", if total == 1 { "" } else { "s" });
        let counts = [
            (self.count(|verdict| *verdict == Verdict::Same), "the same"),
            (self.count(|verdict| matches!(verdict, Verdict::Different(_))), "different"),
            (self.count(|verdict| *verdict == Verdict::NoResponse), "without a response"),
            (self.count(|verdict| *verdict == Verdict::NotSent), "not sent"),
            (self.count(|verdict| *verdict == Verdict::NotCompared), "not compared"),
        ];
        let counts: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if !counts.is_empty() {
            text += &format!(": {}", counts.join(", "));
        }
        text
    }
}

impl Verdict {
    /// `same`, `different`, `not-compared`, `no-response`, `not-sent`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Different(_) => "different",
            Verdict::NotCompared => "not-compared",
            Verdict::NoResponse => "no-response",
            Verdict::NotSent => "not-sent",
        }
    }
}
