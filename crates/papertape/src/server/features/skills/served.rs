//! What is known of a server's skills while it serves: the list, the files by URI, and the directories they are in.

use std::collections::BTreeMap;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::kind::is_text;
use super::{Built, File, Skills};
use crate::protocol::content::{ResourceContents, base64};
use crate::protocol::skills::{FOLDER_TYPE, SKILL_FILE, SkillFile, SkillResources};
use crate::protocol::{self, Revision};
use crate::server::catalog::registry::{Listed, Registry};
use crate::server::features::resource::{RegisteredResource, Resource};
use crate::server::handler::error::SetupError;
use crate::server::handler::middleware::{self, Middleware};

/// What stands in a URI as it is; the first directory is where others have a host, so that `:` and `@` do not.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

/// The skills of a server.
#[derive(Debug, Default)]
pub(crate) struct SkillCatalog {
    /// By the path of their directories.
    built: BTreeMap<Vec<String>, Built>,
    /// Those paths in the order in which the skills were added.
    order: Vec<Vec<String>>,
    pub(crate) list: Registry<ListedSkill>,
    files: BTreeMap<String, Arc<RegisteredResource>>,
    /// What is in each directory, by URI.
    folders: BTreeMap<String, BTreeMap<String, protocol::ResourceDefinition>>,
}

/// A skill in the list.
#[derive(Debug)]
pub(crate) struct ListedSkill {
    definition: protocol::SkillDefinition,
    scopes: Vec<String>,
}

impl Listed for ListedSkill {
    type Definition = protocol::SkillDefinition;
    const KIND: &'static str = "skill";
    const LIST: &'static str = "skills";
    /// An entry names up to 512 files, and a page must fit into a frame.
    const MOST_PER_PAGE: usize = 100;

    fn key(&self) -> &str {
        &self.definition.uri
    }

    fn definition(&self, _: Revision) -> protocol::SkillDefinition {
        self.definition.clone()
    }

    fn leave_out_files(definition: &mut protocol::SkillDefinition, shows: &dyn Fn(&str) -> bool) {
        if let SkillResources::Files(files) = &mut definition.resources {
            files.retain(|file| shows(&file.uri));
        }
    }

    fn scopes(&self) -> &[String] {
        &self.scopes
    }
}

impl SkillCatalog {
    pub(crate) fn is_empty(&self) -> bool {
        self.built.is_empty()
    }

    /// Adds skills; gives their `SKILL.md` files, which are listed with the other resources.
    pub(crate) fn add(&mut self, skills: Skills) -> Result<Vec<RegisteredResource>, SetupError> {
        if let Some(problem) = skills.problem {
            return Err(problem);
        }
        let mut uris = Vec::new();
        for skill in skills.skills {
            let built = skill.build()?;
            uris.push(file_uri(&built.path, &[SKILL_FILE.to_owned()]));
            self.insert(built)?;
        }
        self.arrange()?;
        Ok(uris
            .iter()
            .filter_map(|uri| self.file(uri))
            .map(|file| RegisteredResource::clone(&file))
            .collect())
    }

    /// Adds the skills of a server that is mounted. Its resources are, too.
    pub(crate) fn mount(
        &mut self,
        other: &SkillCatalog,
        middleware: &[Middleware],
    ) -> Result<(), SetupError> {
        for built in other.in_order() {
            self.insert(Built {
                middleware: middleware::mounted(middleware, &built.middleware),
                ..built.clone()
            })?;
        }
        self.arrange()
    }

    /// The file with that URI.
    pub(crate) fn file(&self, uri: &str) -> Option<Arc<RegisteredResource>> {
        self.files.get(uri).cloned()
    }

