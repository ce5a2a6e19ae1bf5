//! What a server offers: what is rejected when it is built, and the traffic beside the golden tapes.

use papertape::client::ClientOptions;
use papertape::protocol::Revision;
use papertape::server::{Skill, Skills};
use papertape::{Server, ToolError, memory};
use serde_json::json;

use super::{problem, server, skill, with};
use crate::peer::{MODERN, Peer, request, run};

#[test]
fn an_invalid_skill_keeps_the_server_from_starting() {
    let said = |skill: Skill| problem(&with(skill));
    for name in ["", "Upper", "a--b", "-a", "a b", "é", &"a".repeat(65)] {
        let problem = said(Skill::new(name, "d", "b"));
        assert!(problem.contains("`name` must be"), "{problem}");
    }
    for description in ["", &"d".repeat(1025)] {
        let problem = said(Skill::new("a", description, "b"));
        assert!(problem.contains("skill a: SKILL.md: `description` must be"), "{problem}");
    }
    with(Skill::new("a", "é".repeat(1024), "")).check().unwrap();
    for path in ["", "/a", "a/", "a//b", "../a", "a/../b", "./a", "a\\b", "a\0b"] {
        let problem = said(skill().file(path, ""));
        assert!(problem.contains("not a relative path within the skill directory"), "{path}: {problem}");
    }
    for folders in ["", "/a", "a/..", "."] {
        assert!(said(skill().under(folders)).contains("not a valid directory name"), "{folders}");
    }
    assert!(said(skill().file("a", "").file("a", "")).contains("there twice"));
    assert!(said(skill().file("SKILL.md", "")).contains("there twice"));
    assert!(said(skill().file("a", "").file("a/b", "")).contains("a file and a directory at once"));
    assert!(said(skill().field("name", "other")).contains("the key \"name\" occurs twice"));
    assert!(said(Skill::from_markdown("no front matter")).contains("must begin with"));
    assert!(said(Skill::from_markdown("---\nname: a\n---\n")).contains("`description`"));
    assert!(said(Skill::from_markdown("---\nname: 1\ndescription: b\n---\n")).contains("`name`"));
}

#[test]
fn a_skill_has_the_size_that_every_host_can_take() {
    let files = |count: usize| (0..count).fold(skill(), |skill, n| skill.file(format!("{n}"), ""));
    with(files(511)).check().unwrap();
    assert_eq!(
        problem(&with(files(512))),
        "skill sound: it has more than 512 files, skills within it included"
    );
    let manifest = "---\nname: sound\ndescription: d\n---\n";
    let bytes = |more: usize| {
        let rest = 16 * 1024 * 1024 - manifest.len() + more;
        Skill::from_markdown(manifest).file("large", vec![b'x'; rest])
    };
    with(bytes(0)).check().unwrap();
    assert!(problem(&with(bytes(1))).contains("16777217 bytes"));
    // A skill within a skill counts for both.
    let both = Skills::new().skill(files(500)).skill(
        (0..20).fold(Skill::new("inner", "d", "b").under("sound"), |skill, n| skill.file(format!("{n}"), "")),
    );
    assert!(problem(&Server::new("s", "1").skills(both)).contains("skill sound: it has more than 512"));
}

#[test]
fn there_is_one_skill_in_a_folder() {
    let twice = || Skills::new().skill(skill()).skill(skill());
    assert_eq!(problem(&Server::new("s", "1").skills(twice())), "skill \"sound\": registered twice");
    let server = with(skill()).skills(Skills::new().skill(skill()));
    assert_eq!(problem(&server), "skill \"sound\": registered twice");
    // The name does not distinguish them.
    with(skill()).skills(Skills::new().skill(skill().under("other"))).check().unwrap();
    // What the outer one says is in the inner one's directory must be so.
    let claims = Skills::new()
        .skill(skill().file("in/SKILL.md", "else"))
        .skill(Skill::new("in", "d", "b").under("sound"));
    let problem = problem(&Server::new("s", "1").skills(claims));
    assert_eq!(problem, "file of a skill \"skill://sound/in/SKILL.md\": registered twice");
}

