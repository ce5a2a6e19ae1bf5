//! Skills: declared, listed, read and enumerated.

use papertape::protocol::skills::digest;
use serde_json::{Value, json};

use crate::wire::{LEGACY, MODERN, Wire};

const SKILLS: &str = "io.modelcontextprotocol/skills";

fn listed(wire: &mut Wire) -> Vec<Value> {
    wire.result("skills/list", json!({}))["skills"].as_array().unwrap().clone()
}

/// The bytes of a file.
fn bytes(wire: &mut Wire, uri: &Value) -> Vec<u8> {
    let result = wire.result("resources/read", json!({"uri": uri}));
    let [part] = &result["contents"].as_array().unwrap()[..] else { panic!("not one part: {result}") };
    match part["text"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => data_encoding::BASE64.decode(part["blob"].as_str().unwrap().as_bytes()).unwrap(),
    }
}

#[test]
fn sep_2640_skills_enumeration() {
    let mut wire = Wire::open(MODERN);
    let found = wire.result("server/discover", json!({}));
    assert_eq!(found["capabilities"]["extensions"][SKILLS], json!({"directoryRead": true}));
    assert!(found["capabilities"]["resources"].is_object());
    let list = wire.result("skills/list", json!({}));
    assert!(list["ttlMs"].is_u64() && list["cacheScope"].is_string(), "{list}");
    let skills = listed(&mut wire);
    assert_eq!(skills.len(), 2);
    for skill in skills {
        let (uri, name) = (skill["uri"].as_str().unwrap(), skill["frontmatter"]["name"].as_str().unwrap());
        let folder = uri.strip_suffix("/SKILL.md").unwrap();
        assert!(folder.starts_with("skill://") && folder.ends_with(&format!("/{name}")), "{uri}");
        assert!(!skill["frontmatter"]["description"].as_str().unwrap().is_empty());
        let files = skill["resources"].as_array().unwrap();
        assert_eq!(files.iter().filter(|file| file["uri"] == uri).count(), 1, "{files:?}");
        for file in files {
            assert!(file["uri"].as_str().unwrap().starts_with(&format!("{folder}/")));
            let bytes = bytes(&mut wire, &file["uri"]);
            assert_eq!(file["size"], bytes.len());
            assert_eq!(file["digest"], digest(&bytes));
        }
        let got = wire.result("skills/get", json!({"uri": uri}));
        assert_eq!(got["skill"], skill);
        assert!(got["ttlMs"].is_u64() && got["cacheScope"].is_string() && got.get("nextCursor").is_none());
    }
    let unknown = json!({"uri": "skill://mcp-conformance-nonexistent-skill-9f3a2b/SKILL.md"});
    assert_eq!(wire.error("skills/get", unknown)["code"], -32602);
    wire.end();
}

#[test]
fn sep_2640_skills_manifest() {
    let mut wire = Wire::open(MODERN);
    let resources = wire.result("resources/list", json!({}));
    for skill in listed(&mut wire) {
        let mut resources = resources["resources"].as_array().unwrap().iter();
        let resource = resources.find(|resource| resource["uri"] == skill["uri"]).unwrap();
        assert_eq!(resource["mimeType"], "text/markdown");
        assert_eq!(resource["name"], skill["frontmatter"]["name"]);
        assert_eq!(resource["description"], skill["frontmatter"]["description"]);
    }
    wire.end();
}

#[test]
fn sep_2640_skills_directory() {
    let mut wire = Wire::open(MODERN);
    for skill in listed(&mut wire) {
        let uri = skill["uri"].as_str().unwrap();
        let mut folders = vec![uri.strip_suffix("/SKILL.md").unwrap().to_owned()];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            let inside = wire.result("resources/directory/read", json!({"uri": folder}));
            for child in inside["resources"].as_array().unwrap() {
                let uri = child["uri"].as_str().unwrap().to_owned();
                if child["mimeType"] == "inode/directory" { folders.push(uri) } else { files.push(uri) }
            }
        }
        let mut listed: Vec<&str> =
            skill["resources"].as_array().unwrap().iter().map(|file| file["uri"].as_str().unwrap()).collect();
        files.sort_unstable();
        listed.sort_unstable();
        assert_eq!(files, listed);
        assert_eq!(wire.error("resources/directory/read", json!({"uri": uri}))["code"], -32602);
    }
    assert_eq!(wire.error("resources/directory/read", json!({"uri": "skill://none"}))["code"], -32602);
    wire.end();
}

#[test]
fn legacy_clients_see_no_skills_extension() {
    for revision in LEGACY {
        let mut wire = Wire::start(revision, json!({}));
        let opened = wire.handshake(revision);
        assert_eq!(opened["capabilities"].get("extensions"), None);
        for method in ["skills/list", "skills/get", "resources/directory/read"] {
            assert_eq!(wire.error(method, json!({"uri": "skill://git-workflow"}))["code"], -32601);
        }
        wire.end();
    }
}
