//! What a client holds against the list, over a server that lies.

use std::sync::{Arc, Mutex};

use papertape::client::{ClientOptions, ErrorKind, SkillMismatch};
use papertape::protocol::skills::digest;
use papertape::protocol::{SkillDefinition, SkillResources};
use papertape::{Client, memory};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, split};

use super::{server, with};
use crate::peer::run;

const URI: &str = "skill://pdf/SKILL.md";
const FILE: &str = "skill://pdf/references/FORMS.md";
const TEXT: &str = "---\nname: pdf\ndescription: d\nversion: 1.0\n---\nBody\n";

/// The skill as it should be listed.
fn listed() -> Value {
    json!({
        "uri": URI,
        "frontmatter": {"name": "pdf", "description": "d", "version": 1},
        "resources": [
            {"uri": URI, "digest": digest(TEXT.as_bytes()), "size": TEXT.len()},
            {"uri": FILE, "digest": digest(b"forms"), "size": 5}
        ]
    })
}

type Heard = Arc<Mutex<Vec<String>>>;

/// A server that lists one skill and gives what it likes for it.
async fn liar(skill: Value, settings: Value, contents: Value) -> (Client, Heard) {
    let heard = Heard::default();
    let (ours, theirs) = tokio::io::duplex(64 * 1024 * 1024);
    let (reader, mut writer) = split(theirs);
    let hears = Arc::clone(&heard);
    tokio::spawn(async move {
        let mut lines = BufReader::new(reader).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            let method = message["method"].as_str().unwrap().to_owned();
            let mut result = match method.as_str() {
                "server/discover" => json!({
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": {"resources": {}, "extensions": {"io.modelcontextprotocol/skills": settings}}
                }),
                "skills/list" => json!({"skills": [skill]}),
                "skills/get" => json!({"skill": skill}),
                "resources/read" => json!({"contents": contents}),
                _ => json!({}),
            };
            result["resultType"] = "complete".into();
            hears.lock().unwrap().push(method);
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            if writer.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
                return;
            }
        }
    });
    let (reader, writer) = split(ours);
    (papertape::streams::connect_with(reader, writer, ClientOptions::new()).await.unwrap(), heard)
}

/// What a client finds when it reads the skill's own file.
async fn found(skill: Value, contents: Value) -> Result<String, SkillMismatch> {
    let (client, _) = liar(skill, json!({}), contents).await;
    let skill = client.skills().await.unwrap().remove(0).item;
    client.read_skill(&skill).await.map_err(|error| match error.kind() {
        ErrorKind::Unverified(mismatch) => mismatch.clone(),
        _ => panic!("{error}"),
    })
}

fn text(text: &str) -> Value {
    json!([{"uri": URI, "mimeType": "text/markdown", "text": text}])
}

#[test]
fn a_file_that_matches_its_listing_is_read() {
    run(async {
        assert_eq!(found(listed(), text(TEXT)).await, Ok(TEXT.to_owned()));
        let blob = json!([{"uri": URI, "blob": data_encoding_of(TEXT)}]);
        assert_eq!(found(listed(), blob).await, Ok(TEXT.to_owned()));
        let among = json!([{"uri": FILE, "text": "forms"}, {"uri": URI, "text": TEXT}]);
        assert_eq!(found(listed(), among).await, Ok(TEXT.to_owned()));
    });
}

