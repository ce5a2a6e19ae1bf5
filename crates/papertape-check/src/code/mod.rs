//! Every kind of finding: its code, which never changes, and its page of documentation.

use std::fmt;

use crate::finding::Severity;
use crate::hosts::{Affected, affected};

/// Defines the codes of a group. The page of each is `pages/CODE.md`.
macro_rules! codes {
    ($($name:ident $severity:ident $title:literal)*) => {
        $(pub(crate) const $name: $crate::code::Code = $crate::code::Code {
            name: stringify!($name),
            severity: $crate::finding::Severity::$severity,
            title: $title,
            page: include_str!(concat!("../../pages/", stringify!($name), ".md")),
        };)*
        pub(super) const ALL: &[$crate::code::Code] = &[$($name),*];
    };
}

pub(crate) mod behaviour;
pub(crate) mod definitions;
pub(crate) mod http;
pub(crate) mod opening;
pub(crate) mod portability;
pub(crate) mod shutdown;
pub(crate) mod start;
pub(crate) mod stdout;

const GROUPS: [(&str, &[Code]); 8] = [
    ("stdout", stdout::ALL),
    ("start", start::ALL),
    ("opening", opening::ALL),
    ("definitions", definitions::ALL),
    ("portability", portability::ALL),
    ("behaviour", behaviour::ALL),
    ("shutdown", shutdown::ALL),
    ("HTTP", http::ALL),
];

/// A kind of finding, such as `PT0101`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Code {
    pub(crate) name: &'static str,
    pub(crate) severity: Severity,
    pub(crate) title: &'static str,
    pub(crate) page: &'static str,
}

impl Code {
    /// All codes, in groups with their titles.
    #[must_use]
    pub fn groups() -> [(&'static str, &'static [Code]); 8] {
        GROUPS
    }

    /// The code with a name, in any case.
    #[must_use]
    pub fn find(name: &str) -> Option<Code> {
        GROUPS.iter().flat_map(|(_, codes)| *codes).copied().find(|code| code.name.eq_ignore_ascii_case(name))
    }

    /// Its name, `PT` and four digits: the group and the number in it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.name
    }

    /// How severe a finding of this kind is, unless its circumstances say otherwise.
    #[must_use]
    pub fn severity(self) -> Severity {
        self.severity
    }

    /// What it is about, in a few words.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.title
    }

    /// The title of its group.
    #[must_use]
    pub fn group(self) -> &'static str {
        let group = GROUPS.iter().find(|(_, codes)| codes.contains(&self));
        group.map_or("", |(title, _)| *title)
    }

    /// Which hosts, SDKs and model APIs break on it, as far as that is known in general.
    #[must_use]
    pub fn affects(self) -> Vec<Affected> {
        affected(self.name)
    }

    /// Its page of documentation, in Markdown.
    #[must_use]
    pub fn page(self) -> &'static str {
        self.page
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn every_code_stands_in_its_group_and_has_a_page_with_its_title() {
        for (index, (group, codes)) in Code::groups().into_iter().enumerate() {
            for code in codes {
                assert!(code.name().starts_with(&format!("PT{:02}", index + 1)), "{code} in {group}");
                assert_eq!(Code::find(&code.name().to_lowercase()), Some(*code));
                let heading = format!("# {code}: {}", code.title());
                assert_eq!(code.page().lines().next(), Some(heading.as_str()), "pages/{code}.md");
            }
        }
    }
}
