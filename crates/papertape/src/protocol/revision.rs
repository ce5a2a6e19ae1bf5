//! The five revisions and how they differ: the one place where revisions are compared.

use std::fmt;

use super::error_code;

/// A revision of the protocol, oldest first.
///
/// ```
/// use papertape::client::ClientOptions;
/// use papertape::protocol::Revision;
///
/// // A client that opens a session of 2025-06-18, whatever else the server supports.
/// let options = ClientOptions::new().revision(Revision::V2025_06_18);
/// assert_eq!(Revision::parse("2025-06-18"), Some(Revision::V2025_06_18));
/// assert!(Revision::V2025_06_18.opens_with_handshake());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Revision {
    /// The first: handshake, tools, resources, prompts.
    V2024_11_05,
    /// Batches, audio, tool annotations.
    V2025_03_26,
    /// Structured output, titles, no more batches.
    V2025_06_18,
    /// Icons, argument errors as results.
    V2025_11_25,
    /// Stateless: every request has its context in `_meta`.
    V2026_07_28,
}

impl Revision {
    /// All of them, newest first: the order in which they are offered.
    pub const ALL: [Revision; 5] = [
        Revision::V2026_07_28,
        Revision::V2025_11_25,
        Revision::V2025_06_18,
        Revision::V2025_03_26,
        Revision::V2024_11_05,
    ];

    /// The stateless ones, newest first.
    pub const STATELESS: [Revision; 1] = [Revision::V2026_07_28];

    /// The newest session-based one, which `initialize` negotiates.
    pub const NEWEST_LEGACY: Revision = Revision::V2025_11_25;

    /// The first one.
    pub const OLDEST: Revision = Revision::V2024_11_05;

    /// The newest stateless one.
    pub const MODERN: Revision = Revision::V2026_07_28;

    /// Its name, such as `2025-11-25`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Revision::V2024_11_05 => "2024-11-05",
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
            Revision::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == name)
    }

    /// The newest of some names of revisions, known or not, if it is newer than this one. Names that are not dates are
    /// ignored.
    pub(crate) fn newer_among(self, names: &[String]) -> Option<&str> {
        let is_date = |name: &&str| {
            let shape = name.chars().map(|c| if c.is_ascii_digit() { '0' } else { c });
            shape.eq("0000-00-00".chars())
        };
        names.iter().map(String::as_str).filter(is_date).max().filter(|newest| *newest > self.as_str())
    }

    /// An index for tables with one entry per revision.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// The revision that `initialize` negotiates: the requested one if it is known and session-based, else the newest
    /// session-based one.
    #[must_use]
    pub fn negotiate(requested: &str) -> Self {
        Self::parse(requested)
            .filter(|revision| revision.opens_with_handshake())
            .unwrap_or(Self::NEWEST_LEGACY)
    }

    /// Whether it is session-based: a session begins with `initialize`. Otherwise it is stateless.
    #[must_use]
    pub fn opens_with_handshake(self) -> bool {
        self < Revision::V2026_07_28
    }

    /// Whether a frame may hold an array of messages.
    #[must_use]
    pub fn allows_batches(self) -> bool {
        self == Revision::V2025_03_26
    }

    /// Whether arguments that break the input schema are a tool's result (`isError`) rather than an error (-32602).
    #[must_use]
    pub fn invalid_arguments_are_results(self) -> bool {
        self >= Revision::V2025_11_25
    }

    /// Whether an error response to a request without a readable id has no `id`, rather than `null`.
    #[must_use]
    pub fn omits_unreadable_id(self) -> bool {
        self >= Revision::V2025_11_25
    }

    /// Whether tools have annotations, content may be audio, and progress may carry a message.
    #[must_use]
    pub fn has_annotations_and_audio(self) -> bool {
        self >= Revision::V2025_03_26
    }

    /// Whether there are titles, `_meta` on objects, `lastModified`, structured output and resource links.
    #[must_use]
    pub fn has_structured_output(self) -> bool {
        self >= Revision::V2025_06_18
    }

    /// Whether there are icons, and descriptions of implementations.
    #[must_use]
    pub fn has_icons(self) -> bool {
        self >= Revision::V2025_11_25
    }

    /// Whether there is elicitation.
    #[must_use]
    pub fn has_elicitation(self) -> bool {
        self >= Revision::V2025_06_18
    }

    /// Whether there is URL elicitation, and not only forms.
    #[must_use]
    pub fn elicitation_has_modes(self) -> bool {
        self >= Revision::V2025_11_25
    }

    /// Whether sampling requests can have tools.
    #[must_use]
    pub fn sampling_has_tools(self) -> bool {
        self >= Revision::V2025_11_25
    }

    /// The code of the error for a resource that does not exist.
    #[must_use]
    pub fn resource_not_found_code(self) -> i64 {
        if self >= Revision::V2026_07_28 {
            error_code::INVALID_PARAMS
        } else {
            error_code::RESOURCE_NOT_FOUND
        }
    }

    /// Whether the `_meta` of a request may have members that the revision does not name, such as `traceparent`. Earlier ones
    /// define nothing but `progressToken`.
    #[must_use]
    pub fn has_open_meta(self) -> bool {
        self >= Revision::V2025_06_18
    }

    /// Whether every HTTP request has it in a header, once it is negotiated.
    #[must_use]
    pub fn is_named_in_headers(self) -> bool {
        self >= Revision::V2025_06_18
    }

    /// Whether a client resumes the stream of a request when the server closes its connection before the response.
    #[must_use]
    pub fn can_come_back(self) -> bool {
        self == Revision::V2025_11_25
    }

    /// Whether there is a capability for completion. (The method is older.)
    #[must_use]
    pub fn announces_completions(self) -> bool {
        self >= Revision::V2025_03_26
    }

    /// Whether structured output may be any JSON value, and not only an object.
    #[must_use]
    pub fn structured_output_is_any_json(self) -> bool {
        self >= Revision::V2026_07_28
    }

    /// Whether results have `resultType`, cache hints and the server's identity.
    #[must_use]
    pub fn results_describe_themselves(self) -> bool {
        self >= Revision::V2026_07_28
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Revision;

    #[test]
    fn a_handshake_never_leads_to_a_stateless_revision() {
        assert_eq!(Revision::negotiate("2024-11-05"), Revision::V2024_11_05);
        for asked in ["2026-07-28", "2027-01-01", "1.0.0", ""] {
            assert_eq!(Revision::negotiate(asked), Revision::V2025_11_25, "{asked}");
        }
    }

    #[test]
    fn stateless_ones_are_those_without_a_handshake() {
        let stateless = Revision::ALL.into_iter().filter(|revision| !revision.opens_with_handshake());
        assert!(stateless.eq(Revision::STATELESS));
    }

    #[test]
    fn names_go_both_ways() {
        for revision in Revision::ALL {
            assert_eq!(Revision::parse(revision.as_str()), Some(revision));
        }
    }
}