/// Base64, from the resource of a server of our own.
fn data_encoding_of(text: &str) -> String {
    match papertape::protocol::Content::image(text.as_bytes(), "image/png") {
        papertape::protocol::Content::Image(image) => image.data,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_mismatch_is_reported_with_the_expected_value() {
    run(async {
        let longer = format!("{TEXT}more");
        let (expected, got) = (TEXT.len() as u64, longer.len() as u64);
        assert_eq!(found(listed(), text(&longer)).await, Err(SkillMismatch::Size { expected, got }));
        let evil = TEXT.replace("Body", "Evil");
        let mismatch =
            SkillMismatch::Digest { expected: digest(TEXT.as_bytes()), got: digest(evil.as_bytes()) };
        assert_eq!(found(listed(), text(&evil)).await, Err(mismatch));
    });
}

#[test]
fn front_matter_is_compared_member_by_member() {
    run(async {
        let came = |text: &'static str| {
            let mut skill = listed();
            skill["resources"][0] =
                json!({"uri": URI, "digest": digest(text.as_bytes()), "size": text.len()});
            async move { found(skill, self::text(text)).await.unwrap_err() }
        };
        let differs = |member: &str, expected: Option<Value>, got: Option<Value>| {
            SkillMismatch::FrontMatter { member: member.to_owned(), expected, got }
        };
        assert_eq!(
            came("---\nname: pdf\ndescription: evil\nversion: 1\n---\n").await,
            differs("description", Some("d".into()), Some("evil".into()))
        );
        assert_eq!(
            came("---\nname: pdf\ndescription: d\nversion: 1\nallowed-tools: Bash\n---\n").await,
            differs("allowed-tools", None, Some("Bash".into()))
        );
        assert_eq!(
            came("---\nname: pdf\ndescription: d\n---\n").await,
            differs("version", Some(1.into()), None)
        );
        assert_eq!(
            came("---\nname: pdf\ndescription: d\nversion: \"1\"\n---\n").await,
            differs("version", Some(1.into()), Some("1".into()))
        );
        let words = differs("version", Some(1.into()), Some("1".into())).to_string();
        assert_eq!(words, "front matter \"version\": expected 1, got \"1\"");
        let words = differs("x", None, Some("y".repeat(10_000).into())).to_string();
        assert!(words.contains("expected absent, got \"yyy") && words.len() < 300, "{words}");
        assert!(matches!(came("no front matter").await, SkillMismatch::Unreadable(_)));
        assert!(matches!(came("---\na: &a [*a]\n---\n").await, SkillMismatch::Unreadable(_)));
    });
}

#[test]
fn nothing_is_read_ahead_nor_beyond_the_list() {
    run(async {
        let (client, heard) = liar(listed(), json!({}), text("Evil")).await;
        let skill = client.skills().await.unwrap().remove(0).item;
        assert_eq!(client.skill(URI).await.unwrap(), skill);
        for uri in [
            "skill://pdf/other.md",
            "skill://pdf/references/../SKILL.md",
            "skill://other/SKILL.md",
            "file:///etc/passwd",
            "",
        ] {
            let error = client.read_skill_file(&skill, uri).await.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Unverified(SkillMismatch::Unlisted)), "{error}");
        }
        assert_eq!(*heard.lock().unwrap(), ["server/discover", "skills/list", "skills/get"]);
        let error = client.read_skill(&skill).await.unwrap_err();
        assert!(error.to_string().contains("expected 51 bytes, got 4"), "{error}");
        client.close().await;
    });
}

#[test]
fn a_skill_without_a_list_of_files_is_read_within_its_folder() {
    run(async {
        let mut skill = listed();
        skill["resources"] = "dynamic".into();
        let (client, heard) = liar(skill, json!({}), text(TEXT)).await;
        let skill = client.skills().await.unwrap().remove(0);
        assert_eq!((skill.problems, skill.item.resources.clone()), (vec![], SkillResources::Dynamic));
        let skill = skill.item;
        assert_eq!(client.read_skill(&skill).await.unwrap(), TEXT);
        client.read_skill_file(&skill, "skill://pdf/anything").await.unwrap();
        heard.lock().unwrap().clear();
        for uri in [
            "skill://pdf/../x",
            "skill://pdf/%2e%2E/x",
            "skill://pdfs/x",
            "file:///etc/passwd",
            "skill://pdf/",
        ] {
            client.read_skill_file(&skill, uri).await.unwrap_err();
        }
        assert!(heard.lock().unwrap().is_empty());
    });
}

#[test]
fn an_invalid_entry_is_reported_with_the_reason() {
    run(async {
        let problems = async |member: &str, value: Value| {
            let mut skill = listed();
            skill[member] = value;
            let (client, _) = liar(skill, json!({}), text(TEXT)).await;
            client.skills().await.unwrap().remove(0).problems.join("; ")
        };
        assert!(problems("resources", Value::Null).await.contains("`resources` is invalid"));
        assert!(problems("resources", json!("static")).await.contains("`resources` is invalid"));
        assert!(problems("resources", json!([])).await.contains("SKILL.md is not among"));
        let elsewhere = json!([listed()["resources"][0], {"uri": "skill://x/y", "digest": "", "size": 1}]);
        assert!(
            problems("resources", elsewhere)
                .await
                .contains("\"skill://x/y\" is not in the skill's directory")
        );
        let huge = json!([{"uri": URI, "digest": "", "size": u64::MAX}, {"uri": FILE, "digest": "", "size": u64::MAX}]);
        assert!(problems("resources", huge).await.contains("too large"));
        assert!(
            problems("frontmatter", json!({"name": "other", "description": "d"}))
                .await
                .contains("must end in")
        );
        assert!(problems("frontmatter", json!({"name": "pdf"})).await.contains("`description`"));
        assert!(problems("uri", json!("skill://pdf/skill.md")).await.contains("must end in"));
    });
}