    /// The URIs of all files.
    pub(crate) fn file_uris(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The resources in the directory with that URI.
    pub(crate) fn directory(&self, uri: &str) -> Option<&BTreeMap<String, protocol::ResourceDefinition>> {
        self.folders.get(uri)
    }

    fn insert(&mut self, built: Built) -> Result<(), SetupError> {
        let name = built.path.join("/");
        self.order.push(built.path.clone());
        match self.built.insert(built.path.clone(), built) {
            None => Ok(()),
            Some(_) => Err(SetupError::Duplicate { what: ListedSkill::KIND, name }),
        }
    }

    fn in_order(&self) -> impl Iterator<Item = &Built> {
        self.order.iter().filter_map(|path| self.built.get(path))
    }

    /// Makes all that follows from the skills there are.
    fn arrange(&mut self) -> Result<(), SetupError> {
        let mut files = BTreeMap::new();
        let mut folders: BTreeMap<String, BTreeMap<String, protocol::ResourceDefinition>> = BTreeMap::new();
        let list = Registry::default();
        for built in self.in_order() {
            let definition = entry(&self.with_skills_within(built)?);
            list.add(ListedSkill { definition, scopes: built.scopes.clone() })?;
        }
        // A skill within another comes after it, and knows best what its own file is called.
        for built in self.built.values() {
            for (below, file) in &built.files {
                let uri = file_uri(&built.path, below);
                let resource = presented(built, below, file, &uri);
                put_into_folders(&mut folders, &built.path, below, &resource.definition);
                let registered = registered(resource, file, &uri)?.mounted(&built.middleware);
                files.insert(uri, Arc::new(registered));
            }
        }
        if let Some(uri) = files.keys().find(|uri| folders.contains_key(*uri)) {
            let problem = "it is a file and a directory at once".to_owned();
            return Err(SetupError::Skill { skill: uri.clone(), problem });
        }
        (self.list, self.files, self.folders) = (list, files, folders);
        Ok(())
    }

    /// A skill and, as files of its own, the skills in directories below.
    fn with_skills_within(&self, outer: &Built) -> Result<Built, SetupError> {
        let mut whole = outer.clone();
        let below = self.built.range(outer.path.clone()..).skip(1);
        for (path, inner) in below.take_while(|(path, _)| path.starts_with(&outer.path)) {
            for (name, file) in &inner.files {
                let mut place: Vec<String> = path.iter().skip(outer.path.len()).cloned().collect();
                place.extend(name.iter().cloned());
                let uri = file_uri(&outer.path, &place);
                if whole.files.insert(place, file.clone()).is_some_and(|other| other.digest != file.digest) {
                    return Err(SetupError::Duplicate { what: "file of a skill", name: uri });
                }
            }
        }
        whole.check_size()?;
        Ok(whole)
    }
}

/// How a skill is listed.
fn entry(skill: &Built) -> protocol::SkillDefinition {
    let files = skill.files.iter().map(|(below, file)| SkillFile {
        uri: file_uri(&skill.path, below),
        digest: file.digest.clone(),
        size: file.size(),
    });
    protocol::SkillDefinition {
        uri: file_uri(&skill.path, &[SKILL_FILE.to_owned()]),
        frontmatter: skill.front_matter.clone(),
        resources: SkillResources::Files(files.collect()),
    }
}

/// How a file is listed: that of the skill itself with the skill's name and what it is for.
fn presented(skill: &Built, below: &[String], file: &File, uri: &str) -> Resource {
    let resource = Resource::new(uri).mime_type(&file.mime_type).size(file.size()).scopes(&skill.scopes);
    match below {
        [only] if only == SKILL_FILE => {
            let name = skill.path.last().map_or(SKILL_FILE, String::as_str);
            resource.name(name).description(&skill.description)
        }
        _ => resource.name(below.last().map_or("", String::as_str)),
    }
}

fn registered(resource: Resource, file: &File, uri: &str) -> Result<RegisteredResource, SetupError> {
    let mut contents = ResourceContents {
        uri: uri.to_owned(),
        mime_type: Some(file.mime_type.clone()),
        ..ResourceContents::default()
    };
    match std::str::from_utf8(&file.bytes) {
        Ok(text) if is_text(&file.bytes) || file.mime_type == "text/markdown" => {
            contents.text = Some(text.to_owned())
        }
        _ => contents.blob = Some(base64(&file.bytes)),
    }
    let contents = Arc::new(contents);
    RegisteredResource::new(resource, move |_| {
        let contents = Arc::clone(&contents);
        async move { Ok(ResourceContents::clone(&contents)) }
    })
}

/// Lists a file in its directory, that directory in the one above, and so on.
fn put_into_folders(
    folders: &mut BTreeMap<String, BTreeMap<String, protocol::ResourceDefinition>>,
    skill: &[String],
    below: &[String],
    file: &protocol::ResourceDefinition,
) {
    let names: Vec<&String> = skill.iter().chain(below).collect();
    let mut child = file.clone();
    for depth in (1..names.len()).rev() {
        let folder = uri_of(names.iter().copied().take(depth));
        folders.entry(folder.clone()).or_default().insert(child.uri.clone(), child);
        child = protocol::ResourceDefinition {
            uri: folder,
            name: names.get(depth - 1).map_or_else(String::new, |name| (*name).clone()),
            mime_type: Some(FOLDER_TYPE.to_owned()),
            ..protocol::ResourceDefinition::default()
        };
    }
}

fn file_uri(skill: &[String], below: &[String]) -> String {
    uri_of(skill.iter().chain(below))
}

fn uri_of<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<String> = names.map(|name| utf8_percent_encode(name, ESCAPED).to_string()).collect();
    format!("skill://{}", names.join("/"))
}
