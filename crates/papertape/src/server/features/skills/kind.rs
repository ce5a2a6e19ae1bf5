//! The name and the bytes of a file to what it holds.

/// What a file holds, by the end of its name; what is not known is text if it reads as such.
pub(crate) fn mime_type(path: &str, bytes: &[u8]) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let end = name.rsplit_once('.').map_or(String::new(), |(_, end)| end.to_ascii_lowercase());
    let known = match end.as_str() {
        "md" | "markdown" => "text/markdown",
        "txt" => "text/plain",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "xml" => "application/xml",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "py" => "text/x-python",
        "sh" => "text/x-shellscript",
        _ if is_text(bytes) => "text/plain",
        _ => "application/octet-stream",
    };
    known.to_owned()
}

/// Whether bytes go to a client as text: what JSON would have to escape all over goes as base64.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    let control = |byte: &u8| *byte < b' ' && !b"\t\n\r\x0c".contains(byte);
    std::str::from_utf8(bytes).is_ok() && !bytes.iter().any(control)
}

#[cfg(test)]
mod tests {
    use super::{is_text, mime_type};

    #[test]
    fn the_file_name_decides_before_the_bytes() {
        for (path, bytes, kind) in [
            ("a.md", &b""[..], "text/markdown"),
            ("a.b/PICTURE.PNG", b"\0", "image/png"),
            ("a.json/b", b"text", "text/plain"),
            ("Makefile", b"all:\n\tcc", "text/plain"),
            ("main.ts", b"let x", "text/plain"),
            ("main.ts", b"\0\x47", "application/octet-stream"),
            ("data", b"\xff", "application/octet-stream"),
        ] {
            assert_eq!(mime_type(path, bytes), kind, "{path}");
        }
    }

    #[test]
    fn text_is_what_json_can_carry_without_growing() {
        assert!(is_text("é\t\r\n".as_bytes()) && is_text(b""));
        assert!(!is_text(b"a\0") && !is_text(b"\x1b[1m") && !is_text(b"\xe9"));
    }
}
