use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex};

use papertape::wire::tape::Entry;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

use super::{ReadProblem, Reader};

/// A file that grows.
#[derive(Clone, Default)]
struct Growing(Arc<Mutex<(Vec<u8>, usize)>>);

impl Growing {
    fn append(&self, text: &str) {
        self.0.lock().unwrap().0.extend_from_slice(text.as_bytes());
    }
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (bytes, at) = &mut *self.0.lock().unwrap();
        let count = (&bytes[*at..]).read(buffer)?;
        *at += count;
        Ok(count)
    }
}

#[test]
fn a_growing_tape_is_followed() {
    let file = Growing::default();
    let mut reader = Reader::new(io::BufReader::new(file.clone()));
    assert!(reader.next().is_none() && reader.cut().is_none() && !reader.has_begun());
    file.append("papertape");
    assert!(reader.next().is_none());
    assert_eq!(reader.cut(), Some(0));
    file.append(" 1\n# a\n1 > - li");
    let line = reader.next().unwrap().unwrap();
    assert_eq!((line.number, line.offset, line.entry), (2, 12, Entry::Comment("# a".to_owned())));
    assert!(reader.next().is_none() && reader.has_begun());
    assert_eq!((reader.cut(), reader.offset()), (Some(16), 16));
    file.append("ne {}\n");
    let line = reader.next().unwrap().unwrap();
    assert_eq!((line.number, line.offset), (3, 16));
    assert_eq!(line.record().unwrap().as_frame().unwrap().1, b"{}\n");
    assert!(reader.next().is_none() && reader.cut().is_none());
}

#[test]
fn what_is_not_a_tape_is_an_error_once() {
    for text in ["{}\n1 > - line {}\n", "papertape 2\n", "\n", "\u{feff}papertape 1\n"] {
        let mut reader = Reader::new(text.as_bytes());
        let error = reader.next().unwrap().unwrap_err();
        assert_eq!((error.line, error.offset), (1, 0));
        assert!(matches!(error.problem, ReadProblem::NotATape), "{error}");
        assert!(reader.next().is_none() && reader.cut().is_none());
    }
}

#[test]
fn a_broken_line_is_named_and_the_next_one_read() {
    let text = b"papertape 1\nx\n1 > - line a\xff\n1 > - line aaaaaaaaaaaaaaaaaaaaa\n2 > - line b\n3 > - li";
    let mut reader = Reader::new(io::BufReader::with_capacity(3, &text[..])).longest_line(20);
    let mut errors = Vec::new();
    let mut lines = Vec::new();
    for line in &mut reader {
        match line {
            Ok(line) => lines.push((line.number, line.offset)),
            Err(error) => errors.push((error.offset, error.to_string())),
        }
    }
    assert_eq!(lines, [(5, 61)]);
    assert_eq!(
        errors,
        [
            (12, "line 2: \"x\" is not a frame number".to_owned()),
            (14, "line 3: it is not UTF-8: invalid byte at offset 12".to_owned()),
            (28, "line 4: it is longer than the limit of 20 bytes".to_owned()),
        ]
    );
    assert_eq!(reader.cut(), Some(74));
}

#[test]
fn the_first_line_is_not_counted_twice() {
    let error = Reader::new(&b"papertape 1\nx\n"[..]).next().unwrap().unwrap_err();
    assert_eq!((error.line, error.offset), (2, 12));
}

#[test]
fn reading_goes_on_at_an_offset() {
    let text = b"papertape 1\n# a\n1 > - line {}\n";
    let mut reader = Reader::resume(&text[16..], 16, 2);
    let line = reader.next().unwrap().unwrap();
    assert_eq!((line.number, line.offset), (3, 16));
}

#[test]
fn an_input_that_fails_ends_the_tape() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("no disk"))
        }
    }
    let mut reader = Reader::new(io::BufReader::new(Failing));
    assert_eq!(reader.next().unwrap().unwrap_err().to_string(), "line 1: cannot read it: no disk");
    assert!(reader.next().is_none());
}

proptest! {
    #[test]
    fn any_bytes_are_entries_or_errors_with_a_line(text in any::<Vec<u8>>(), size in 1usize..9) {
        let bytes = [b"papertape 1\n", &text[..]].concat();
        let mut reader = Reader::new(io::BufReader::with_capacity(size, &bytes[..]));
        let mut next = (2, 12);
        for line in &mut reader {
            let at = match line {
                Ok(line) => (line.number, line.offset),
                Err(error) => (error.line, error.offset),
            };
            prop_assert_eq!(at, next);
            let rest = &bytes[usize::try_from(at.1).unwrap()..];
            let length = rest.skip_until_newline();
            next = (at.0 + 1, at.1 + length as u64);
        }
        prop_assert!(next.1 == bytes.len() as u64 || reader.cut() == Some(next.1));
    }
}

trait Lines {
    fn skip_until_newline(&self) -> usize;
}

impl Lines for [u8] {
    fn skip_until_newline(&self) -> usize {
        let mut rest = self;
        rest.skip_until(b'\n').unwrap()
    }
}