#[test]
fn no_skills_request_without_the_capability() {
    run(async {
        let client = memory::connect(crate::fixture::server()).await.unwrap();
        for error in [
            client.skills().await.unwrap_err(),
            client.skill(URI).await.unwrap_err(),
            client.directory("skill://pdf").await.unwrap_err(),
        ] {
            assert!(matches!(error.kind(), ErrorKind::NotOffered(_)), "{error}");
            assert_eq!(error.stage(), "the request was not sent");
        }
        let (client, heard) = liar(listed(), json!({}), text(TEXT)).await;
        client.directory("skill://pdf").await.unwrap_err();
        assert_eq!(*heard.lock().unwrap(), ["server/discover"]);
    });
}

#[test]
fn a_result_for_another_skill_violates_the_protocol() {
    run(async {
        let (client, _) = liar(listed(), json!({}), text(TEXT)).await;
        let error = client.skill("skill://other/SKILL.md").await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Protocol(_)), "{error}");
        for contents in [json!([]), json!([{"uri": URI}]), json!([{"uri": URI, "blob": "!"}])] {
            let (client, _) = liar(listed(), json!({}), contents).await;
            let skill: SkillDefinition = client.skill(URI).await.unwrap();
            let error = client.read_skill(&skill).await.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Protocol(_)), "{error}");
        }
    });
}

#[test]
fn our_own_server_passes() {
    run(async {
        let client = memory::connect(server()).await.unwrap();
        let skills = client.skills().await.unwrap();
        assert_eq!(skills.len(), 3);
        for skill in &skills {
            assert_eq!(skill.problems, Vec::<String>::new());
            assert_eq!(client.skill(&skill.item.uri).await.unwrap(), skill.item);
            client.read_skill(&skill.item).await.unwrap();
            let SkillResources::Files(files) = &skill.item.resources else { panic!("{skill:?}") };
            for file in files {
                client.read_skill_file(&skill.item, &file.uri).await.unwrap();
            }
        }
        let names =
            |folder: Vec<papertape::client::ListEntry<papertape::protocol::ResourceDefinition>>| -> Vec<String> {
                folder
                    .into_iter()
                    .map(|entry| format!("{} {}", entry.item.name, entry.item.mime_type.unwrap()))
                    .collect()
            };
        assert_eq!(
            names(client.directory("skill://pdf").await.unwrap()),
            [
                "pdf text/markdown",
                "a picture.png image/png",
                "data application/x-data",
                "references inode/directory"
            ]
        );
        assert_eq!(names(client.directory("skill://acme").await.unwrap()), ["billing inode/directory"]);
        assert_eq!(
            names(client.directory("skill://acme/billing/refunds").await.unwrap()),
            ["refunds text/markdown", "partly inode/directory"]
        );
        client.close().await;
        // More than a page of the server's own.
        let many = (0..250).fold(super::skill(), |skill, n| skill.file(format!("{n}"), "x"));
        let client = memory::connect(with(many)).await.unwrap();
        assert_eq!(client.directory("skill://sound").await.unwrap().len(), 251);
        client.close().await;
    });
}

#[test]
fn a_skill_of_all_the_bytes_it_may_have_can_be_read() {
    run(async {
        let manifest = "---\nname: large\ndescription: d\n---\n";
        let rest = 16 * 1024 * 1024 - manifest.len();
        let large = papertape::server::Skill::from_markdown(manifest).file("large", vec![0; rest]);
        // It goes as base64.
        let options = ClientOptions::new().frame_limit(24 * 1024 * 1024);
        let client = memory::connect_with(with(large), options).await.unwrap();
        let skill = client.skills().await.unwrap().remove(0);
        assert_eq!(skill.problems, Vec::<String>::new());
        let bytes = client.read_skill_file(&skill.item, "skill://large/large").await.unwrap();
        assert_eq!(bytes.len(), rest);
        client.close().await;
    });
}
