//! Skills of a server: listed without reading their files, which are verified against the definition when they are read.

use serde::Deserialize;
use serde_json::Value;

use super::Client;
use super::error::{ClientError, ErrorKind};
use super::lists::{ListEntry, Listable};
use super::options::CallOptions;
use super::session::{Failure, Params};
use super::skill_mismatch::SkillMismatch;
use crate::protocol::capabilities::SKILLS;
use crate::protocol::skills::{
    MOST_SKILL_BYTES, MOST_SKILL_FILES, SKILL_FILE, SkillResources, digest, is_skill_name,
};
use crate::protocol::{ResourceContents, ResourceDefinition, SkillDefinition, method};
use crate::schema;
use crate::wire::error::excerpt;
use papertape_front_matter as front_matter;

impl Listable for SkillDefinition {
    const METHOD: &'static str = method::SKILLS_LIST;
    const LIST: &'static str = "skills";
    const KEY: &'static str = "uri";

    fn key(&self) -> &str {
        &self.uri
    }

    fn check(&self, problems: &mut Vec<String>) {
        let name = self.name();
        if !is_skill_name(name) {
            problems.push(format!("{} is not a valid skill name", excerpt(name)));
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
            problems.push(format!("{} is not in the skill's directory", excerpt(&file.uri)));
        }
        let bytes = files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.size));
        if files.len() > MOST_SKILL_FILES || bytes > MOST_SKILL_BYTES {
            problems.push(format!(
                "it is too large: {} files with {bytes} bytes (the limits are {MOST_SKILL_FILES} and {MOST_SKILL_BYTES})",
                files.len()
            ));
        }
    }
}

impl Client {
    /// Lists the skills, from all pages; those with invalid definitions are marked with the reason.
    ///
    /// Their files are not read. A server may have more skills than it lists: see [`Client::skill`].
    ///
    /// # Errors
    /// If the server does not return the list, or does not offer skills.
    pub async fn skills(&self) -> Result<Vec<ListEntry<SkillDefinition>>, ClientError> {
        self.must_offer_skills("listing skills", None)?;
        self.list(SkillDefinition::METHOD, Params::default(), CallOptions::new())
            .await
            .map(|list| list.entries)
    }

    /// Gets the skill whose `SKILL.md` has that URI, listed or not.
    ///
    /// # Errors
    /// If the server has no such skill.
    pub async fn skill(&self, uri: &str) -> Result<SkillDefinition, ClientError> {
        #[derive(Deserialize)]
        struct GetResult {
            skill: SkillDefinition,
        }
        let operation = format!("getting the skill {}", excerpt(uri));
        self.must_offer_skills(&operation, None)?;
        let raw = self
            .request_once(method::SKILLS_GET, Params::new([("uri", uri.into())]), CallOptions::new())
            .await
            .map_err(|failure| self.session().error(&operation, failure))?;
        let result: GetResult = self.read_result(&operation, &raw)?;
        if result.skill.uri != uri {
            let problem = format!("the response is about another skill: {}", excerpt(&result.skill.uri));
            return Err(self.session().error(&operation, Failure::protocol(problem, raw.get().as_bytes())));
        }
        Ok(result.skill)
    }

    /// Reads the `SKILL.md` of a skill, and verifies its size, its digest and its front matter.
    ///
    /// # Errors
    /// If it cannot be read, or if it differs: [`ErrorKind::Unverified`].
    pub async fn read_skill(&self, skill: &SkillDefinition) -> Result<String, ClientError> {
        let bytes = self.read_skill_file(skill, &skill.uri).await?;
        let checked = String::from_utf8(bytes)
            .map_err(|_| SkillMismatch::Unreadable("it is not UTF-8".to_owned()))
            .and_then(|text| same_front_matter(skill, &text).map(|()| text));
        checked.map_err(|mismatch| self.unverified(&skill.uri, mismatch))
    }

