//! How a file of a skill can differ from the skill's definition.

use std::fmt;

use serde_json::Value;

use crate::wire::error::{excerpt, shortened};

/// How a file differs from the definition of its skill. It must not be used.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SkillMismatch {
    /// Its size differs.
    Size {
        /// The size in the definition.
        expected: u64,
        /// The size of the file.
        got: u64,
    },
    /// Its digest differs.
    Digest {
        /// The digest in the definition.
        expected: String,
        /// The digest of the file.
        got: String,
    },
    /// A member of the front matter of a `SKILL.md` differs. `None` is absent.
    FrontMatter {
        /// The member that differs.
        member: String,
        /// The value in the definition.
        expected: Option<Value>,
        /// The value in the file.
        got: Option<Value>,
    },
    /// The front matter of a `SKILL.md` cannot be read.
    Unreadable(String),
    /// The skill does not list such a file.
    Unlisted,
}

impl fmt::Display for SkillMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<Value>| match value {
            None => "absent".to_owned(),
            Some(Value::String(text)) => excerpt(text),
            Some(other) => shortened(&other.to_string()).to_owned(),
        };
        match self {
            Self::Size { expected, got } => write!(f, "expected {expected} bytes, got {got}"),
            Self::Digest { expected, got } => {
                write!(f, "expected the digest {}, got {got}", excerpt(expected))
            }
            Self::FrontMatter { member, expected, got } => {
                let (expected, got) = (shown(expected), shown(got));
                write!(f, "front matter {}: expected {expected}, got {got}", excerpt(member))
            }
            Self::Unreadable(problem) => f.write_str(problem),
            Self::Unlisted => f.write_str("the skill does not list such a file"),
        }
    }
}
