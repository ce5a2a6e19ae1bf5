//! Which files pass a filter.

use papertape_search::store::{FileTerms, Filter, Query, Store};

use crate::support::{Folder, file, hits, lexical_query, open};

const FILES: [(&str, &str, &[&str]); 4] = [
    ("Guides/Ärger.md", "Über uns", &["Project/Alpha"]),
    ("guides/notes.md", "Notes", &["#project", "Rust"]),
    ("old/guides.md", "Old notes", &["projects"]),
    ("plain.md", "Plain", &[]),
];

fn terms(paths: &[&str], tags: &[&str], titles: &[&str]) -> FileTerms {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    FileTerms { paths: texts(paths), tags: texts(tags), titles: texts(titles) }
}

#[tokio::test]
async fn files_are_filtered_by_parts_of_paths_tags_and_titles() {
    let folder = Folder::new();
    let store = open(&folder.index());
    let mut writer = store.write().await.unwrap();
    for (path, title, tags) in FILES {
        let (mut record, entries) = file(path, "apples");
        record.title = title.to_owned();
        record.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        writer.put(record, entries).await.unwrap();
    }
    writer.commit().await.unwrap();
    let tag = |tag: &str| Filter { tag: Some(tag.to_owned()), ..Filter::default() };
    let all = |all_of| Filter { all_of, ..Filter::default() };
    let none = |none_of| Filter { none_of, ..Filter::default() };
    let table: [(Filter, &[usize]); 15] = [
        (tag("project"), &[0, 1]),
        (tag("#PROJECT/"), &[0, 1]),
        (tag("project/alpha"), &[0]),
        (tag("project/al"), &[]),
        (all(terms(&[], &["project", "rust"], &[])), &[1]),
        (none(terms(&[], &["project"], &[])), &[2, 3]),
        (all(terms(&["GUIDES"], &[], &[])), &[0, 1, 2]),
        (all(terms(&["/guides/"], &[], &[])), &[0, 1]),
        (all(terms(&["./guides/"], &[], &[])), &[0, 1]),
        (all(terms(&["guides", "ÄRGER"], &[], &[])), &[0]),
        (none(terms(&["guides/", "old"], &[], &[])), &[3]),
        (all(terms(&[], &[], &["über"])), &[0]),
        (none(terms(&[], &[], &["notes"])), &[0, 3]),
        (all(terms(&["%"], &[], &[])), &[]),
        (Filter { all_of: terms(&["guides"], &[], &[]), ..tag("rust") }, &[1]),
    ];
    for (filter, passing) in table {
        let query = Query { filter: filter.clone(), ..lexical_query("apples") };
        let mut found = hits(&store.search(&query).await.unwrap());
        found.sort_unstable();
        let right: Vec<String> = passing
            .iter()
            .filter_map(|number| FILES.get(*number))
            .map(|file| format!("{}#0", file.0))
            .collect();
        assert_eq!(found, right, "{filter:?}");
    }
}