    /// Reads a file of a skill, and verifies its size and its digest. A file that the skill does not list is not read.
    ///
    /// Of a skill that does not list its files ([`SkillResources::Dynamic`]), any file in its directory is read without
    /// verification.
    ///
    /// # Errors
    /// If it cannot be read, or if it differs: [`ErrorKind::Unverified`].
    pub async fn read_skill_file(&self, skill: &SkillDefinition, uri: &str) -> Result<Vec<u8>, ClientError> {
        let listed = skill.file(uri);
        let known = listed.is_some() || skill.resources == SkillResources::Dynamic;
        if !known || !skill.contains(uri) {
            return Err(self.unverified(uri, SkillMismatch::Unlisted));
        }
        let contents = self.read(uri).await?;
        let bytes = bytes_of(uri, contents).map_err(|problem| {
            let failure = Failure::new(ErrorKind::Protocol(problem), "the response arrived");
            self.session().error(reading(uri), failure)
        })?;
        let got = bytes.len() as u64;
        let mismatch = match listed {
            None => None,
            Some(file) if file.size != got => Some(SkillMismatch::Size { expected: file.size, got }),
            Some(file) => Some(digest(&bytes))
                .filter(|got| file.digest != *got)
                .map(|got| SkillMismatch::Digest { expected: file.digest.clone(), got }),
        };
        mismatch.map_or(Ok(bytes), |mismatch| Err(self.unverified(uri, mismatch)))
    }

    /// Lists a directory of resources, from all pages: files, and directories with the MIME type `inode/directory`.
    ///
    /// # Errors
    /// If it is not a directory, or if the server does not offer `directoryRead`.
    pub async fn directory(&self, uri: &str) -> Result<Vec<ListEntry<ResourceDefinition>>, ClientError> {
        self.must_offer_skills(&format!("listing the directory {}", excerpt(uri)), Some("directoryRead"))?;
        let params = Params::new([("uri", uri.into())]);
        self.list(method::DIRECTORY_READ, params, CallOptions::new()).await.map(|list| list.entries)
    }

    /// Requests of the extension are sent only to servers that declare it.
    fn must_offer_skills(&self, operation: &str, setting: Option<&str>) -> Result<(), ClientError> {
        let settings = self.capabilities().extensions.as_ref().and_then(|all| all.get(SKILLS));
        let offered = settings.is_some_and(|settings| {
            setting.is_none_or(|name| settings.get(name).and_then(Value::as_bool) == Some(true))
        });
        if offered {
            return Ok(());
        }
        let what = setting.map_or_else(|| SKILLS.to_owned(), |setting| format!("`{setting}` of {SKILLS}"));
        let failure = Failure::new(ErrorKind::NotOffered(what), "the request was not sent");
        Err(self.session().error(operation, failure))
    }

    fn unverified(&self, uri: &str, mismatch: SkillMismatch) -> ClientError {
        let stage = if mismatch == SkillMismatch::Unlisted {
            "the request was not sent"
        } else {
            "the file was read"
        };
        self.session().error(reading(uri), Failure::new(ErrorKind::Unverified(mismatch), stage))
    }
}

fn reading(uri: &str) -> String {
    format!("reading the file {} of a skill", excerpt(uri))
}

/// Checks that the front matter of the file is that of the definition; numbers may be written in any way.
fn same_front_matter(skill: &SkillDefinition, text: &str) -> Result<(), SkillMismatch> {
    let read = front_matter::read(text).map_err(SkillMismatch::Unreadable)?;
    let [mut listed, mut read] = [Value::Object(skill.frontmatter.clone()), Value::Object(read)];
    schema::spell_numbers_alike(&mut listed);
    schema::spell_numbers_alike(&mut read);
    let (Value::Object(mut listed), Value::Object(read)) = (listed, read) else { return Ok(()) };
    for (member, got) in read {
        let expected = listed.remove(&member);
        if expected.as_ref() != Some(&got) {
            return Err(SkillMismatch::FrontMatter { member, expected, got: Some(got) });
        }
    }
    match listed.into_iter().next() {
        Some((member, expected)) => {
            Err(SkillMismatch::FrontMatter { member, expected: Some(expected), got: None })
        }
        None => Ok(()),
    }
}

/// The bytes of a file among the contents that were read.
fn bytes_of(uri: &str, contents: Vec<ResourceContents>) -> Result<Vec<u8>, String> {
    let only = contents.len() == 1;
    let file = contents.into_iter().find(|contents| only || contents.uri == uri);
    match file.map(|file| (file.text, file.blob)) {
        Some((Some(text), None)) => Ok(text.into_bytes()),
        Some((None, Some(blob))) => data_encoding::BASE64
            .decode(blob.as_bytes())
            .map_err(|error| format!("`blob` is not base64: {error}")),
        Some(_) => Err("the contents must have either `text` or `blob`".to_owned()),
        None => Err("the contents do not include the file".to_owned()),
    }
}
