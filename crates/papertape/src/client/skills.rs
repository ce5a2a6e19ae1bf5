//! Skills of a server: listed without reading any, and held against the list when they are read.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Client;
use super::error::{ClientError, ErrorKind};
use super::listing::{Definition, Listed};
use super::session::{Params, Trouble};
use crate::front_matter;
use crate::protocol::capabilities::SKILLS;
use crate::protocol::skills::{
    MOST_SKILL_BYTES, MOST_SKILL_FILES, SKILL_FILE, SkillResources, digest, is_skill_name,
};
use crate::protocol::{Resource, ResourceContents, Skill, method};
use crate::schema;
use crate::wire::error::{excerpt, shortened};

/// How a file differs from what its skill says about it. It must not be used.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Mismatch {
    /// It is longer or shorter.
    Size {
        /// Bytes that the skill says.
        expected: u64,
        /// Bytes that came.
        got: u64,
    },
    /// Its bytes are others.
    Digest {
        /// What the skill says.
        expected: String,
        /// What came.
        got: String,
    },
    /// The front matter of a `SKILL.md` says something else than the list. `None` is nothing at all.
    FrontMatter {
        /// The member that differs.
        member: String,
        /// What the skill says.
        expected: Option<Value>,
        /// What came.
        got: Option<Value>,
    },
    /// The front matter of a `SKILL.md` cannot be read.
    Unreadable(String),
    /// The skill does not say that it has such a file.
    Unlisted,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<Value>| match value {
            None => "nothing".to_owned(),
            Some(Value::String(text)) => excerpt(text),
            Some(other) => shortened(&other.to_string()).to_owned(),
        };
        match self {
            Self::Size { expected, got } => write!(f, "it should have {expected} bytes, but has {got}"),
            Self::Digest { expected, got } => {
                write!(f, "its digest should be {}, but is {got}", excerpt(expected))
            }
            Self::FrontMatter { member, expected, got } => {
                let (expected, got) = (shown(expected), shown(got));
                write!(f, "{} of its front matter should be {expected}, but is {got}", excerpt(member))
            }
            Self::Unreadable(problem) => f.write_str(problem),
            Self::Unlisted => f.write_str("the skill does not list such a file"),
        }
    }
}

impl Definition for Skill {
    const METHOD: &'static str = method::SKILLS_LIST;
    const LIST: &'static str = "skills";
    const KEY: &'static str = "uri";

    fn key(&self) -> &str {
        &self.uri
    }

    fn check(&self, problems: &mut Vec<String>) {
        let name = self.name();
        if !is_skill_name(name) {
            problems.push(format!("{} is no name of a skill", excerpt(name)));
        }
        if self.description().is_empty() {
            problems.push("its front matter has no `description`".to_owned());
        }
        if self.folder().and_then(|folder| folder.rsplit('/').next()) != Some(name) {
            problems.push(format!("`uri` must end in {}", excerpt(&format!("/{name}/{SKILL_FILE}"))));
        }
        let SkillResources::Files(files) = &self.resources else { return };
        if self.file(&self.uri).is_none() {
            problems.push(format!("its own {SKILL_FILE} is not among its `resources`"));
        }
        if let Some(file) = files.iter().find(|file| !self.contains(&file.uri)) {
            problems.push(format!("{} is not in the skill's folder", excerpt(&file.uri)));
        }
        let bytes = files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.size));
        if files.len() > MOST_SKILL_FILES || bytes > MOST_SKILL_BYTES {
            problems.push(format!(
                "it is too large: {} files with {bytes} bytes, of {MOST_SKILL_FILES} and {MOST_SKILL_BYTES}",
                files.len()
            ));
        }
    }
}

impl Client {
    /// The skills there are, from all pages; those that are invalid are marked with the reason.
    ///
    /// None of their files is read. A server may have more skills than it lists: see [`Client::skill`].
    ///
    /// # Errors
    /// If the server does not list them, or has none to offer.
    pub async fn skills(&self) -> Result<Vec<Listed<Skill>>, ClientError> {
        self.must_offer_skills("listing skills", None)?;
        self.list(Skill::METHOD, Map::new()).await
    }

    /// The skill whose `SKILL.md` has that URI, listed or not.
    ///
    /// # Errors
    /// If the server has no such skill.
    pub async fn skill(&self, uri: &str) -> Result<Skill, ClientError> {
        #[derive(Deserialize)]
        struct Found {
            skill: Skill,
        }
        let doing = format!("asking for the skill {}", excerpt(uri));
        self.must_offer_skills(&doing, None)?;
        let raw = self
            .ask_once(method::SKILLS_GET, Params::new([("uri", uri.into())]))
            .await
            .map_err(|trouble| self.session().error(&doing, trouble))?;
        let found: Found = self.read_result(&doing, &raw)?;
        if found.skill.uri != uri {
            let problem = format!("another skill came: {}", excerpt(&found.skill.uri));
            return Err(self.session().error(&doing, Trouble::broken(problem, raw.get().as_bytes())));
        }
        Ok(found.skill)
    }

