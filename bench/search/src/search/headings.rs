//! A directory's headings to queries with known relevant results: a heading is taken out of its file, and its section
//! looked for.

use std::collections::{BTreeMap, HashMap, HashSet};

use papertape_search::corpus::document::{self, Document};

use super::chunks::{Chunks, Query};
use super::links::says_enough;
use super::sample::sample;

/// How many headings are taken out of one file.
const FROM_EACH: usize = 2;

/// A heading, and the chunk it stood above.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) text: String,
    pub(crate) path: String,
    pub(crate) chunk: u32,
}

/// Files without some of their headings, and those headings.
#[derive(Debug, Default)]
pub(crate) struct HeldOut {
    /// Paths and what is left of the files.
    pub(crate) files: Vec<(String, String)>,
    pub(crate) headings: Vec<Heading>,
}

/// Takes at most `most` headings out, each of which stands in one file only and sums up a section.
pub(crate) fn hold_out(files: &[(String, String)], most: usize, seed: u64) -> HeldOut {
    let documents: Vec<Document> =
        files.iter().map(|(path, text)| document::read(path, text.as_bytes())).collect();
    let mut times: HashMap<String, usize> = HashMap::new();
    for document in &documents {
        let own = document.chunks.iter().filter_map(|section| own_heading(&section.text, &section.headings));
        let own: HashSet<String> = own.map(str::to_lowercase).collect();
        own.into_iter().for_each(|heading| *times.entry(heading).or_default() += 1);
    }
    let mut held = HeldOut::default();
    let all = files.iter().zip(&documents).collect();
    for ((path, text), document) in sample(all, usize::MAX, seed, |((path, _), _)| path) {
        if held.headings.len() >= most {
            break;
        }
        let mut left = text.clone();
        let mut from_this = Vec::new();
        for (section, chunk) in document.chunks.iter().zip(0_u32..) {
            let Some(heading) = own_heading(&section.text, &section.headings) else { continue };
            let is_one_of_a_kind = times.get(&heading.to_lowercase()) == Some(&1);
            if from_this.len() < FROM_EACH
                && is_one_of_a_kind
                && says_enough(heading)
                && section.plain.len() >= 40
            {
                let without = without(&left, &section.text);
                let as_before = |read: &Document| read.chunks.len() == document.chunks.len();
                if let Some(without) =
                    without.filter(|text| as_before(&document::read(path, text.as_bytes())))
                {
                    left = without;
                    from_this.push(Heading { text: heading.to_owned(), path: path.clone(), chunk });
                }
            }
        }
        if !from_this.is_empty() {
            held.files.push((path.clone(), left));
            held.headings.append(&mut from_this);
        }
    }
    held.headings.truncate(most);
    held
}

impl HeldOut {
    /// As queries for chunks of the directory without them.
    pub(crate) fn queries(&self, chunks: &Chunks) -> Vec<Query> {
        let queries = self.headings.iter().filter_map(|heading| {
            let number = chunks.of(&heading.path).nth(usize::try_from(heading.chunk).ok()?)?;
            Some(Query { ask: heading.text.clone(), relevant: HashSet::from([number]), ..Query::default() })
        });
        queries.collect()
    }
}

/// The headings of a directory that stand in one file only, as they are in it.
pub(crate) fn in_place(chunks: &Chunks) -> Vec<Query> {
    let mut sections: BTreeMap<&str, HashSet<usize>> = BTreeMap::new();
    for (number, chunk) in chunks.all.iter().enumerate() {
        if let Some(heading) =
            own_heading(&chunk.text, &chunk.headings).filter(|heading| says_enough(heading))
        {
            sections.entry(heading).or_default().insert(number);
        }
    }
    let path = |number: &usize| chunks.all.get(*number).map(|chunk| &chunk.path);
    sections.retain(|_, of| of.iter().map(path).collect::<HashSet<_>>().len() == 1);
    let query =
        |(heading, relevant): (&str, _)| Query { ask: heading.to_owned(), relevant, ..Query::default() };
    sections.into_iter().map(query).collect()
}

/// The heading that a chunk begins with.
fn own_heading<'a>(text: &str, headings: &'a [String]) -> Option<&'a str> {
    let line = text.trim_start().lines().next()?;
    let heading = headings.last()?;
    (line.starts_with('#') && line.contains(heading.as_str())).then_some(heading)
}

/// A file in which a section has its marks of a heading but no words after them: it is cut as before.
fn without(file: &str, section: &str) -> Option<String> {
    let section = section.trim_start();
    let line = section.lines().next()?;
    let marks: String = line.chars().take_while(|c| *c == '#').collect();
    let start = file.find(section)?;
    let (before, after) = file.split_at_checked(start)?;
    Some(format!("{before}{marks}{}", after.strip_prefix(line)?))
}

#[cfg(test)]
mod tests {
    use super::hold_out;

    #[test]
    fn a_heading_leaves_its_marks_behind() {
        let body = "Long enough to be found by something else than by what stands above it, is it not?";
        let text = format!("# Title\n\n{body}\n\n## How to do it\n\n{body}\n\n## See also\n\n{body}\n");
        let other = format!("# Other\n\n## See also\n\n{body}\n");
        let files = [("a.md".to_owned(), text), ("b.md".to_owned(), other)];
        let held = hold_out(&files, 10, 1);
        let found: Vec<_> =
            held.headings.iter().map(|heading| (heading.text.as_str(), heading.path.as_str())).collect();
        assert_eq!(found, [("How to do it", "a.md")]);
        assert!(held.files.iter().all(|(_, text)| !text.contains("How to")), "{held:?}");
    }
}
