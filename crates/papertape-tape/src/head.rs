//! The head of an HTTP request or response, in its parts.

use std::borrow::Cow;

/// The lines of a head; what is not UTF-8 is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head<'a> {
    /// `POST /mcp HTTP/1.1` or `HTTP/1.1 200 OK`.
    pub first: Cow<'a, str>,
    /// Names and values, in their order.
    pub headers: Vec<(String, String)>,
}

impl<'a> Head<'a> {
    /// Reads a head. A line without a colon is a header without a value.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Self {
        let mut lines =
            bytes.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let first = String::from_utf8_lossy(lines.next().unwrap_or_default());
        let headers = lines.filter(|line| !line.is_empty()).map(|line| {
            let line = String::from_utf8_lossy(line);
            let (name, value) = line.split_once(':').unwrap_or((&line, ""));
            (name.trim().to_owned(), value.trim().to_owned())
        });
        Self { first, headers: headers.collect() }
    }

    /// The first value of a header, whose name may be in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let named = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str())
    }

    /// The three words of the first line; missing ones are empty.
    #[must_use]
    pub fn words(&self) -> (&str, &str, &str) {
        let mut words = self.first.splitn(3, ' ');
        (words.next().unwrap_or_default(), words.next().unwrap_or_default(), words.next().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::Head;

    #[test]
    fn heads_are_read() {
        let head = Head::read(b"POST /mcp HTTP/1.1\r\nHost: a:1\r\nACCEPT:x\r\nbad\r\n\r\n");
        assert_eq!(head.words(), ("POST", "/mcp", "HTTP/1.1"));
        assert_eq!(
            (head.header("host"), head.header("accept"), head.header("bad")),
            (Some("a:1"), Some("x"), Some(""))
        );
        assert_eq!(Head::read(b"HTTP/1.1 404 Not Found\r\n\r\n").words(), ("HTTP/1.1", "404", "Not Found"));
        assert_eq!(Head::read(b"").words(), ("", "", ""));
    }
}
