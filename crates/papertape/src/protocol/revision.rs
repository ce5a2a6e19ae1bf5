//! The five revisions and every question about them: the one place where revisions are compared.

use std::fmt;

/// A revision of the protocol, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// The first: handshake, tools, resources, prompts.
    V2024_11_05,
    /// Batches, audio, tool annotations.
    V2025_03_26,
    /// Structured output, titles, no more batches.
    V2025_06_18,
    /// Icons, argument errors as results.
    V2025_11_25,
    /// Stateless: every request says what it needs in `_meta`.
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

    /// Those whose requests stand alone, newest first.
    pub const STATELESS: [Revision; 1] = [Revision::V2026_07_28];

    /// The newest that `initialize` can lead to.
    pub const NEWEST_LEGACY: Revision = Revision::V2025_11_25;

    /// The first one.
    pub const OLDEST: Revision = Revision::V2024_11_05;

    /// The one whose requests stand alone.
    pub const MODERN: Revision = Revision::V2026_07_28;

    /// The name on the wire.
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

    /// The newest of some names of revisions that is newer than this one, known or not. What is no date is no revision.
    pub(crate) fn newer_among(self, names: &[String]) -> Option<&str> {
        let is_date = |name: &&str| {
            let shape = name.chars().map(|c| if c.is_ascii_digit() { '0' } else { c });
            shape.eq("0000-00-00".chars())
        };
        names.iter().map(String::as_str).filter(is_date).max().filter(|newest| *newest > self.as_str())
    }

    /// A place in tables that have one entry per revision.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// What `initialize` leads to for the version a client asked for: that one if it has a handshake and is known, else
    /// the newest that has one.
    #[must_use]
    pub fn negotiate(asked: &str) -> Self {
        Self::parse(asked).filter(|revision| revision.opens_with_handshake()).unwrap_or(Self::NEWEST_LEGACY)
    }

    /// Whether a conversation begins with `initialize`. Otherwise each request carries all that is needed.
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

    /// Whether an error whose request had no readable id goes without `id`, rather than with `null`.
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

    /// Whether there are icons, and implementations describe themselves.
    #[must_use]
    pub fn has_icons(self) -> bool {
        self >= Revision::V2025_11_25
    }

    /// Whether a server can ask the user.
    #[must_use]
    pub fn has_elicitation(self) -> bool {
        self >= Revision::V2025_06_18
    }

    /// Whether it can do so with a page to visit, and not only with a form.
    #[must_use]
    pub fn elicitation_has_modes(self) -> bool {
        self >= Revision::V2025_11_25
    }

    /// Whether a server can give a client's model tools.
    #[must_use]
    pub fn sampling_has_tools(self) -> bool {
        self >= Revision::V2025_11_25
    }

    /// The code of the error for a resource that does not exist.
    #[must_use]
    pub fn resource_not_found_code(self) -> i64 {
        if self >= Revision::V2026_07_28 { -32602 } else { -32002 }
    }

    /// Whether every message on HTTP names it in a header, once it is agreed.
    #[must_use]
    pub fn is_named_in_headers(self) -> bool {
        self >= Revision::V2025_06_18
    }

    /// Whether a client whose connection has ended before the answer comes back for it, also if it was the server that
    /// ended it.
    #[must_use]
    pub fn can_come_back(self) -> bool {
        self == Revision::V2025_11_25
    }

    /// Whether completion is announced. (It could be asked for before.)
    #[must_use]
    pub fn announces_completions(self) -> bool {
        self >= Revision::V2025_03_26
    }

    /// Whether structured output may be any JSON value, and not only an object.
    #[must_use]
    pub fn structured_output_is_any_json(self) -> bool {
        self >= Revision::V2026_07_28
    }

    /// Whether results say what kind of result they are, how long they keep, and who gave them.
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
