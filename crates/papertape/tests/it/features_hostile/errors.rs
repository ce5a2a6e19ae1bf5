//! Errors: the right code for every wrong parameter.

use std::collections::BTreeMap;

use papertape::server::Form;
use papertape::{Cx, ToolError};
use serde_json::json;

use super::{ALL, Anything, FORM, Name, ask_name, code, hello, legacy, modern, named, one, plain, rich};
use crate::peer::{MODERN, Peer, run};

#[test]
fn methods_of_missing_features_are_unknown() {
    run(async {
        for revision in crate::peer::LEGACY.into_iter().chain([MODERN]) {
            let server = named("s").tool("x", hello);
            let mut peer = match revision {
                MODERN => Peer::connect(server),
                _ => legacy(server, revision, "{}").await,
            };
            for (method, params) in [
                ("resources/list", json!({})),
                ("resources/templates/list", json!({})),
                ("resources/read", json!({"uri": "x:y"})),
                ("resources/subscribe", json!({"uri": "x:y"})),
                ("resources/unsubscribe", json!({"uri": "x:y"})),
                ("prompts/list", json!({})),
                ("prompts/get", json!({"name": "x"})),
                ("completion/complete", json!({})),
                ("logging/setLevel", json!({"level": "error"})),
                ("tasks/get", json!({"taskId": "x"})),
                ("tasks/update", json!({"taskId": "x"})),
                ("tasks/cancel", json!({"taskId": "x"})),
                ("tasks/list", json!({})),
            ] {
                let line = match revision {
                    MODERN => modern(ALL, 1, method, params),
                    _ => plain(1, method, &params),
                };
                assert_eq!(code(&mut peer, line).await, -32601, "{revision} {method}");
            }
        }
    });
}

