//! `sep-2640-skills-*`: how-tos that a server offers, listed with what is in them.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::wire::{MODERN, Wire};

const SKILLS: &str = "io.modelcontextprotocol/skills";

/// The entries of all pages.
fn entries(wire: &mut Wire) -> Vec<Value> {
    let mut all = Vec::new();
    let mut params = json!({});
    loop {
        let page = wire.result("skills/list", params);
        assert!(page["ttlMs"].is_u64() && page["cacheScope"].is_string(), "{page}");
        all.extend(page["skills"].as_array().unwrap().iter().cloned());
        let Some(next) = page.get("nextCursor") else { return all };
        params = json!({"cursor": next});
    }
}

/// The bytes of a resource.
fn read(wire: &mut Wire, uri: &Value) -> Vec<u8> {
    let result = wire.result("resources/read", json!({"uri": uri}));
    let part = &result["contents"][0];
    match part["text"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => data_encoding::BASE64.decode(part["blob"].as_str().unwrap().as_bytes()).unwrap(),
    }
}

#[test]
fn skills_enumeration() {
    let mut wire = Wire::open(MODERN);
    let found = wire.result("server/discover", json!({}));
    assert!(found["capabilities"]["extensions"][SKILLS].is_object(), "{found}");
    assert!(found["capabilities"]["resources"].is_object(), "{found}");
    let skills = entries(&mut wire);
    assert_eq!(skills.len(), 2);
    for skill in &skills {
        let (uri, name) = (skill["uri"].as_str().unwrap(), skill["frontmatter"]["name"].as_str().unwrap());
        let folder = uri.strip_suffix("SKILL.md").unwrap();
        assert!(uri.starts_with("skill://") && folder.ends_with(&format!("/{name}/")), "{skill}");
        assert!(skill["frontmatter"]["description"].is_string(), "{skill}");
        // What is listed is what is read, byte for byte.
        let resources = skill["resources"].as_array().unwrap();
        assert!(resources.iter().any(|resource| resource["uri"] == uri), "{skill}");
        for resource in resources {
            assert!(resource["uri"].as_str().unwrap().starts_with(folder), "{resource}");
            let bytes = read(&mut wire, &resource["uri"]);
            assert_eq!(resource["size"], bytes.len(), "{resource}");
            let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(&bytes));
            assert_eq!(resource["digest"], format!("sha256:{digest}"), "{resource}");
        }
        let got = wire.result("skills/get", json!({"uri": uri}));
        assert_eq!(&got["skill"], skill);
        assert!(got.get("nextCursor").is_none(), "{got}");
    }
    let error = wire.error("skills/get", json!({"uri": "skill://nobody/SKILL.md"}));
    assert_eq!(error["code"], -32602, "{error}");
    wire.end();
}

#[test]
fn skills_manifest() {
    let mut wire = Wire::open(MODERN);
    let listed = wire.result("resources/list", json!({}));
    for skill in entries(&mut wire) {
        let resources = listed["resources"].as_array().unwrap();
        let resource = resources.iter().find(|resource| resource["uri"] == skill["uri"]).unwrap();
        assert_eq!(resource["mimeType"], "text/markdown", "{resource}");
        assert_eq!(resource["name"], skill["frontmatter"]["name"]);
        assert_eq!(resource["description"], skill["frontmatter"]["description"]);
        assert!(read(&mut wire, &skill["uri"]).starts_with(b"---\n"), "no front matter");
    }
    wire.end();
}

#[test]
fn skills_directory() {
    let mut wire = Wire::open(MODERN);
    let found = wire.result("server/discover", json!({}));
    assert_eq!(found["capabilities"]["extensions"][SKILLS]["directoryRead"], true, "{found}");
    let folder = "skill://git-workflow";
    let children = wire.result("resources/directory/read", json!({"uri": folder}));
    let children = children["resources"].as_array().unwrap().clone();
    let folders = children.iter().filter(|child| child["mimeType"] == "inode/directory");
    let folders: Vec<Value> = folders.map(|child| child["uri"].clone()).collect();
    assert_eq!(folders.len(), 3, "{children:?}");
    for inner in folders {
        let within = wire.result("resources/directory/read", json!({"uri": inner}));
        assert_eq!(within["resources"].as_array().unwrap().len(), 1, "{within}");
    }
    for no_folder in ["skill://git-workflow/SKILL.md", "skill://nobody"] {
        let error = wire.error("resources/directory/read", json!({"uri": no_folder}));
        assert_eq!(error["code"], -32602, "{error}");
    }
    wire.end();
}
