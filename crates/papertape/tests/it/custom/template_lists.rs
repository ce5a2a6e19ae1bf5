use std::collections::BTreeMap;

use papertape::server::{Limits, Resource, ResourceTemplate};
use papertape::{Cx, Server, ToolError};
use serde_json::{Value, json};

use super::{ask, revisions, server};
use crate::peer::{MODERN, Peer, run};

async fn read(values: BTreeMap<String, String>, _: Cx) -> Result<String, ToolError> {
    Ok(format!("{values:?}"))
}

fn listing(count: usize) -> Server {
    let template = ResourceTemplate::new("verb:{verb}").mime_type("text/plain").list(move |_| async move {
        let verb = |number: usize| Resource::new(format!("verb:{number:05}")).name(number.to_string());
        let others = ["noun:1", "verb:own"].map(Resource::new);
        Ok((0..count).map(verb).chain(others).collect())
    });
    server()
        .resource(Resource::new("verb:own").name("own").mime_type("text/html"), async |_: Cx| Ok("own"))
        .resource_template(template, read)
}

/// The URIs of the whole list.
async fn uris(peer: &mut Peer, revision: &str) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let params = cursor.take().map_or_else(|| json!({}), |cursor: Value| json!({"cursor": cursor}));
        let reply = ask(peer, revision, "resources/list", params).await;
        let page = reply["result"]["resources"].as_array().unwrap_or_else(|| panic!("{reply}")).clone();
        assert!(page.len() <= 3, "{reply}");
        all.extend(page.into_iter().map(|resource| resource["uri"].clone()));
        match reply["result"].get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => return all,
        }
    }
}

