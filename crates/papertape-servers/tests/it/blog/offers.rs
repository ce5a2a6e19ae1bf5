//! Files as resources, completion on their paths, and the prompt.

use papertape::Client;
use papertape::client::{ListEntry, SubscriptionFilter};
use papertape::protocol::Content;
use papertape::protocol::{Reference, ResourceDefinition, Revision, Role};
use papertape::server::Warning;
use serde_json::{Map, json};

use super::{SPANISH, modern, open, options, three_languages, write};
use crate::{refusal, scratch};

/// The resources, once there are so many: a server may respond before it has opened its index.
async fn list(client: &Client, count: usize) -> Vec<ListEntry<ResourceDefinition>> {
    let mut changes = client.listen(SubscriptionFilter::new().resources()).await.unwrap();
    loop {
        let listed = client.resources().await.unwrap();
        if listed.len() >= count {
            return listed;
        }
        changes.next().await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn every_file_is_a_resource() {
    let folder = three_languages("blog_resources");
    for revision in Revision::ALL {
        let client = open(options(&folder), revision).await;
        let listed = list(&client, 3).await;
        let uris: Vec<&str> = listed.iter().map(|one| one.item.uri.as_str()).collect();
        assert_eq!(uris, ["blog:///bees.md", "blog:///notas/huerto%20nuevo.md", "blog:///%E7%8C%AB.md"]);
        let garden = &listed[1].item;
        assert_eq!(garden.name, "notas/huerto nuevo.md");
        assert_eq!(garden.title.as_deref(), revision.has_structured_output().then_some("El huerto"));
        assert_eq!(garden.mime_type.as_deref(), Some("text/markdown"));
        assert_eq!(garden.size, Some(SPANISH.len() as u64));
        let hints = garden.annotations.as_ref().unwrap();
        assert_eq!(hints.audience, [Role::User, Role::Assistant]);
        if let Some(time) = &hints.last_modified {
            assert!(time.starts_with("20") && time.ends_with('Z'), "{time}");
        }
        for uri in [garden.uri.as_str(), "blog:///notas/huerto nuevo.md", "blog:///notas%2Fhuerto%20nuevo.md"]
        {
            let read = client.read(uri).await.unwrap();
            assert_eq!((read.len(), read[0].text.as_deref()), (1, Some(SPANISH)), "{uri}");
            assert_eq!((read[0].uri.as_str(), read[0].mime_type.as_deref()), (uri, Some("text/markdown")));
        }
        let chunk = client.read("blog:///%E7%8C%AB.md#chunk0").await.unwrap();
        assert!(chunk[0].text.as_ref().unwrap().starts_with("# 养猫指南"), "{chunk:?}");
    }
}

#[tokio::test]
async fn a_text_that_is_not_markdown_is_plain() {
    let folder = scratch("blog_media_types");
    for name in ["a.md", "b.txt", "c.rst", "d.html"] {
        write(&folder, name, "about otters\n");
    }
    let client = modern(&folder).await;
    let listed = list(&client, 4).await;
    let types: Vec<_> = listed.iter().map(|one| one.item.mime_type.as_deref().unwrap()).collect();
    let right = ["text/markdown", "text/plain", "text/plain", "text/markdown"];
    assert_eq!(types, right);
    for (name, media_type) in ["a.md", "b.txt", "c.rst", "d.html"].into_iter().zip(right) {
        for uri in [format!("blog:///{name}"), format!("blog:///{name}#chunk0")] {
            let read = client.read(&uri).await.unwrap();
            assert_eq!(read[0].mime_type.as_deref(), Some(media_type), "{uri}");
        }
    }
}

#[tokio::test]
async fn paths_are_completed() {
    let folder = scratch("blog_completion");
    for number in 0..150 {
        write(&folder, &format!("a/{number:03}.md"), "x");
    }
    write(&folder, "B/über.md", "x");
    let client = modern(&folder).await;
    let template = || Reference::Resource { uri: "blog:///{+path}".into() };
    for (typed, right) in
        [("a/07", &["a/070.md", "a/071.md"][..]), ("b/", &["B/über.md"]), ("nowhere", &[]), ("../", &[])]
    {
        let completion = client.complete(template(), "path", typed, Map::new()).await.unwrap();
        let values: Vec<&str> =
            completion.values.iter().map(String::as_str).take(right.len().max(1)).collect();
        assert_eq!(values, right, "{typed}");
    }
    let all = client.complete(template(), "path", "a/", Map::new()).await.unwrap();
    assert_eq!((all.values.len(), all.has_more), (100, true));
}

#[tokio::test]
async fn the_prompt_has_the_passages_that_may_answer_it() {
    let folder = three_languages("blog_prompt");
    for revision in Revision::ALL {
        let client = open(options(&folder), revision).await;
        let listed = client.prompts().await.unwrap();
        assert_eq!((listed.len(), listed[0].item.name.as_str()), (1, "answer_from_blog"));
        let question = "Where should a hive stand?";
        let arguments = json!({ "question": question }).as_object().cloned().unwrap();
        let filled = client.prompt("answer_from_blog", arguments).await.unwrap();
        assert_eq!(Warning::of_prompt("answer_from_blog", &filled), []);
        let [message] = filled.messages.as_slice() else { panic!("{filled:?}") };
        let Content::Text(request) = &message.content else { panic!("{message:?}") };
        let request = &request.text;
        assert!(request.starts_with(question) && request.contains("[SOURCE#chunkN]"), "{request}");
        // Whole, because some hosts read nothing but this text.
        let (_, found) = request.split_once("[bees.md#chunk").unwrap();
        let (number, _) = found.split_once(']').unwrap();
        let passage = client.read(&format!("blog:///bees.md#chunk{number}")).await.unwrap();
        let passage = passage[0].text.as_ref().unwrap();
        assert!(passage.contains("morning sun"), "{passage}");
        assert!(request.contains(&format!("<passage>\n{}\n</passage>", passage.trim_end())), "{request}");

        let arguments = json!({ "question": "zzzzqqqq" }).as_object().cloned().unwrap();
        let filled = client.prompt("answer_from_blog", arguments).await.unwrap();
        let [message] = filled.messages.as_slice() else { panic!("{filled:?}") };
        assert!(format!("{message:?}").contains("found nothing"), "{message:?}");
    }
}

#[tokio::test]
async fn thousands_of_files_are_listed_page_by_page() {
    let folder = scratch("blog_thousands");
    for number in 0..2_500 {
        let path = folder.join(format!("{number}.md"));
        std::fs::write(path, format!("# {number}\n\nnote number {number}\n")).unwrap();
    }
    let client = modern(&folder).await;
    assert_eq!(list(&client, 2_500).await.len(), 2_500);
    assert_eq!(super::sources(&client, super::query("number 1777")).await[0], "1777.md");
}

#[tokio::test]
async fn what_has_nothing_to_read_is_not_listed() {
    let folder = three_languages("blog_nothing_to_read");
    write(&folder, "empty.md", "");
    write(&folder, "head.md", "---\ntitle: Nothing below\n---\n");
    std::fs::write(folder.join("binary.md"), b"\x7fELF\0words\0").unwrap();
    let client = modern(&folder).await;
    let listed = list(&client, 3).await;
    let names: Vec<&str> = listed.iter().map(|one| one.item.name.as_str()).collect();
    assert_eq!(names, ["bees.md", "notas/huerto nuevo.md", "猫.md"]);
    let template = Reference::Resource { uri: "blog:///{+path}".into() };
    let completed = client.complete(template, "path", "", Map::new()).await.unwrap();
    assert_eq!(completed.values, names);
    // It can be read by its URI, and is empty.
    assert_eq!(client.read("blog:///empty.md").await.unwrap()[0].text.as_deref(), Some(""));
}

#[tokio::test]
async fn a_missing_resource_is_an_error_that_suggests_the_nearest() {
    let client = modern(&three_languages("blog_nearest_resource")).await;
    for (uri, expected) in [
        ("blog:///bee.md", "there is no file \"bee.md\". The nearest there is: blog:///bees.md"),
        ("blog:///bee.md#chunk0", "there is no file \"bee.md\". The nearest there is: blog:///bees.md"),
        (
            "blog:///huerto%20nuevo.md",
            "there is no file \"huerto nuevo.md\". The nearest there is: blog:///notas/huerto%20nuevo.md",
        ),
    ] {
        let (_, said) = refusal(client.read(uri).await);
        assert!(said.ends_with(expected), "{uri}: {said}");
    }
    for fragment in ["#chunk999", "#chunk01", "#the-hive", "#"] {
        let (_, said) = refusal(client.read(&format!("blog:///bees.md{fragment}")).await);
        assert!(said.contains(&format!("\"bees.md\" has no \"{fragment}\"")), "{said}");
        assert!(said.contains("blog:///bees.md is the whole file") && said.contains("read_chunk"), "{said}");
        assert!(!said.contains("no file"), "{said}");
    }
    let empty = scratch("blog_nearest_nothing");
    write(&empty, "empty.md", "");
    let client = modern(&empty).await;
    let (_, said) = refusal(client.read("blog:///empty.md#chunk0").await);
    assert!(
        said.ends_with(
            "\"empty.md\" has no \"#chunk0\": blog:///empty.md is the whole file, which has no text"
        ),
        "{said}"
    );
    let (_, said) = refusal(client.read("blog:///a.md").await);
    assert!(said.ends_with("there is no file \"a.md\""), "{said}");
}
