//! Skills: directories of instructions to what the skills extension lists, and to resources that can be read.

mod folder;
mod kind;
mod served;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::protocol::skills::{MOST_SKILL_BYTES, MOST_SKILL_FILES, SKILL_FILE, digest, is_skill_name};
use crate::server::handler::error::SetupError;
use crate::wire::error::excerpt;
use kind::mime_type;
use papertape_front_matter as front_matter;
pub(crate) use served::{ListedSkill, SkillCatalog};

/// The longest description that hosts are ready for, in characters.
const LONGEST_DESCRIPTION: usize = 1024;

/// Skills that a server offers: from a directory, or made in memory.
///
/// ```
/// use papertape::Server;
/// use papertape::server::{Skill, Skills};
///
/// let skills = Skills::new().skill(
///     Skill::new("release-notes", "Write release notes in the style of this project", "# How\n\nOne line per change.")
///         .file("references/EXAMPLE.md", "- Faster start"),
/// );
/// let server = Server::new("notes", "1.0.0").skills(skills);
/// server.check().unwrap();
/// ```
#[derive(Debug, Default)]
pub struct Skills {
    skills: Vec<Skill>,
    problem: Option<SetupError>,
}

impl Skills {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All skills below a directory: wherever there is a `SKILL.md`, with the files beside and below it.
    ///
    /// They are read now, and not again. What is hidden (`.git`, `.env`) is left out, and a symbolic link that leads out of the
    /// directory is refused. Problems are reported when the server starts.
    #[must_use]
    pub fn folder(path: impl AsRef<Path>) -> Self {
        match folder::read(path.as_ref()) {
            Ok(skills) => Self { skills, problem: None },
            Err(problem) => Self { skills: Vec::new(), problem: Some(problem) },
        }
    }

    /// Adds a skill.
    #[must_use]
    pub fn skill(mut self, skill: Skill) -> Self {
        self.skills.push(skill);
        self
    }
}

/// A skill: a `SKILL.md` and the files that belong to it.
///
/// Problems are reported when the server starts.
///
/// ```
/// use papertape::server::Skill;
///
/// let skill = Skill::new("refunds", "Give money back as our rules have it", "Read `references/RULES.md` first.")
///     .under("acme/billing")
///     .file("references/RULES.md", "- Within 30 days.");
/// ```
#[derive(Debug, Clone)]
pub struct Skill {
    /// The directories above its own.
    above: Vec<String>,
    text: Text,
    files: Vec<(String, File)>,
    scopes: Vec<String>,
}

/// What stands in a `SKILL.md`.
#[derive(Debug, Clone)]
enum Text {
    Whole(Vec<u8>),
    Parts { fields: Vec<(String, Value)>, body: String },
}

/// A file of a skill.
#[derive(Debug, Clone)]
struct File {
    mime_type: String,
    bytes: Arc<[u8]>,
    digest: String,
}

impl Skill {
    /// A skill with that name, what it is for (so that a model knows when to load it), and its instructions.
    ///
    /// The name has lowercase letters, digits and single hyphens.
    pub fn new(name: impl Into<String>, description: impl Into<String>, body: impl Into<String>) -> Self {
        let fields = vec![
            ("name".to_owned(), Value::String(name.into())),
            ("description".to_owned(), Value::String(description.into())),
        ];
        let text = Text::Parts { fields, body: body.into() };
        Self { above: Vec::new(), text, files: Vec::new(), scopes: Vec::new() }
    }

    /// A skill from the whole text of its `SKILL.md`, front matter and all.
    pub fn from_markdown(text: impl Into<String>) -> Self {
        Self::from_bytes(text.into().into_bytes())
    }

    fn from_bytes(bytes: Vec<u8>) -> Self {
        Self { above: Vec::new(), text: Text::Whole(bytes), files: Vec::new(), scopes: Vec::new() }
    }