#[test]
fn parameters_of_the_wrong_kind_are_refused_one_by_one() {
    run(async {
        for revision in crate::peer::LEGACY.into_iter().chain([MODERN]) {
            let mut peer = match revision {
                MODERN => Peer::connect(rich()),
                _ => legacy(rich(), revision, ALL).await,
            };
            let mut cases = Vec::new();
            for bad in [json!(null), json!(5), json!(true), json!([]), json!({}), json!([1]), json!({"a": 1})]
            {
                cases.push(("resources/read", json!({"uri": bad}), -32602));
                cases.push(("prompts/get", json!({"name": bad}), -32602));
                cases.push(("tools/call", json!({"name": bad}), -32602));
                let reference = json!({"type": "ref/resource", "uri": "z:{a}"});
                let argument = json!({"name": "a", "value": ""});
                cases.push(("completion/complete", json!({"ref": bad, "argument": argument}), -32602));
                cases.push(("completion/complete", json!({"ref": reference, "argument": bad}), -32602));
                let part = json!({"name": "a", "value": bad});
                cases.push(("completion/complete", json!({"ref": reference, "argument": part}), -32602));
                if bad != json!({}) && bad != json!(null) {
                    if bad != json!({"a": 1}) {
                        let params = json!({"ref": reference, "argument": argument, "context": bad});
                        cases.push(("completion/complete", params, -32602));
                    }
                    let params =
                        json!({"ref": reference, "argument": argument, "context": {"arguments": bad}});
                    cases.push(("completion/complete", params, -32602));
                    cases.push(("prompts/get", json!({"name": "p", "arguments": bad}), -32602));
                }
                if !bad.is_null() {
                    for list in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
                        cases.push((list, json!({"cursor": bad}), -32602));
                    }
                }
                if revision == MODERN {
                    cases.push(("tasks/get", json!({"taskId": bad}), -32602));
                    cases.push(("tasks/cancel", json!({"taskId": bad}), -32602));
                    cases.push(("tasks/update", json!({"taskId": bad, "inputResponses": {}}), -32602));
                    if bad != json!({}) {
                        let params = json!({"notifications": {"resourceSubscriptions": bad}});
                        if bad != json!([]) {
                            cases.push(("subscriptions/listen", params, -32602));
                        }
                    }
                    let params = json!({"uri": "x:y", "notifications": {}, "_meta": {"io.modelcontextprotocol/logLevel": bad}});
                    for method in [
                        "resources/read",
                        "tools/list",
                        "prompts/list",
                        "resources/list",
                        "resources/templates/list",
                        "server/discover",
                        "subscriptions/listen",
                    ] {
                        cases.push((method, params.clone(), -32602));
                    }
                } else {
                    cases.push(("resources/subscribe", json!({"uri": bad}), -32602));
                    cases.push(("resources/unsubscribe", json!({"uri": bad}), -32602));
                    cases.push(("logging/setLevel", json!({"level": bad}), -32602));
                }
            }
            let unknown = if revision == MODERN { -32602 } else { -32002 };
            cases.push(("resources/read", json!({"uri": "no:such"}), unknown));
            cases.push(("resources/read", json!({"uri": ""}), unknown));
            cases.push(("prompts/get", json!({"name": "no"}), -32602));
            cases.push(("prompts/get", json!({"name": "p", "arguments": {"no": "x"}}), -32602));
            let argument = json!({"name": "a", "value": ""});
            for reference in [
                json!({"type": "ref/prompt", "name": "no"}),
                json!({"type": "ref/resource", "uri": "no:such"}),
                json!({"type": "ref/other", "uri": "z:{a}"}),
                json!({"type": "ref/prompt", "uri": "z:{a}"}),
            ] {
                cases.push(("completion/complete", json!({"ref": reference, "argument": argument}), -32602));
            }
            for cursor in [
                "",
                "0",
                "0.0",
                "1.1",
                "x",
                "9.99999999999999999999",
                "18446744073709551616.1",
                "-1.1",
                "1.-1",
            ] {
                for list in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
                    cases.push((list, json!({"cursor": cursor}), -32602));
                }
            }
            if revision == MODERN {
                for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
                    cases.push((method, json!({"taskId": "x", "inputResponses": {}}), -32602));
                }
                cases.push(("tasks/update", json!({"taskId": "x"}), -32602));
            } else {
                cases.push(("resources/subscribe", json!({"uri": "no:such"}), -32002));
                for level in ["Error", "", "verbose", "warn"] {
                    cases.push(("logging/setLevel", json!({"level": level}), -32602));
                }
            }
            for (method, params, expected) in cases {
                let line = match revision {
                    MODERN => modern(ALL, 1, method, params.clone()),
                    _ => plain(1, method, &params),
                };
                let reply = one(&mut peer, line).await;
                assert_eq!(reply["error"]["code"], expected, "{revision} {method} {params}: {reply}");
            }
        }
    });
}

