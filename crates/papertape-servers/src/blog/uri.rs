//! The URIs of files: encoding of paths, and parsing of fragments.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The prefix of every URI.
const PREFIX: &str = "blog:///";

/// All characters but the unreserved ones of RFC 3986 and `/`.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The resource template (RFC 6570).
pub(super) const TEMPLATE: &str = "blog:///{+path}";

/// The URI of a file.
pub(super) fn of_file(path: &str) -> String {
    format!("{PREFIX}{}", utf8_percent_encode(path, ESCAPED))
}

/// The URL of a file on a site.
pub(super) fn below(base: &str, path: &str) -> String {
    format!("{}/{}", base.trim_end_matches('/'), utf8_percent_encode(path, ESCAPED))
}

/// The path and the chunk index of a decoded URI, if it has a `#chunkN`.
pub(super) fn chunk_of(decoded: &str) -> Option<(&str, u32)> {
    let (path, index) = decoded.rsplit_once("#chunk")?;
    let is_plain =
        index == "0" || (!index.starts_with('0') && index.bytes().all(|byte| byte.is_ascii_digit()));
    Some((path, index.parse().ok().filter(|_| is_plain)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn addresses_of_files_with_odd_names() {
        for (path, uri) in [
            ("a.md", "blog:///a.md"),
            ("notes/2024/a-b_c~d.md", "blog:///notes/2024/a-b_c~d.md"),
            ("año nuevo.md", "blog:///a%C3%B1o%20nuevo.md"),
            ("100%.md", "blog:///100%25.md"),
            ("a#chunk1", "blog:///a%23chunk1"),
            ("what?.md", "blog:///what%3F.md"),
            ("你好.md", "blog:///%E4%BD%A0%E5%A5%BD.md"),
            ("-rf $(x)\n", "blog:///-rf%20%24%28x%29%0A"),
        ] {
            assert_eq!(of_file(path), uri);
        }
    }

    #[test]
    fn a_chunk_is_named_behind_a_hash() {
        assert_eq!(chunk_of("a/b.md#chunk12"), Some(("a/b.md", 12)));
        assert_eq!(chunk_of("#chunk1#chunk0"), Some(("#chunk1", 0)));
        for none in
            ["a.md", "a.md#chunk", "a.md#chunk-1", "a.md#chunk+1", "a.md#chunk01", "a.md#chunk4294967296"]
        {
            assert_eq!(chunk_of(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn every_path_can_be_had_back(path in any::<String>(), index in any::<u32>()) {
            let uri = of_file(&path);
            prop_assert!(uri.is_ascii() && !uri.contains('#'));
            let encoded = uri.strip_prefix(PREFIX).unwrap();
            prop_assert_eq!(percent_encoding::percent_decode_str(encoded).decode_utf8().unwrap(), path.clone());
            let named = format!("{path}#chunk{index}");
            prop_assert_eq!(chunk_of(&named), Some((path.as_str(), index)));
        }
    }
}
