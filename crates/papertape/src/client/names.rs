//! Names as model APIs accept them: `^[a-zA-Z0-9_-]{1,64}$`.

use sha2::{Digest, Sha256};

/// The maximum length of a name.
pub(crate) const LONGEST: usize = 64;

/// The length of a digest in a name, with the underscore before it.
const DIGEST: usize = 9;

/// Whether every character may stand in a name.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_allowed)
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// The beginning of a name, with other characters replaced by underscores.
pub(crate) fn replaced(name: &str, longest: usize) -> String {
    let allowed = |c: char| u8::try_from(c).ok().filter(|&byte| is_allowed(byte)).map_or('_', char::from);
    name.chars().take(longest).map(allowed).collect()
}

/// A name of at most `longest` characters that is `name` itself if that fits, and otherwise its beginning with a digest of
/// it. `taken` are names that it must not be.
pub(crate) fn fitted(name: &str, longest: usize, taken: impl Fn(&str) -> bool) -> String {
    if is_plain(name) && name.len() <= longest && !taken(name) {
        return name.to_owned();
    }
    let beginning = replaced(name, longest.saturating_sub(DIGEST));
    let mut number = 0_u64;
    loop {
        let fitted = format!("{beginning}_{}", digest(name, number));
        // Only a server that has searched for two names with one digest gets a second round.
        if !taken(&fitted) {
            return fitted;
        }
        number += 1;
    }
}

/// A short digest of a name, of which there are several.
fn digest(name: &str, number: u64) -> String {
    let digest = Sha256::new().chain_update(name).chain_update(number.to_le_bytes()).finalize();
    digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// A prefix of at most `longest` characters for the names of a server. The name of a server that is not ASCII is what of it
/// is ASCII, with a digest: otherwise names of one length in other scripts would be the same.
pub(crate) fn prefix(server: &str, longest: usize) -> String {
    if server.is_empty() {
        return "server".to_owned();
    }
    if server.is_ascii() {
        return replaced(server, longest);
    }
    let ascii: String = server.chars().filter(char::is_ascii).collect();
    let has_words = ascii.bytes().any(|byte| byte.is_ascii_alphanumeric());
    let beginning = if has_words { &ascii } else { "server" };
    format!("{}-{}", replaced(beginning, longest.saturating_sub(DIGEST)), digest(server, 0))
}

/// Whether [`fitted`] may have made this name of another one.
pub(crate) fn may_be_fitted(name: &str) -> bool {
    name.rsplit_once('_').is_some_and(|(_, hex)| {
        hex.len() == DIGEST - 1 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, fitted, is_plain, may_be_fitted, prefix};

    #[test]
    fn a_name_that_fits_is_kept() {
        for name in ["a", "get_weather-2", &"x".repeat(LONGEST)] {
            assert_eq!(fitted(name, LONGEST, |_| false), name);
        }
    }

    #[test]
    fn others_fit_and_differ() {
        let long = "x".repeat(LONGEST + 1);
        let names = ["", "a.b", "a/b", "a b", "é", "日本", long.as_str(), "a\u{0}b"];
        let mut seen = Vec::new();
        for name in names {
            let fit = fitted(name, LONGEST, |_| false);
            assert!(is_plain(&fit) && fit.len() <= LONGEST && may_be_fitted(&fit), "{fit}");
            assert_eq!(fit, fitted(name, LONGEST, |_| false), "deterministic");
            assert!(!seen.contains(&fit), "{fit}");
            seen.push(fit);
        }
        let taken = fitted("a.b", LONGEST, |_| false);
        assert_ne!(fitted("a.b", LONGEST, |name| name == taken), taken);
    }

    #[test]
    fn prefixes_of_names_in_other_scripts_differ() {
        assert_eq!(prefix("my server", 24), "my_server");
        assert_eq!(prefix("", 24), "server");
        for (name, beginning) in
            [("日本", "server-"), ("メモ", "server-"), ("заметки", "server-"), ("Köln-notes", "Kln-notes-")]
        {
            let one = prefix(name, 24);
            assert!(is_plain(&one) && one.len() <= 24 && one.starts_with(beginning), "{one}");
            assert_eq!(one, prefix(name, 24), "the same in every process");
        }
        assert_ne!(prefix("日本", 24), prefix("メモ", 24));
        assert_ne!(prefix("Köln", 24), prefix("Kàln", 24));
    }
}
