//! Files in the directory of `--out`: bytes from a server never leave it, and never overwrite a file.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The longest name that is accepted from a server.
const LONGEST: usize = 80;

/// The most files of one name.
const MOST_ALIKE: usize = 10_000;

/// Writes a new file and returns its path. `name` and `mime_type` are the server's.
pub(crate) fn save(folder: &Path, name: &str, mime_type: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let (stem, extension) = parts(name, mime_type);
    for number in 1..=MOST_ALIKE {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("{stem}{number}.{extension}"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => return file.write_all(bytes).map(|()| path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("there are too many files named {stem}")))
}

/// A stem and an extension of letters, digits, `.`, `-` and `_` only.
fn parts(name: &str, mime_type: &str) -> (String, String) {
    // Of a URI, the last segment of its path.
    let name = name.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let name = name.rsplit(['/', '\\', ':']).next().unwrap_or_default();
    let clean = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
    let name: String = name.chars().take(LONGEST).map(clean).collect();
    let name = name.trim_matches(['.', '_']);
    let (stem, own) = match name.rsplit_once('.') {
        Some((stem, own)) if !stem.is_empty() && is_extension(own) => (stem, Some(own)),
        _ => (name, None),
    };
    let stem = if stem.is_empty() { "file" } else { stem };
    let extension = own.map_or_else(|| extension(mime_type), str::to_owned);
    (stem.to_owned(), extension)
}

fn is_extension(text: &str) -> bool {
    (1..=8).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// `image/svg+xml; charset=utf-8` to `svg`.
fn extension(mime_type: &str) -> String {
    let plain = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let known = match plain.as_str() {
        "image/jpeg" => "jpg",
        "image/svg+xml" => "svg",
        "image/x-icon" | "image/vnd.microsoft.icon" => "ico",
        "audio/mpeg" => "mp3",
        "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "wav",
        "audio/mp4" | "audio/x-m4a" => "m4a",
        "text/plain" => "txt",
        "text/markdown" => "md",
        "text/javascript" | "application/javascript" => "js",
        "application/gzip" => "gz",
        "application/x-tar" => "tar",
        other => match other.split_once('/') {
            Some((kind, subtype))
                if kind != "application" || matches!(subtype, "pdf" | "zip" | "json" | "xml") =>
            {
                subtype.strip_prefix("x-").unwrap_or(subtype)
            }
            _ => "bin",
        },
    };
    if is_extension(known) { known.to_owned() } else { "bin".to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};

    use super::{parts, save};

    #[test]
    fn names_are_sanitised() {
        for (name, mime_type, right) in [
            ("image-1", "image/png", ("image-1", "png")),
            ("image", "image/jpeg", ("image", "jpg")),
            ("image", "IMAGE/SVG+XML; charset=utf-8", ("image", "svg")),
            ("sound", "audio/x-wav", ("sound", "wav")),
            ("file:///a/b/photo.jpeg?size=1#top", "image/jpeg", ("photo", "jpeg")),
            ("file:///a/b/", "application/octet-stream", ("b", "bin")),
            ("../../etc/passwd", "text/plain", ("passwd", "txt")),
            ("..\\..\\x.exe", "", ("x", "exe")),
            ("C:autoexec.bat", "", ("autoexec", "bat")),
            (".bashrc", "", ("bashrc", "bin")),
            ("", "", ("file", "bin")),
            ("..", "a/..", ("file", "bin")),
            ("a b\n/\u{0}\u{1b}[2J日本", "image/../../x", ("2J日本", "bin")),
        ] {
            let (stem, extension) = parts(name, mime_type);
            assert_eq!((stem.as_str(), extension.as_str()), right, "{name:?} {mime_type:?}");
        }
    }

    #[test]
    fn existing_files_are_not_overwritten() {
        let folder = std::env::temp_dir().join(format!("papertape-save-{}", std::process::id()));
        let write = |bytes| save(&folder, "a.png", "image/png", bytes).unwrap();
        let (first, second) = (write(b"1"), write(b"2"));
        let read = |path| std::fs::read(path).unwrap();
        assert_eq!((read(&first), read(&second)), (b"1".to_vec(), b"2".to_vec()));
        assert_eq!((first, second), (folder.join("a.png"), folder.join("a-2.png")));
        std::fs::remove_dir_all(folder).unwrap();
    }

    proptest! {
        #[test]
        fn no_name_leaves_the_directory(name in any::<String>(), mime_type in any::<String>()) {
            let (stem, extension) = parts(&name, &mime_type);
            let file = format!("{stem}.{extension}");
            let mut components = std::path::Path::new(&file).components();
            prop_assert!(matches!(components.next(), Some(std::path::Component::Normal(_))));
            prop_assert!(components.next().is_none());
            prop_assert!(!file.starts_with('.') && file.chars().all(|c| !c.is_control() && c != '\\'));
        }
    }
}