#[test]
fn a_missing_client_capability_is_named_in_the_error() {
    use papertape::protocol::SamplingRequest;
    run(async {
        let server = || {
            named("s")
                .tool("form", ask_name)
                .tool("page", |_: Anything, cx: Cx| async move {
                    Ok(format!(
                        "{:?}",
                        cx.ask("x", papertape::server::UrlElicitation::new("?", "https://x"))?
                    ))
                })
                .tool("model", |_: Anything, cx: Cx| async move {
                    Ok(cx.ask("x", SamplingRequest::default())?.model)
                })
                .tool("tools", |_: Anything, cx: Cx| async move {
                    let mut request = SamplingRequest::default();
                    request.tools.push(papertape::protocol::ToolDefinition::default());
                    Ok(cx.ask("x", request)?.model)
                })
                .tool("roots", |_: Anything, cx: Cx| async move {
                    Ok(format!("{:?}", cx.ask("x", papertape::server::Roots)?))
                })
                .tool("both", |_: Anything, cx: Cx| async move {
                    cx.ask_both(("x", papertape::server::Roots), ("y", Form::<Name>::new("?")))?;
                    Ok("")
                })
                .resource("x:roots", |cx: Cx| async move {
                    Ok(format!("{:?}", cx.ask("x", papertape::server::Roots)?))
                })
        };
        let mut peer = Peer::connect(server());
        for (tool, able, required) in [
            ("form", r#"{"elicitation":{"url":{}}}"#, json!({"elicitation": {"form": {}}})),
            ("page", FORM, json!({"elicitation": {"url": {}}})),
            ("page", r#"{"elicitation":{}}"#, json!({"elicitation": {"url": {}}})),
            ("model", FORM, json!({"sampling": {}})),
            ("tools", r#"{"sampling":{}}"#, json!({"sampling": {"tools": {}}})),
            ("roots", r#"{"roots":[]}"#, json!({"roots": {}})),
            ("both", r#"{"roots":{}}"#, json!({"elicitation": {"form": {}}})),
        ] {
            let reply = one(&mut peer, modern(able, 1, "tools/call", json!({"name": tool}))).await;
            assert_eq!(reply["error"]["code"], -32021, "{tool}: {reply}");
            assert_eq!(reply["error"]["data"], json!({"requiredCapabilities": required}), "{tool}");
        }
        // All that is lacking, not the first of it only.
        let reply = one(&mut peer, modern("{}", 1, "tools/call", json!({"name": "both"}))).await;
        let all = json!({"roots": {}, "elicitation": {"form": {}}});
        assert_eq!(reply["error"]["data"]["requiredCapabilities"], all, "{reply}");
        let reply = one(&mut peer, modern("{}", 1, "resources/read", json!({"uri": "x:roots"}))).await;
        assert_eq!(reply["error"]["code"], -32021, "{reply}");
        let mut peer = legacy(server(), "2025-11-25", "{}").await;
        for tool in ["form", "page", "model", "tools", "roots", "both"] {
            let reply = one(&mut peer, plain(1, "tools/call", &json!({"name": tool}))).await;
            assert_eq!(reply["result"]["isError"], true, "{reply}");
        }
    });
}

#[test]
fn a_not_found_error_of_a_handler_is_sent_as_not_found() {
    run(async {
        // "neither does one for which the function fails with ToolError::refused" (Server::resource_template)
        for (revision, expected) in [("2025-11-25", -32002), (MODERN, -32602)] {
            let server = named("s").resource_template("x:{n}", |_: BTreeMap<String, String>, _| async {
                Err::<String, _>(ToolError::refused("there is none"))
            });
            let mut peer = match revision {
                MODERN => Peer::connect(server),
                _ => legacy(server, revision, "{}").await,
            };
            let line = match revision {
                MODERN => modern("{}", 1, "resources/read", json!({"uri": "x:1"})),
                _ => plain(1, "resources/read", &json!({"uri": "x:1"})),
            };
            assert_eq!(code(&mut peer, line).await, expected, "{revision}");
        }
    });
}

/// Absent and null are the same, for what need not be there.
#[test]
fn null_is_as_good_as_absent() {
    run(async {
        let mut peer = Peer::connect(rich());
        let reference = json!({"type": "ref/resource", "uri": "z:{a}"});
        for (method, params) in [
            (
                "completion/complete",
                json!({"ref": reference, "argument": {"name": "a", "value": ""}, "context": null}),
            ),
            (
                "completion/complete",
                json!({"ref": reference, "argument": {"name": "a", "value": ""}, "context": {"arguments": null}}),
            ),
            ("prompts/get", json!({"name": "p", "arguments": null})),
            ("tools/call", json!({"name": "t", "arguments": null})),
            ("resources/list", json!({"cursor": null})),
        ] {
            let replies = peer.line(modern("{}", 1, method, params.clone())).await;
            assert!(replies.last().unwrap()["result"].is_object(), "{method} {params}: {replies:?}");
        }
    });
}
