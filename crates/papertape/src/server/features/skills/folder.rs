//! A directory on disk to the skills in it.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::Skill;
use crate::protocol::skills::{MOST_SKILL_BYTES, MOST_SKILL_FILES, SKILL_FILE};
use crate::server::handler::error::SetupError;

/// Directories inside each other. A link to a directory above it ends here, too.
const MOST_DEPTH: usize = 32;

/// Files and directories that are looked at.
const MOST_ENTRIES: usize = 64 * 1024;

/// A directory that has a `SKILL.md`, by the names that lead to it.
#[derive(Default)]
struct SkillDirectory {
    files: Vec<(Vec<String>, PathBuf)>,
}

/// Looks for skills; reads nothing yet.
struct Search {
    /// Without symbolic links, so that a path can be checked to be inside.
    root: PathBuf,
    found: BTreeMap<Vec<String>, SkillDirectory>,
    entries: usize,
}

pub(crate) fn read(folder: &Path) -> Result<Vec<Skill>, SetupError> {
    let root = fs::canonicalize(folder).map_err(|error| problem(folder, error.to_string()))?;
    let mut search = Search { root: root.clone(), found: BTreeMap::new(), entries: 0 };
    search.look(&root, &mut Vec::new(), None)?;
    if search.found.is_empty() {
        return Err(problem(folder, format!("there is no {SKILL_FILE} in it, nor in the directories below")));
    }
    search.found.into_iter().map(|(path, found)| load(&root, &path, found)).collect()
}

impl Search {
    /// `path` are the names that lead from the root to this directory, `skill` those to the skill it belongs to.
    fn look(
        &mut self,
        folder: &Path,
        path: &mut Vec<String>,
        skill: Option<&Vec<String>>,
    ) -> Result<(), SetupError> {
        if path.len() > MOST_DEPTH {
            let what =
                format!("directories are deeper than {MOST_DEPTH}; is there a link to a directory above it?");
            return Err(problem(folder, what));
        }
        let entries = self.entries(folder)?;
        let is_skill = entries.iter().any(|(name, _, metadata)| name == SKILL_FILE && metadata.is_file());
        let own = is_skill.then(|| path.clone());
        let skill = own.as_ref().or(skill);
        for (name, place, metadata) in entries {
            path.push(name);
            if metadata.is_dir() {
                self.look(&place, path, skill)?;
            } else if let Some(skill) = skill {
                if !metadata.is_file() {
                    return Err(problem(&place, "it is neither a file nor a directory".to_owned()));
                }
                let below = path.iter().skip(skill.len()).cloned().collect();
                let found = self.found.entry(skill.clone()).or_default();
                found.files.push((below, place));
                if found.files.len() > MOST_SKILL_FILES {
                    return Err(problem(folder, format!("the skill has more than {MOST_SKILL_FILES} files")));
                }
            }
            path.pop();
        }
        Ok(())
    }

    /// What is in a directory, in the order of names, but for what is hidden.
    fn entries(&mut self, folder: &Path) -> Result<Vec<(String, PathBuf, Metadata)>, SetupError> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder).map_err(|error| problem(folder, error.to_string()))? {
            let entry = entry.map_err(|error| problem(folder, error.to_string()))?;
            let place = entry.path();
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return Err(problem(folder, format!("more than {MOST_ENTRIES} files and directories")));
            }
            let Ok(name) = entry.file_name().into_string() else {
                return Err(problem(&place, "its name is not UTF-8".to_owned()));
            };
            if name.starts_with('.') {
                continue;
            }
            let inside = fs::canonicalize(&place).map_err(|error| problem(&place, error.to_string()))?;
            if !inside.starts_with(&self.root) {
                return Err(problem(&place, "the link leads out of the directory of skills".to_owned()));
            }
            let metadata = fs::metadata(&inside).map_err(|error| problem(&place, error.to_string()))?;
            entries.push((name, inside, metadata));
        }
        entries.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        Ok(entries)
    }
}

/// Reads the files of a skill.
fn load(root: &Path, path: &[String], found: SkillDirectory) -> Result<Skill, SetupError> {
    let mut left = MOST_SKILL_BYTES;
    let mut manifest = Vec::new();
    let mut files = Vec::new();
    for (below, place) in found.files {
        let bytes = read_file(&place, left)?;
        left = left.saturating_sub(bytes.len() as u64);
        match &below[..] {
            [only] if only == SKILL_FILE => manifest = bytes,
            _ => files.push((below.join("/"), bytes)),
        }
    }
    let mut skill = Skill::from_bytes(manifest);
    for (name, bytes) in files {
        skill = skill.file(name, bytes);
    }
    if let Some((last, above)) = path.split_last() {
        skill.above = above.to_vec();
        let place = path.iter().fold(root.to_owned(), |place, name| place.join(name));
        let built = skill.clone().check().map_err(|what| problem(&place, what))?;
        if built.path.last() != Some(last) {
            let name = built.path.last().map_or("", String::as_str);
            return Err(problem(
                &place,
                format!("the directory must have the name of the skill, \"{name}\""),
            ));
        }
    } else {
        skill.clone().check().map_err(|what| problem(root, what))?;
    }
    Ok(skill)
}

/// At most so many bytes of a file.
fn read_file(place: &Path, most: u64) -> Result<Vec<u8>, SetupError> {
    let mut bytes = Vec::new();
    let read = fs::File::open(place).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    read.map_err(|error| problem(place, error.to_string()))?;
    if bytes.len() as u64 > most {
        return Err(problem(
            place,
            format!("the files of the skill have more than {MOST_SKILL_BYTES} bytes"),
        ));
    }
    Ok(bytes)
}

fn problem(place: &Path, problem: String) -> SetupError {
    SetupError::Skill { skill: place.display().to_string(), problem }
}