    /// The text of a skill's `SKILL.md`, if it is what the skill says: its size, its digest and its front matter.
    ///
    /// # Errors
    /// If it cannot be read, or if it differs: [`ErrorKind::Unverified`].
    pub async fn read_skill(&self, skill: &Skill) -> Result<String, ClientError> {
        let bytes = self.read_skill_file(skill, &skill.uri).await?;
        let checked = String::from_utf8(bytes)
            .map_err(|_| Mismatch::Unreadable("it is not UTF-8".to_owned()))
            .and_then(|text| same_front_matter(skill, &text).map(|()| text));
        checked.map_err(|mismatch| self.unverified(&skill.uri, mismatch))
    }

    /// The bytes of a file of a skill, if they are what the skill says. A file that it does not list is not read.
    ///
    /// Of a skill that lists no files ([`SkillResources::Dynamic`]) nothing is known beforehand: any file in its folder
    /// is read, and not verified.
    ///
    /// # Errors
    /// If it cannot be read, or if it differs: [`ErrorKind::Unverified`].
    pub async fn read_skill_file(&self, skill: &Skill, uri: &str) -> Result<Vec<u8>, ClientError> {
        let listed = skill.file(uri);
        let known = listed.is_some() || skill.resources == SkillResources::Dynamic;
        if !known || !skill.contains(uri) {
            return Err(self.unverified(uri, Mismatch::Unlisted));
        }
        let contents = self.read(uri).await?;
        let bytes = bytes_of(uri, contents).map_err(|problem| {
            let trouble = Trouble::new(ErrorKind::Protocol(problem), "the answer came");
            self.session().error(reading(uri), trouble)
        })?;
        let got = bytes.len() as u64;
        let mismatch = match listed {
            None => None,
            Some(file) if file.size != got => Some(Mismatch::Size { expected: file.size, got }),
            Some(file) => Some(digest(&bytes))
                .filter(|got| file.digest != *got)
                .map(|got| Mismatch::Digest { expected: file.digest.clone(), got }),
        };
        mismatch.map_or(Ok(bytes), |mismatch| Err(self.unverified(uri, mismatch)))
    }

    /// What is in a folder of resources, from all pages: files, and folders of the type `inode/directory`.
    ///
    /// # Errors
    /// If it is no folder, or if the server does not let its folders be looked into.
    pub async fn directory(&self, uri: &str) -> Result<Vec<Listed<Resource>>, ClientError> {
        self.must_offer_skills(&format!("looking into the folder {}", excerpt(uri)), Some("directoryRead"))?;
        self.list(method::DIRECTORY_READ, Map::from_iter([("uri".to_owned(), uri.into())])).await
    }

    /// The extension is for servers that declare it.
    fn must_offer_skills(&self, doing: &str, setting: Option<&str>) -> Result<(), ClientError> {
        let settings = self.capabilities().extensions.as_ref().and_then(|all| all.get(SKILLS));
        let offered = settings.is_some_and(|settings| {
            setting.is_none_or(|name| settings.get(name).and_then(Value::as_bool) == Some(true))
        });
        if offered {
            return Ok(());
        }
        let what = setting.map_or_else(|| SKILLS.to_owned(), |setting| format!("`{setting}` of {SKILLS}"));
        Err(self.session().error(doing, Trouble::new(ErrorKind::NotOffered(what), "nothing was sent")))
    }

    fn unverified(&self, uri: &str, mismatch: Mismatch) -> ClientError {
        let reached = if mismatch == Mismatch::Unlisted { "nothing was sent" } else { "the file was read" };
        self.session().error(reading(uri), Trouble::new(ErrorKind::Unverified(mismatch), reached))
    }
}

fn reading(uri: &str) -> String {
    format!("reading the file {} of a skill", excerpt(uri))
}

/// The front matter that came is the one that was listed, whatever way its numbers are written.
fn same_front_matter(skill: &Skill, text: &str) -> Result<(), Mismatch> {
    let came = front_matter::read(text).map_err(Mismatch::Unreadable)?;
    let [mut listed, mut came] = [Value::Object(skill.frontmatter.clone()), Value::Object(came)];
    schema::spell_numbers_alike(&mut listed);
    schema::spell_numbers_alike(&mut came);
    let (Value::Object(mut listed), Value::Object(came)) = (listed, came) else { return Ok(()) };
    for (member, got) in came {
        let expected = listed.remove(&member);
        if expected.as_ref() != Some(&got) {
            return Err(Mismatch::FrontMatter { member, expected, got: Some(got) });
        }
    }
    match listed.into_iter().next() {
        Some((member, expected)) => {
            Err(Mismatch::FrontMatter { member, expected: Some(expected), got: None })
        }
        None => Ok(()),
    }
}

/// The bytes of a file among what was read.
fn bytes_of(uri: &str, contents: Vec<ResourceContents>) -> Result<Vec<u8>, String> {
    let only = contents.len() == 1;
    let file = contents.into_iter().find(|contents| only || contents.uri == uri);
    match file.map(|file| (file.text, file.blob)) {
        Some((Some(text), None)) => Ok(text.into_bytes()),
        Some((None, Some(blob))) => data_encoding::BASE64
            .decode(blob.as_bytes())
            .map_err(|error| format!("`blob` is no base64: {error}")),
        Some(_) => Err("what was read must have either `text` or `blob`".to_owned()),
        None => Err("what was read does not contain the file".to_owned()),
    }
}
