//! Text to the records that have it. A tape that grows is searched from where the last search ended.

use std::collections::{HashSet, VecDeque};
use std::io::{self, BufRead};
use std::sync::{Arc, Mutex};

use crate::segments::Segments;
use crate::sync::lock;

/// How many searches are kept.
const KEPT: usize = 4;

/// The last searches.
#[derive(Debug, Default)]
pub(crate) struct Searches(Mutex<VecDeque<Search>>);

#[derive(Debug, Clone)]
struct Search {
    text: String,
    /// Up to where it was searched.
    end: u64,
    found: Arc<HashSet<u64>>,
}

impl Searches {
    /// The numbers of the records that have the text, in any case of ASCII letters, as they stand on the tape.
    pub(crate) fn find(&self, segments: &Segments, text: &str, end: u64) -> io::Result<Arc<HashSet<u64>>> {
        let text = text.to_ascii_lowercase();
        let kept = lock(&self.0).iter().find(|search| search.text == text).cloned();
        let mut search = kept.unwrap_or_else(|| Search { text: text.clone(), end: 0, found: Arc::default() });
        if search.end < end {
            let more = matches(segments, text.as_bytes(), search.end, end)?;
            Arc::make_mut(&mut search.found).extend(more);
            search.end = end;
        }
        let found = Arc::clone(&search.found);
        let mut kept = lock(&self.0);
        kept.retain(|search| search.text != text);
        kept.push_front(search);
        kept.truncate(KEPT);
        Ok(found)
    }

    pub(crate) fn clear(&self) {
        lock(&self.0).clear();
    }
}

/// The numbers of the lines between two offsets that have the text after their fourth field.
fn matches(segments: &Segments, text: &[u8], from: u64, end: u64) -> io::Result<Vec<u64>> {
    let mut input = segments.reader(from);
    let finder = memchr::memmem::Finder::new(text);
    let (mut numbers, mut line, mut at) = (Vec::new(), Vec::new(), from);
    while at < end {
        line.clear();
        let taken = input.read_until(b'\n', &mut line)?;
        if taken == 0 {
            break;
        }
        at += taken as u64;
        line.make_ascii_lowercase();
        let mut fields = line.splitn(5, |byte| *byte == b' ');
        let Some(number) = fields.next().and_then(|number| std::str::from_utf8(number).ok()?.parse().ok())
        else {
            continue;
        };
        if fields.nth(3).is_some_and(|bytes| finder.find(bytes).is_some()) {
            numbers.push(number);
        }
    }
    Ok(numbers)
}
