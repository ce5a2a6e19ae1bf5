//! Skills: directories of instructions for a model (the skills extension).

use std::fmt;

use serde::de::{self, SeqAccess, Visitor, value::SeqAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The file that makes a directory a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// The maximum number of files of a skill.
pub const MOST_SKILL_FILES: usize = 512;

/// The maximum size of a skill's files in bytes.
pub const MOST_SKILL_BYTES: u64 = 16 * 1024 * 1024;

/// The MIME type of a directory.
pub const FOLDER_TYPE: &str = "inode/directory";

/// The definition of a skill, as it is listed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
#[non_exhaustive]
pub struct SkillDefinition {
    /// The URI of its `SKILL.md`.
    pub uri: String,
    /// The front matter of its `SKILL.md`.
    pub frontmatter: Map<String, Value>,
    /// Its files.
    pub resources: SkillResources,
}

/// The files of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkillResources {
    /// All of them, including `SKILL.md`.
    Files(Vec<SkillFile>),
    /// They are generated when they are read, so they cannot be listed.
    Dynamic,
}

/// A file of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
#[non_exhaustive]
pub struct SkillFile {
    /// The URI.
    pub uri: String,
    /// The [`digest`] of its bytes.
    pub digest: String,
    /// The size in bytes.
    pub size: u64,
}

impl SkillDefinition {
    /// The name in the front matter; empty if there is none.
    #[must_use]
    pub fn name(&self) -> &str {
        self.frontmatter.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// The description in the front matter; empty if there is none.
    #[must_use]
    pub fn description(&self) -> &str {
        self.frontmatter.get("description").and_then(Value::as_str).unwrap_or_default()
    }

    /// The URI of its directory, if its own URI is that of a `SKILL.md`.
    #[must_use]
    pub fn folder(&self) -> Option<&str> {
        self.uri.strip_suffix(SKILL_FILE)?.strip_suffix('/')
    }

    /// The file with that URI, if it is listed.
    #[must_use]
    pub fn file(&self, uri: &str) -> Option<&SkillFile> {
        match &self.resources {
            SkillResources::Files(files) => files.iter().find(|file| file.uri == uri),
            SkillResources::Dynamic => None,
        }
    }

    /// Whether a URI is within its directory.
    #[must_use]
    pub fn contains(&self, uri: &str) -> bool {
        let below = self.folder().and_then(|folder| uri.strip_prefix(folder)?.strip_prefix('/'));
        below.is_some_and(|path| {
            path.split('/').all(|name| {
                !matches!(name.to_ascii_lowercase().replace("%2e", ".").as_str(), "" | "." | "..")
            })
        })
    }
}

impl Default for SkillResources {
    fn default() -> Self {
        Self::Files(Vec::new())
    }
}

impl Serialize for SkillResources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Files(files) => files.serialize(serializer),
            Self::Dynamic => serializer.serialize_str("dynamic"),
        }
    }
}

impl<'de> Deserialize<'de> for SkillResources {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = SkillResources;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of files or \"dynamic\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<SkillResources, E> {
                match text {
                    "dynamic" => Ok(SkillResources::Dynamic),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, files: A) -> Result<SkillResources, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(files)).map(SkillResources::Files)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// The digest of a file: `sha256:` and 64 hexadecimal digits.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", data_encoding::HEXLOWER.encode(&Sha256::digest(bytes)))
}

/// Whether a skill may have that name: 1 to 64 lowercase letters, digits and single hyphens between them.
#[must_use]
pub fn is_skill_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

#[cfg(test)]
mod tests {
    use super::{SkillDefinition, SkillResources, digest, is_skill_name};

    #[test]
    fn names_follow_the_agent_skills_rules() {
        let long = "a".repeat(64);
        for name in ["a", "7", "git-workflow", "a-1-b", &long] {
            assert!(is_skill_name(name), "{name}");
        }
        let longer = "a".repeat(65);
        for name in ["", "-", "-a", "a-", "a--b", "A", "a_b", "a b", "é", "a/b", ".", &longer] {
            assert!(!is_skill_name(name), "{name}");
        }
    }

    #[test]
    fn a_digest_is_sha256() {
        assert_eq!(digest(b"abc"), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn resources_are_files_or_dynamic() {
        let read = |text: &str| serde_json::from_str::<SkillResources>(text);
        assert_eq!(read("\"dynamic\"").unwrap(), SkillResources::Dynamic);
        let files = r#"[{"uri":"skill://a/SKILL.md","digest":"sha256:00","size":3}]"#;
        assert_eq!(serde_json::to_string(&read(files).unwrap()).unwrap(), files);
        for bad in ["\"static\"", "null", "{}", "[1]", "[{}]", r#"[{"uri":"a","digest":"b","size":-1}]"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn files_of_a_skill_are_below_its_directory() {
        let skill = SkillDefinition { uri: "skill://x/a/SKILL.md".to_owned(), ..SkillDefinition::default() };
        for uri in ["skill://x/a/SKILL.md", "skill://x/a/b/c.md", "skill://x/a/..b"] {
            assert!(skill.contains(uri), "{uri}");
        }
        for uri in [
            "skill://x/a",
            "skill://x/a/",
            "skill://x/ab/c",
            "skill://x/a/../b",
            "skill://x/a/%2E./b",
            "skill://x/a//b",
        ] {
            assert!(!skill.contains(uri), "{uri}");
        }
    }
}
