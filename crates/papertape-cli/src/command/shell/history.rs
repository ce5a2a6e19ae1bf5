//! The history of the shell: a file of lines that only its user can read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

/// How many lines are read, and kept when the file is shortened.
const MOST_LINES: usize = 1_000;

/// The longest line that is kept, in bytes.
const LONGEST: usize = 8 * 1024;

/// The size at which the file is shortened.
const MOST_BYTES: u64 = 512 * 1024;

/// The file. Shells that run at once append to it.
#[derive(Debug)]
pub(super) struct HistoryFile(PathBuf);

impl HistoryFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// The last lines, from the oldest on; none if there is no file.
    pub(super) fn load(&self) -> io::Result<Vec<String>> {
        let file = match File::open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let size = file.metadata()?.len();
        let mut bytes = Vec::new();
        file.take(2 * MOST_BYTES).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| is_kept(line)).collect();
        let last = lines.get(lines.len().saturating_sub(MOST_LINES)..).unwrap_or_default();
        if size > MOST_BYTES {
            self.shorten(last)?;
        }
        Ok(last.iter().map(|&line| line.to_owned()).collect())
    }

    /// Appends a line, unless it begins with a space, as in shells.
    pub(super) fn append(&self, line: &str) -> io::Result<()> {
        if !is_kept(line) {
            return Ok(());
        }
        if let Some(directory) = self.0.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.0)?;
        file.write_all(format!("{line}\n").as_bytes())
    }

    fn shorten(&self, lines: &[&str]) -> io::Result<()> {
        let new = self.0.with_extension(std::process::id().to_string());
        // Half of the limit, so that it is not reached again at once.
        let mut budget = usize::try_from(MOST_BYTES / 2).unwrap_or(usize::MAX);
        let fits = |line: &&&str| {
            let left = budget.checked_sub(line.len() + 1);
            left.inspect(|&left| budget = left).is_some()
        };
        let kept: Vec<&str> = lines.iter().rev().take_while(fits).copied().collect();
        let text: String = kept.iter().rev().flat_map(|line| [*line, "\n"]).collect();
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(text.as_bytes())?;
        fs::rename(new, &self.0)
    }
}

fn is_kept(line: &str) -> bool {
    !line.is_empty() && !line.starts_with(' ') && line.len() <= LONGEST && !line.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::{HistoryFile, MOST_BYTES, MOST_LINES};

    fn path(test: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("papertape-{test}-{}", std::process::id()));
        drop(fs::remove_dir_all(&directory));
        directory.join("data/history")
    }

    #[test]
    fn lines_are_kept_for_their_user_only() {
        let path = path("history");
        let file = HistoryFile::new(path.clone());
        assert!(file.load().unwrap().is_empty());
        for line in ["one", " a secret", "", "two\u{1b}", "é three"] {
            file.append(line).unwrap();
        }
        assert_eq!(file.load().unwrap(), ["one", "é three"]);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        fs::remove_dir_all(path.ancestors().nth(2).unwrap()).unwrap();
    }

    #[test]
    fn the_file_does_not_grow_without_bound() {
        let path = path("long-history");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let line = |number: usize| format!("{number} {}\n", "x".repeat(400));
        fs::write(&path, (0..1_400).map(line).collect::<String>()).unwrap();
        let file = HistoryFile::new(path.clone());
        let lines = file.load().unwrap();
        assert_eq!(lines.len(), MOST_LINES);
        assert!(lines.last().unwrap().starts_with("1399 "));
        assert!(fs::metadata(&path).unwrap().len() <= MOST_BYTES / 2);
        assert!(file.load().unwrap().last().unwrap().starts_with("1399 "));
        fs::remove_dir_all(path.ancestors().nth(2).unwrap()).unwrap();
    }
}
