use papertape::server::Tool;
use papertape::{Cx, Json, Server};
use serde_json::{Value, json};

use super::{one, revisions, server};
use crate::peer::{MODERN, Peer, request, run};

fn describing() -> Server {
    let any = Tool::new("describe").input_schema(json!({"type": "object"}));
    server().raw_tool(any, async |_: Value, cx: Cx| {
        Ok(Json(json!({
            "client": cx.client().map(|client| format!("{} {}", client.name, client.version)),
            "capabilities": cx.client_capabilities(),
            "meta": cx.meta(),
            "session": cx.session_id(),
            "revision": cx.revision().to_string(),
        })))
    })
}

/// What a handler knows of a call by a client.
async fn described(revision: &str, client: &Value, capabilities: &Value, mut meta: Value) -> Value {
    let mut peer = Peer::connect(describing());
    if revision == MODERN {
        meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
        meta["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
        if !client.is_null() {
            meta["io.modelcontextprotocol/clientInfo"] = client.clone();
        }
    } else {
        let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client});
        one(&mut peer, request("", "0", "initialize", params)).await;
    }
    let params = json!({"name": "describe", "_meta": meta});
    let reply = one(&mut peer, request("", "1", "tools/call", params)).await;
    let text = reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply}"));
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_handler_knows_the_client_and_its_meta_in_all_revisions() {
    run(async {
        let client =
            json!({"name": "tester", "version": "1.2", "title": "T", "websiteUrl": "https://example.com"});
        let abilities = json!({"roots": {"listChanged": true}, "elicitation": {}, "sampling": {"tools": {}},
            "extensions": {"com.example/x": {"a": [1]}}});
        for revision in revisions() {
            let meta = json!({"progressToken": 5, "com.example/tenant": {"id": 7}, "traceparent": "00-x"});
            let seen = described(revision, &client, &abilities, meta).await;
            assert_eq!(seen["client"], "tester 1.2", "{revision}");
            assert_eq!(seen["revision"], revision);
            assert_eq!(seen["session"], Value::Null);
            assert_eq!(seen["meta"], json!({"traceparent": "00-x", "com.example/tenant": {"id": 7}}));
            let able = &seen["capabilities"];
            assert_eq!(able["roots"], json!({}));
            assert_eq!(able["elicitation"].is_object(), revision >= "2025-06-18", "{able}");
            let extensions = (revision == MODERN).then(|| json!({"com.example/x": {"a": [1]}}));
            assert_eq!(able.get("extensions"), extensions.as_ref(), "{able}");
        }
    });
}

// M-27
#[test]
fn what_a_client_says_of_itself_may_be_wrong_or_huge() {
    run(async {
        let huge = "x".repeat(1_000_000);
        for revision in revisions() {
            for client in [json!(null), json!(1), json!("x"), json!({"name": 1}), json!([])] {
                let seen = described(revision, &client, &json!({}), json!({})).await;
                assert_eq!(seen["client"], Value::Null, "{client}");
            }
            let long = json!({"name": "y".repeat(300), "version": "1"});
            let seen = described(revision, &long, &json!({}), json!({})).await;
            assert!(seen["client"].as_str().unwrap().starts_with("yyy"));
            let seen =
                described(revision, &json!({"name": "a", "version": "1"}), &json!({}), json!({"m": huge}))
                    .await;
            assert_eq!(seen["meta"], json!({}), "it is not read");
        }
    });
}

#[test]
fn a_member_of_meta_must_not_occur_twice() {
    run(async {
        let mut peer = Peer::open(describing(), "2025-11-25").await;
        let line = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"describe","_meta":{"progressToken":1,"progressToken":2}}}"#;
        let reply = one(&mut peer, line.to_owned()).await;
        assert_eq!(reply["error"]["code"], -32600, "{reply}");
    });
}
