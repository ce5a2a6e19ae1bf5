//! Resources: listed, read, subscribed to, and unknown ones.

use serde_json::{Value, json};

use crate::wire::{LEGACY, MODERN, Wire, everyone};

#[test]
fn resources_list() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let list = wire.result("resources/list", json!({}));
        let resources = list["resources"].as_array().unwrap();
        assert_eq!(resources[0]["uri"], "test://static-text");
        assert!(resources.iter().all(|resource| resource["uri"].is_string() && resource["name"].is_string()));
        wire.end();
    }
}

/// The one part of what was read.
fn read(wire: &mut Wire, uri: &str) -> Value {
    let result = wire.result("resources/read", json!({"uri": uri}));
    let [part] = &result["contents"].as_array().unwrap()[..] else { panic!("not one part: {result}") };
    assert_eq!(part["uri"], uri);
    part.clone()
}

#[test]
fn resources_read_text() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let part = read(&mut wire, "test://static-text");
        assert_eq!(part["mimeType"], "text/plain");
        assert_eq!(part["text"], "This is the content of the static text resource.");
        wire.end();
    }
}

#[test]
fn resources_read_binary() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let part = read(&mut wire, "test://static-binary");
        assert_eq!(part["mimeType"], "image/png");
        let blob = data_encoding::BASE64.decode(part["blob"].as_str().unwrap().as_bytes()).unwrap();
        assert!(blob.starts_with(b"\x89PNG"));
        wire.end();
    }
}

#[test]
fn resources_templates_read() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let list = wire.result("resources/templates/list", json!({}));
        assert_eq!(list["resourceTemplates"][0]["uriTemplate"], "test://template/{id}/data");
        let part = read(&mut wire, "test://template/123/data");
        assert_eq!(part["mimeType"], "application/json");
        let data: Value = serde_json::from_str(part["text"].as_str().unwrap()).unwrap();
        assert_eq!(data["id"], "123");
        wire.end();
    }
}

#[test]
fn resources_subscribe_and_unsubscribe() {
    for revision in LEGACY {
        let mut wire = Wire::open(revision);
        for method in ["resources/subscribe", "resources/unsubscribe"] {
            assert_eq!(wire.result(method, json!({"uri": "test://watched-resource"})), json!({}));
        }
        wire.end();
    }
}

#[test]
fn sep_2164_resource_not_found() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let uri = "test://nonexistent-resource-for-conformance-testing";
        let error = wire.error("resources/read", json!({"uri": uri}));
        assert_eq!(error["code"], if revision == MODERN { -32602 } else { -32002 }, "{error}");
        assert_eq!(error["data"]["uri"], uri);
        wire.end();
    }
}

#[test]
fn caching() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        for (method, params) in [
            ("tools/list", json!({})),
            ("prompts/list", json!({})),
            ("resources/list", json!({})),
            ("resources/templates/list", json!({})),
            ("resources/read", json!({"uri": "test://static-text"})),
        ] {
            let result = wire.result(method, params);
            if revision == MODERN {
                assert!(result["ttlMs"].is_u64(), "{method}: {result}");
                assert!(
                    ["public", "private"].contains(&result["cacheScope"].as_str().unwrap()),
                    "{method}: {result}"
                );
            } else {
                let hints = result.get("ttlMs").or(result.get("cacheScope"));
                assert_eq!(hints, None, "{revision} {method} knows nothing of this");
            }
        }
        wire.end();
    }
}
