//! `read_chunk` with what is around a passage, `list_files` and `list_tags`.

use papertape::Client;
use papertape::protocol::{Content, Revision};
use serde_json::{Value, json};

use super::{call, failure, modern, open, options, text, three_languages, write};
use crate::scratch;

/// A file of three sections, the second of which has two more below it, each long enough to be a passage.
fn sections() -> [String; 5] {
    let part = |heading: &str, word: &str| format!("{heading}\n\n{}\n\n", format!("{word} ").repeat(40));
    [
        part("# Guide", "intro"),
        part("## Install", "install"),
        part("### Linux", "linux"),
        part("### macOS", "macos"),
        part("## Use", "use"),
    ]
}

async fn structured(client: &Client, tool: &str, arguments: Value) -> Value {
    let result = call(client, tool, arguments.clone()).await;
    assert!(!result.is_error, "{arguments}: {result:?}");
    result.structured_content.unwrap().to_value().unwrap()
}

fn place(index: u64, more: &Value) -> Value {
    let mut place = json!({ "source": "a/guide.md", "chunk_index": index });
    place.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    place
}

#[tokio::test]
async fn a_passage_is_read_with_what_is_around_it() {
    let folder = scratch("blog_around");
    write(&folder, "a/guide.md", &sections().concat());
    for revision in Revision::ALL {
        let client = open(options(&folder), revision).await;
        for (index, more, first, last) in [
            (2, json!({}), 2, 2),
            (2, json!({ "before": 1 }), 1, 2),
            (2, json!({ "before": 10, "after": 1 }), 0, 3),
            (2, json!({ "whole": "section" }), 2, 2),
            (1, json!({ "whole": "section" }), 1, 3),
            (4, json!({ "whole": "section" }), 4, 4),
            (3, json!({ "whole": "file" }), 0, 4),
            (3, json!({ "whole": null, "before": 0 }), 3, 3),
        ] {
            let result = call(&client, "read_chunk", place(index, &more)).await;
            assert!(!result.is_error, "{more}: {result:?}");
            let right = sections()[first..=last].concat();
            // As it stands in the file, for a model to read.
            assert_eq!(text(&result), right, "{index} {more}");
            if revision.has_structured_output() {
                let found = result.structured_content.unwrap().to_value().unwrap();
                assert_eq!(found["text"], right);
                assert_eq!(
                    (&found["first_chunk"], &found["last_chunk"]),
                    (&json!(first), &json!(last)),
                    "{more}"
                );
                assert_eq!(
                    (&found["source"], &found["uri"]),
                    (&json!("a/guide.md"), &json!("blog:///a/guide.md"))
                );
                assert_eq!((&found["title"], &found["chunks"]), (&json!("Guide"), &json!(5)));
                // Each part has three lines of text or headings and a blank one.
                assert_eq!(
                    (&found["start_line"], &found["end_line"]),
                    (&json!(first * 4 + 1), &json!(last * 4 + 3))
                );
                assert_eq!(found.get("more"), None);
            }
        }
    }
    let client = modern(&folder).await;
    let linux = structured(&client, "read_chunk", place(2, &json!({}))).await;
    assert_eq!(linux["headings"], json!(["Install", "Linux"]));
    for more in [json!({ "whole": "file", "before": 1 }), json!({ "whole": "section", "after": 2 })] {
        let said = failure(&client, "read_chunk", place(0, &more)).await;
        assert!(said.contains("before and after") && said.contains("whole"), "{said}");
    }
    let said = failure(&client, "read_chunk", place(9, &json!({ "whole": "file" }))).await;
    assert_eq!(said, "Not found: a/guide.md#chunk9. The nearest there is: a/guide.md#chunk4");
}