    /// Another member of the front matter, such as `license`. It has no effect on [`Skill::from_markdown`].
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        if let Text::Parts { fields, .. } = &mut self.text {
            fields.push((name.into(), value.into()));
        }
        self
    }

    /// Sets the directories above that of the skill, such as `acme/billing`: `skill://acme/billing/NAME/SKILL.md`.
    #[must_use]
    pub fn under(mut self, folders: &str) -> Self {
        self.above = folders.split('/').map(str::to_owned).collect();
        self
    }

    /// Adds a file at a path below the skill's directory, such as `references/FORMS.md`. Its media type follows from its
    /// name.
    #[must_use]
    pub fn file(self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let (path, bytes) = (path.into(), bytes.into());
        let mime_type = mime_type(&path, &bytes);
        self.file_as(path, mime_type, bytes)
    }

    /// Adds a file with a media type, such as `image/png`.
    #[must_use]
    pub fn file_as(
        mut self,
        path: impl Into<String>,
        mime_type: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
    ) -> Self {
        self.files.push((path.into(), File::new(mime_type.into(), bytes.into())));
        self
    }

    /// The scopes that a principal needs to read its files. It is listed without them.
    ///
    /// On stdio, and on HTTP without authorization, scopes have no effect.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// The skill ready to be listed, or what is wrong with it.
    fn build(self) -> Result<Built, SetupError> {
        let called = self.called();
        self.check().map_err(|problem| SetupError::Skill { skill: called, problem })
    }

    fn check(self) -> Result<Built, String> {
        let manifest = match self.text {
            Text::Whole(bytes) => {
                String::from_utf8(bytes).map_err(|_| format!("{SKILL_FILE} is not UTF-8"))?
            }
            Text::Parts { fields, body } => write(&fields, &body),
        };
        let in_file = |problem: String| format!("{SKILL_FILE}: {problem}");
        let front_matter = front_matter::read(&manifest).map_err(in_file)?;
        let word = |member: &str| front_matter.get(member).and_then(Value::as_str).map(str::to_owned);
        let name = word("name").filter(|name| is_skill_name(name)).ok_or_else(|| {
            in_file(
                "`name` must be 1 to 64 lowercase letters, digits and single hyphens between them".to_owned(),
            )
        })?;
        let description =
            word("description").filter(|text| (1..=LONGEST_DESCRIPTION).contains(&text.chars().count()));
        let description = description.ok_or_else(|| {
            in_file(format!("`description` must be a text of 1 to {LONGEST_DESCRIPTION} characters"))
        })?;
        let mut path = self.above;
        path.push(name);
        if let Some(bad) = path.iter().find(|folder| !is_file_name(folder)) {
            return Err(format!("{} is not a valid directory name", excerpt(bad)));
        }
        let mut files = BTreeMap::new();
        files.insert(
            vec![SKILL_FILE.to_owned()],
            File::new("text/markdown".to_owned(), manifest.into_bytes()),
        );
        for (name, file) in self.files {
            let path: Vec<String> = name.split('/').map(str::to_owned).collect();
            if !path.iter().all(|name| is_file_name(name)) {
                return Err(format!("{} is not a relative path within the skill directory", excerpt(&name)));
            }
            if files.insert(path, file).is_some() {
                return Err(format!("the file {} is there twice", excerpt(&name)));
            }
        }
        Ok(Built { path, front_matter, description, files, scopes: self.scopes, middleware: Vec::new() })
    }

    /// What it is called when something is wrong with it.
    fn called(&self) -> String {
        let mut path = self.above.clone();
        if let Text::Parts { fields, .. } = &self.text {
            path.extend(fields.first().and_then(|(_, name)| name.as_str()).map(str::to_owned));
        }
        if path.is_empty() { SKILL_FILE.to_owned() } else { path.join("/") }
    }
}

impl File {
    fn new(mime_type: String, bytes: Vec<u8>) -> Self {
        Self { mime_type, digest: digest(&bytes), bytes: bytes.into() }
    }

    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// A skill that can be served.
#[derive(Debug, Clone)]
struct Built {
    /// The directories that lead to it, the last of which has its name.
    path: Vec<String>,
    front_matter: serde_json::Map<String, Value>,
    description: String,
    /// By the path below its directory.
    files: BTreeMap<Vec<String>, File>,
    scopes: Vec<String>,
    /// The middleware of the servers that it was mounted with.
    middleware: Vec<crate::server::handler::middleware::Middleware>,
}

impl Built {
    /// Whether every host will load it.
    fn check_size(&self) -> Result<(), SetupError> {
        let bytes: u64 = self.files.values().map(File::size).sum();
        let problem = if self.files.len() > MOST_SKILL_FILES {
            format!("it has more than {MOST_SKILL_FILES} files, skills within it included")
        } else if bytes > MOST_SKILL_BYTES {
            format!("its files have {bytes} bytes, and more than {MOST_SKILL_BYTES} are too many")
        } else {
            return Ok(());
        };
        Err(SetupError::Skill { skill: self.path.join("/"), problem })
    }
}

/// A `SKILL.md`: JSON is YAML too, and needs no thought about what must be quoted.
fn write(fields: &[(String, Value)], body: &str) -> String {
    let mut text = "---\n".to_owned();
    for (name, value) in fields {
        let name = if is_skill_name(name) { name.clone() } else { Value::from(name.as_str()).to_string() };
        text.push_str(&format!("{name}: {value}\n"));
    }
    text.push_str("---\n\n");
    text.push_str(body);
    text
}

fn is_file_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\\', '\0'])
}