#[test]
fn what_a_template_lists_is_listed_with_all_others_page_by_page() {
    run(async {
        for revision in revisions() {
            let server = listing(7).limits(Limits { page: 3, ..Limits::default() });
            let mut peer = Peer::open(server, revision).await;
            let mut expected: Vec<String> = (0..7).map(|number| format!("verb:{number:05}")).collect();
            expected.push("verb:own".to_owned());
            assert_eq!(uris(&mut peer, revision).await, expected);
            let reply = ask(&mut peer, revision, "resources/list", json!({"cursor": "x"})).await;
            assert_eq!(reply["error"]["code"], -32602, "{reply}");
            let reply = ask(&mut peer, revision, "resources/read", json!({"uri": "verb:00001"})).await;
            assert_eq!(reply["result"]["contents"][0]["text"], r#"{"verb": "00001"}"#, "{reply}");
        }
        let mut peer = Peer::open(listing(1), MODERN).await;
        let list = ask(&mut peer, MODERN, "resources/list", json!({})).await;
        // What is registered comes first, as itself; what is listed has the media type of the template.
        assert_eq!(
            list["result"]["resources"],
            json!([
                {"uri": "verb:own", "name": "own", "mimeType": "text/html"},
                {"uri": "verb:00000", "name": "0", "mimeType": "text/plain"},
            ])
        );
        assert_eq!(
            (&list["result"]["cacheScope"], &list["result"]["resultType"]),
            (&json!("private"), &json!("complete"))
        );
    });
}

#[test]
fn lists_of_templates_are_bounded_and_restricted() {
    run(async {
        let server = listing(100_000).limits(Limits { page: 1_000_000, ..Limits::default() });
        let mut peer = Peer::open(server, MODERN).await;
        let list = ask(&mut peer, MODERN, "resources/list", json!({})).await;
        assert_eq!(list["result"]["resources"].as_array().unwrap().len(), 10_001);
        let hidden = listing(5).visible(|item, _| item.name != "verb:00003");
        let mut peer = Peer::open(hidden, MODERN).await;
        let list = ask(&mut peer, MODERN, "resources/list", json!({})).await;
        assert_eq!(list["result"]["resources"].as_array().unwrap().len(), 5);
        let hidden = listing(5).visible(|item, _| item.kind != "resource template");
        let mut peer = Peer::open(hidden, MODERN).await;
        let list = ask(&mut peer, MODERN, "resources/list", json!({})).await;
        assert_eq!(list["result"]["resources"].as_array().unwrap().len(), 1);
    });
}

#[test]
fn a_list_that_fails_or_panics_is_an_error_of_its_request() {
    run(async {
        for panics in [false, true] {
            let template = ResourceTemplate::new("x:{x}").list(move |_| async move {
                assert!(!panics, "on purpose");
                Err(ToolError::failed("the disk is gone"))
            });
            let mut peer = Peer::open(server().resource_template(template, read), MODERN).await;
            let reply = ask(&mut peer, MODERN, "resources/list", json!({})).await;
            assert_eq!(reply["error"]["code"], -32603, "{reply}");
            let reply = ask(&mut peer, MODERN, "resources/read", json!({"uri": "x:1"})).await;
            assert!(reply["result"].is_object(), "{reply}");
        }
    });
}

// What a rule hides of a list cannot be read either, also within another server.
#[test]
fn a_listed_resource_that_is_hidden_does_not_exist() {
    run(async {
        let hidden = || listing(5).visible(|item, _| item.name != "verb:00003");
        for server in [hidden(), Server::new("outer", "1").mount("inner", hidden())] {
            let mut peer = Peer::open(server, MODERN).await;
            let list = ask(&mut peer, MODERN, "resources/list", json!({})).await;
            assert!(!list.to_string().contains("verb:00003"), "{list}");
            let reply = ask(&mut peer, MODERN, "resources/read", json!({"uri": "verb:00003"})).await;
            assert_eq!(reply["error"]["code"], -32602, "{reply}");
            let reply = ask(&mut peer, MODERN, "resources/read", json!({"uri": "verb:00004"})).await;
            assert!(reply["result"].is_object(), "{reply}");
        }
        // A template that lists nothing has a name of its own only.
        let server = server()
            .resource_template(ResourceTemplate::new("verb:{verb}"), read)
            .visible(|item, _| item.kind == "resource template");
        let mut peer = Peer::open(server, MODERN).await;
        let reply = ask(&mut peer, MODERN, "resources/read", json!({"uri": "verb:1"})).await;
        assert!(reply["result"].is_object(), "{reply}");
    });
}

// RFC 3986, section 2.3: a letter or digit may be percent-encoded, which is the same URI.
#[test]
fn a_hidden_resource_cannot_be_read_by_another_spelling_of_its_uri() {
    run(async {
        let template = |template: &str| {
            ResourceTemplate::new(template).list(|_| async { Ok(vec![Resource::new("doc:secret/key")]) })
        };
        for (shape, others) in [
            ("doc:secret/{name}", &["doc:secret/%6bey", "doc:secret/k%65%79"][..]),
            ("doc:{+path}", &["doc:secret/%6Bey", "doc:secret%2Fkey", "doc:secret%2fk%65y"]),
            ("doc:secret/key{?a,b}", &["doc:secret/key?%61=%31&b=2", "doc:secret/key?b=2&a=1"]),
        ] {
            let hidden = if shape.contains('?') { "doc:secret/key?a=1&b=2" } else { "doc:secret/key" };
            let server =
                server().resource_template(template(shape), read).visible(move |item, _| item.name != hidden);
            let mut peer = Peer::open(server, MODERN).await;
            for uri in others.iter().chain([&hidden]) {
                let reply = ask(&mut peer, MODERN, "resources/read", json!({"uri": uri})).await;
                assert_eq!(reply["error"]["code"], -32602, "{uri}: {reply}");
            }
        }
        // What is not the same URI, or has to be encoded, is asked about as it is.
        let server = server()
            .resource_template(template("doc:{name}"), read)
            .visible(|item, _| item.kind != "resource" || item.name == "doc:a%20b%2Fc");
        let mut peer = Peer::open(server, MODERN).await;
        for uri in ["doc:a%20b%2Fc", "doc:%61%20b%2fc"] {
            let reply = ask(&mut peer, MODERN, "resources/read", json!({"uri": uri})).await;
            assert!(reply["result"].is_object(), "{uri}: {reply}");
        }
    });
}
