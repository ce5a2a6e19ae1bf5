//! Where a JSON object or array ends, looking at no byte twice.

/// Finds the end of an object or array whose text comes in parts.
#[derive(Debug, Default)]
pub(crate) struct JsonEnd {
    depth: u64,
    in_string: bool,
    escaped: bool,
}

impl JsonEnd {
    /// Looks at more of the text, and returns how much of it belongs to the value, if it ends there. White space may come first.
    pub(crate) fn feed(&mut self, text: &[u8]) -> Option<usize> {
        for (index, &byte) in text.iter().enumerate() {
            if self.escaped {
                self.escaped = false;
            } else if self.in_string {
                self.escaped = byte == b'\\';
                self.in_string = byte != b'"';
            } else {
                match byte {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => {
                        self.depth = self.depth.saturating_sub(1);
                        if self.depth == 0 {
                            return Some(index + 1);
                        }
                    }
                    _ => {}
                }
            }
        }
        None
    }
}

/// Whether the text is one object or array, with nothing but white space around it; it may be malformed within.
pub(crate) fn is_one_value(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    matches!(text.first(), Some(b'{' | b'[')) && JsonEnd::default().feed(text) == Some(text.len())
}

#[cfg(test)]
mod tests {
    use super::{JsonEnd, is_one_value};

    #[test]
    fn an_end_is_found_in_parts() {
        let text = br#" {"a":"}\"]","b":[{}]} {"#;
        assert_eq!(JsonEnd::default().feed(text), Some(text.len() - 2));
        for cut in 0..text.len() - 2 {
            let (head, tail) = text.split_at(cut);
            let mut end = JsonEnd::default();
            assert_eq!(end.feed(head), None);
            assert_eq!(end.feed(tail), Some(text.len() - 2 - cut));
        }
    }

    #[test]
    fn one_value_is_distinguished() {
        assert!(is_one_value(b"{}") && is_one_value(b" [1]\n"));
        assert!(!is_one_value(b"{}{}") && !is_one_value(b"1") && !is_one_value(b"") && !is_one_value(b"{"));
    }
}