#[test]
fn any_words_survive_as_front_matter() {
    run(async {
        for words in [
            "a: b",
            "- x",
            "# y",
            "\"q\" 'r'",
            "two\nlines\r\n\ttab",
            "~",
            "é\u{2028}\u{85}\u{7f}",
            "---",
            "&a *b",
        ] {
            let skill =
                Skill::new("null", words, "---\nb: c\n---\n").field("a: b", json!([words, {"c": null}]));
            let client = memory::connect(with(skill)).await.unwrap();
            let listed = client.skills().await.unwrap().remove(0);
            assert_eq!(listed.problems, Vec::<String>::new());
            assert_eq!(listed.item.description(), words);
            assert_eq!(listed.item.frontmatter["a: b"], json!([words, {"c": null}]));
            assert!(client.read_skill(&listed.item).await.unwrap().ends_with("---\n\n---\nb: c\n---\n"));
            client.close().await;
        }
    });
}

#[test]
fn older_revisions_see_resources_and_no_skills() {
    run(async {
        for revision in Revision::ALL.into_iter().filter(|revision| revision.opens_with_handshake()) {
            let options = ClientOptions::new().revision(revision);
            let client = memory::connect_with(server(), options).await.unwrap();
            assert_eq!(client.capabilities().extensions, None, "{revision}");
            assert!(client.skills().await.is_err());
            for method in ["skills/list", "skills/get", "resources/directory/read"] {
                let error = client.request(method, json!({"uri": "skill://pdf/SKILL.md"})).await.unwrap_err();
                assert!(error.to_string().contains("-32601"), "{error}");
            }
            let names: Vec<String> =
                client.resources().await.unwrap().into_iter().map(|resource| resource.item.name).collect();
            // More than one page, so that they are in the order of their URIs.
            assert_eq!(names, ["refunds", "partly", "pdf"]);
            assert!(client.read("skill://pdf/references/FORMS.md").await.is_ok());
            client.close().await;
        }
    });
}

#[test]
fn a_server_without_skills_knows_no_such_methods() {
    run(async {
        let server = Server::new("plain", "1").resource("note:one", |_| async { Ok("one") });
        let mut peer = Peer::open(server, MODERN).await;
        for method in ["skills/list", "skills/get", "resources/directory/read"] {
            let replies = peer.line(request(MODERN, "1", method, json!({"uri": "note:one"}))).await;
            assert_eq!(replies[0]["error"]["code"], -32601, "{replies:?}");
        }
    });
}

#[test]
fn skills_of_a_mounted_server_keep_their_middleware() {
    run(async {
        let inner = with(skill().file("more.txt", "more")).middleware(|request, next| async move {
            if request.name().ends_with("more.txt") {
                Err(ToolError::refused("not this one"))
            } else {
                next.run(request).await
            }
        });
        let outer =
            Server::new("outer", "1").skills(Skills::new().skill(skill().under("own"))).mount("in", inner);
        let client = memory::connect(outer).await.unwrap();
        let skills = client.skills().await.unwrap();
        let uris: Vec<&str> = skills.iter().map(|skill| skill.item.uri.as_str()).collect();
        assert_eq!(uris, ["skill://own/sound/SKILL.md", "skill://sound/SKILL.md"]);
        client.read_skill(&skills[1].item).await.unwrap();
        let error = client.read_skill_file(&skills[1].item, "skill://sound/more.txt").await.unwrap_err();
        assert!(error.to_string().contains("not this one"), "{error}");
        assert_eq!(client.resources().await.unwrap().len(), 2);
        client.close().await;
    });
}

#[test]
fn pages_of_a_folder_are_those_of_that_folder() {
    run(async {
        let mut peer = Peer::open(server(), MODERN).await;
        for cursor in [
            json!("folder0"),
            json!("folder2"),
            json!("folder"),
            json!("folder-1"),
            json!(1),
            json!("skills1.1"),
            json!("folder99999999999999999999"),
        ] {
            let params = json!({"uri": "skill://pdf", "cursor": cursor});
            let replies = peer.line(request(MODERN, "1", "resources/directory/read", params)).await;
            assert_eq!(replies[0]["error"]["code"], -32602, "{cursor}: {replies:?}");
        }
        for uri in [
            json!(null),
            json!(7),
            json!("x".repeat(10_000)),
            json!("skill://pdf/"),
            json!("skill://"),
            json!(""),
        ] {
            for method in ["skills/get", "resources/directory/read"] {
                let replies = peer.line(request(MODERN, "1", method, json!({"uri": uri}))).await;
                assert_eq!(replies[0]["error"]["code"], -32602, "{method} {uri}: {replies:?}");
            }
        }
    });
}