#[tokio::test]
async fn a_long_file_is_read_on_where_the_result_says() {
    let folder = scratch("blog_long");
    let sections: Vec<String> =
        (0..300).map(|number| format!("# Part {number}\n\n{}\n\n", "word ".repeat(200))).collect();
    let whole = sections.concat();
    write(&folder, "a/guide.md", &whole);
    let client = modern(&folder).await;
    let (mut read, mut next, mut calls) = (String::new(), Some(0), 0);
    while let Some(index) = next {
        let result = call(&client, "read_chunk", place(index, &json!({ "whole": "file" }))).await;
        let found = result.structured_content.unwrap().to_value().unwrap();
        let part = found["text"].as_str().unwrap();
        assert!(part.len() <= 64 * 1024, "{}", part.len());
        read.push_str(part);
        let more = found["more"].as_str().unwrap();
        // A client that reads text alone is told, too.
        let [Content::Text(first), Content::Text(second)] = result.content.as_slice() else {
            panic!("{found}")
        };
        assert_eq!((first.text.as_str(), second.text.as_str()), (part, format!("[{more}]").as_str()));
        next = more.rsplit_once("it goes on at chunk_index ").map(|(_, next)| next.parse().unwrap());
        calls += 1;
    }
    assert_eq!(read, whole);
    assert!((5..=7).contains(&calls), "{calls}");
}

fn sources(list: &Value) -> Vec<&str> {
    list["files"].as_array().unwrap().iter().map(|file| file["source"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn files_and_tags_are_listed() {
    let folder = three_languages("blog_list");
    write(&folder, "notas/plan.md", "---\ndate: 2024-05-01\ntags: [project/alpha, garden]\n---\nA plan.\n");
    write(&folder, "empty.md", "");
    let client = modern(&folder).await;
    let all = structured(&client, "list_files", json!({})).await;
    assert_eq!(sources(&all), ["notas/plan.md", "bees.md", "notas/huerto nuevo.md", "猫.md"]);
    assert_eq!((&all["total"], all.get("next_offset")), (&json!(4), None));
    let bees = &all["files"][1];
    assert_eq!((&bees["title"], &bees["date"]), (&json!("Keeping bees"), &json!("2024-03-01")));
    assert_eq!((&bees["tags"], &bees["size"]), (&json!(["Garden", "animals"]), &json!(super::INSTALL.len())));
    for (arguments, right) in [
        (json!({ "sort": "path", "limit": 2 }), &["bees.md", "notas/huerto nuevo.md"][..]),
        (json!({ "sort": "path", "limit": 2, "offset": 2 }), &["notas/plan.md", "猫.md"]),
        (json!({ "tag": "project" }), &["notas/plan.md"]),
        (json!({ "tag": "GARDEN" }), &["notas/plan.md", "bees.md"]),
        (json!({ "path_prefix": "./notas/", "tag": null }), &["notas/plan.md", "notas/huerto nuevo.md"]),
        (json!({ "until": "2024-04-30" }), &["bees.md"]),
        (json!({ "since": "2024-04-30", "path_prefix": "b" }), &[]),
    ] {
        assert_eq!(
            sources(&structured(&client, "list_files", arguments.clone()).await),
            right,
            "{arguments}"
        );
    }
    let said = failure(&client, "list_files", json!({ "since": "2024-02-31" })).await;
    assert!(said.contains("2024-02-31") && said.contains("not a day"), "{said}");
    // What is listed can be read.
    let read = json!({ "source": sources(&all)[2], "chunk_index": 0, "whole": "file" });
    assert_eq!(text(&call(&client, "read_chunk", read).await), super::SPANISH);

    let tags = structured(&client, "list_tags", json!({})).await;
    let counts: Vec<(&str, u64)> = tags["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| (tag["tag"].as_str().unwrap(), tag["files"].as_u64().unwrap()))
        .collect();
    assert_eq!(counts, [("Garden", 2), ("animals", 1), ("project", 1), ("project/alpha", 1)]);
    let page = structured(&client, "list_tags", json!({ "limit": 1, "offset": 1 })).await;
    assert_eq!((&page["tags"][0]["tag"], &page["next_offset"]), (&json!("animals"), &json!(2)));
}
