//! MCP Apps: what is declared, what clients with and without the extension get, and which pages a server refuses to start with.

use std::sync::{Arc, Mutex};

use papertape::client::ClientOptions;
use papertape::protocol::apps::{APP_MIME_TYPE, APPS};
use papertape::protocol::{CacheScope, Csp, Revision};
use papertape::server::{App, Limits, Resource, ResourceTemplate, SetupError, Tool};
use papertape::{Client, Cx, Json, Server, ToolError, memory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::peer::{LEGACY, MODERN, Peer, request, run};

const PAGE: &str = "ui://weather/today";
const HTML: &str = "<!doctype html><title>Weather</title><p id=sky>";

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Serialize, JsonSchema)]
struct Sky {
    sky: &'static str,
    in_a_page: bool,
}

async fn sky(_: Nothing, cx: Cx) -> Result<Json<Sky>, ToolError> {
    Ok(Json(Sky { sky: "blue", in_a_page: cx.client_supports_apps() }))
}

fn page() -> App {
    App::new(PAGE, HTML)
        .name("today")
        .csp(Csp::none().connect("https://api.example.com").resources("https://*.example.com"))
        .camera()
        .domain("weather.example.com")
        .prefers_border(true)
}

/// One tool with a page, one for pages only, one for models only, one with `_meta` of its own, and one as ever.
fn server() -> Server {
    Server::new("weather", "1.0.0")
        .app(page())
        .tool(Tool::new("weather").ui(PAGE).meta("example.com/unit", json!("°C")), sky)
        .tool(Tool::new("refresh").app_only(), sky)
        .tool(Tool::new("explain").model_only(), sky)
        .tool("plain", sky)
        .resource("weather://raw", async |_| Ok("blue"))
}

async fn open(server: Server, revision: Revision, apps: bool) -> Client {
    let options = ClientOptions::new().revision(revision);
    memory::connect_with(server, if apps { options.apps() } else { options }).await.unwrap()
}

fn has_apps(revision: Revision) -> bool {
    // A tool names its page in `_meta`, which tools have since then.
    revision.has_structured_output()
}

#[test]
fn a_client_with_apps_gets_the_pages() {
    run(async {
        for revision in Revision::ALL.into_iter().filter(|revision| has_apps(*revision)) {
            let client = open(server(), revision, true).await;
            let tools = client.tools().await.unwrap();
            let tools: Vec<_> = tools.iter().map(|tool| (tool.item.name.as_str(), tool.item.ui())).collect();
            let [(_, weather), (_, refresh), (_, explain), plain] = &tools[..] else {
                panic!("{revision}: {tools:?}")
            };
            let weather = weather.as_ref().unwrap();
            assert_eq!(weather.resource_uri.as_deref(), Some(PAGE));
            assert!(weather.for_model() && weather.for_app());
            let refresh = refresh.as_ref().unwrap();
            assert!(!refresh.for_model() && refresh.for_app());
            let explain = explain.as_ref().unwrap();
            assert!(explain.for_model() && !explain.for_app());
            assert_eq!(*plain, ("plain", None));

            let resources = client.resources().await.unwrap();
            let listed = &resources[0].item;
            assert_eq!((listed.uri.as_str(), listed.name.as_str()), (PAGE, "today"));
            assert_eq!(listed.mime_type.as_deref(), Some("text/html;profile=mcp-app"));

            let read = &client.read(PAGE).await.unwrap()[0];
            assert_eq!((read.uri.as_str(), read.mime_type.as_deref()), (PAGE, Some(APP_MIME_TYPE)));
            assert_eq!(read.text.as_deref(), Some(HTML));
            let ui = json!({
                "csp": {
                    "connectDomains": ["https://api.example.com"],
                    "resourceDomains": ["https://*.example.com"],
                },
                "permissions": {"camera": {}},
                "domain": "weather.example.com",
                "prefersBorder": true,
            });
            assert_eq!(serde_json::to_value(read.ui().unwrap()).unwrap(), ui);
            assert_eq!(Value::Object(read.meta.clone().unwrap())["ui"], ui);

            for tool in ["weather", "refresh"] {
                let result = client.call(tool, json!({})).await.unwrap();
                let structured = result.structured_content.unwrap().to_value().unwrap();
                assert_eq!(structured, json!({"sky": "blue", "in_a_page": true}), "{revision}");
                assert!(!result.content.is_empty());
            }
        }
    });
}

/// `_meta.ui` is for those that have negotiated it, and a tool that models must not see is not listed where a host would not know.
#[test]
fn a_client_without_apps_gets_the_tools_without_pages() {
    run(async {
        for (revision, apps) in Revision::ALL
            .map(|revision| (revision, false))
            .into_iter()
            .chain(Revision::ALL.into_iter().filter(|revision| !has_apps(*revision)).map(|old| (old, true)))
        {
            let client = open(server(), revision, apps).await;
            let tools = client.tools().await.unwrap();
            let names: Vec<&str> = tools.iter().map(|tool| tool.item.name.as_str()).collect();
            assert_eq!(names, ["weather", "explain", "plain"], "{revision}");
            let metas: Vec<_> = tools.iter().map(|tool| tool.item.meta.clone().map(Value::Object)).collect();
            let own = has_apps(revision).then(|| json!({"example.com/unit": "°C"}));
            assert_eq!(metas, [own, None, None], "{revision}");
            let resources = client.resources().await.unwrap();
            let uris: Vec<&str> = resources.iter().map(|resource| resource.item.uri.as_str()).collect();
            assert_eq!(uris, ["weather://raw"], "{revision}");

            let unknown = client.call("nothing", json!({})).await.unwrap_err().to_string();
            assert!(unknown.contains("the tools are weather, explain, plain"), "{revision}: {unknown}");

            // They are not secret: what is not listed can still be used.
            assert_eq!(client.read(PAGE).await.unwrap()[0].text.as_deref(), Some(HTML));
            let result = client.call("refresh", json!({})).await.unwrap();
            let text = result.content[0].as_text().unwrap().to_owned();
            assert_eq!(text, r#"{"sky":"blue","in_a_page":false}"#, "{revision}");
        }
    });
}

#[test]
fn a_server_declares_apps_if_it_has_some_where_extensions_are_declared() {
    run(async {
        for revision in LEGACY.into_iter().chain([MODERN]) {
            for (server, has_apps) in
                [(server(), true), (Server::new("plain", "1").tool("plain", sky), false)]
            {
                let mut peer = Peer::connect(server);
                let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}});
                let line = if revision == MODERN {
                    request(MODERN, "1", "server/discover", json!({}))
                } else {
                    request(revision, "1", "initialize", params)
                };
                let replies = peer.line(line).await;
                let extensions = &replies[0]["result"]["capabilities"]["extensions"];
                let wanted = if has_apps && revision == MODERN { json!({APPS: {}}) } else { json!(null) };
                assert_eq!(*extensions, wanted, "{revision}");
            }
        }
    });
}

/// M-28: the settings must have our MIME type; extensions ride in `initialize` of older revisions too.
#[test]
fn apps_are_negotiated_by_mime_type() {
    run(async {
        let pages = json!({"mimeTypes": [APP_MIME_TYPE]});
        let both = json!({"mimeTypes": ["text/uri-list", "text/html; profile=\"mcp-app\""]});
        let settings = [
            (pages, true),
            (both, true),
            (json!({}), false),
            (json!({"mimeTypes": []}), false),
            (json!({"mimeTypes": ["text/html"]}), false),
            (json!({"mimeTypes": APP_MIME_TYPE}), false),
            (json!(true), false),
            (json!(null), false),
        ];
        for revision in ["2025-06-18", "2025-11-25", MODERN] {
            for (settings, negotiated) in &settings {
                let capabilities = json!({"extensions": {APPS: settings}});
                let mut peer = Peer::connect(server());
                let line = if revision == MODERN {
                    let meta = json!({
                        "io.modelcontextprotocol/protocolVersion": MODERN,
                        "io.modelcontextprotocol/clientCapabilities": capabilities,
                    });
                    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}})
                        .to_string()
                } else {
                    let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": {"name": "a", "version": "1"}});
                    peer.line(request(revision, "0", "initialize", params)).await;
                    peer.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
                    request(revision, "1", "tools/list", json!({}))
                };
                let replies = peer.line(line).await;
                let tools = replies[0]["result"]["tools"].as_array().unwrap();
                let refresh = tools.iter().any(|tool| tool["name"] == "refresh");
                assert_eq!(refresh, *negotiated, "{revision} {settings}");
                let ui = tools[0]["_meta"]["ui"]["resourceUri"] == PAGE;
                assert_eq!(ui, *negotiated, "{revision} {settings}");
            }
        }
    });
}

/// In one connection, each stateless request is served by its own capabilities, so the list is not for shared caches.
#[test]
fn stateless_lists_follow_each_request() {
    run(async {
        let server = server().cache(std::time::Duration::from_secs(60), CacheScope::Public);
        let mut peer = Peer::connect(server);
        for (capabilities, count) in [
            (json!({}), 3),
            (json!({"extensions": {APPS: {"mimeTypes": [APP_MIME_TYPE]}}}), 4),
            (json!({}), 3),
        ] {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": capabilities,
            });
            let line = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
            let result = &peer.line(line.to_string()).await[0]["result"];
            assert_eq!(result["tools"].as_array().unwrap().len(), count);
            assert_eq!(result["cacheScope"], "private");
            // Prompts are the same for all.
            let prompts = request(MODERN, "2", "prompts/list", json!({}));
            assert_eq!(peer.line(prompts).await[0]["error"]["code"], -32601);
            let templates = request(MODERN, "3", "resources/templates/list", json!({}));
            assert_eq!(peer.line(templates).await[0]["result"]["cacheScope"], "public");
        }
    });
}

#[test]
fn pages_of_lists_leave_out_what_is_for_apps() {
    run(async {
        let limits = Limits { page: 1, ..Limits::default() };
        let client = open(server().limits(limits.clone()), Revision::MODERN, false).await;
        let names: Vec<String> =
            client.tools().await.unwrap().into_iter().map(|tool| tool.item.name).collect();
        assert_eq!(names, ["explain", "plain", "weather"]);
        let client = open(server().limits(limits), Revision::MODERN, true).await;
        assert_eq!(client.tools().await.unwrap().len(), 4);
    });
}

#[test]
fn a_tool_that_comes_later_is_listed_by_the_same_rules() {
    run(async {
        for apps in [false, true] {
            let mut server = server();
            let tools = server.tools();
            let client = open(server, Revision::MODERN, apps).await;
            let before = client.tools().await.unwrap().len();
            tools.add(Tool::new("late").app_only(), sky).unwrap();
            assert_eq!(client.tools().await.unwrap().len(), before + usize::from(apps));
            assert!(tools.remove("late"));
            assert!(tools.add(Tool::new("elsewhere").ui("https://example.com"), sky).is_err());
        }
    });
}

#[test]
fn a_mounted_server_keeps_its_pages() {
    run(async {
        let all = Server::new("all", "1.0.0").mount("w", server());
        let client = open(all, Revision::MODERN, true).await;
        let tools = client.tools().await.unwrap();
        assert_eq!(tools[0].item.name, "w_weather");
        assert_eq!(tools[0].item.ui().unwrap().resource_uri.as_deref(), Some(PAGE));
        assert_eq!(client.read(PAGE).await.unwrap()[0].text.as_deref(), Some(HTML));
        assert!(client.capabilities().extensions.as_ref().unwrap().contains_key(APPS));
    });
}

/// What a client of ours declares, and that it declares nothing where tools have no `_meta`.
#[test]
fn a_client_declares_that_it_shows_pages() {
    run(async {
        for revision in Revision::ALL {
            for apps in [false, true] {
                let frames: Arc<Mutex<String>> = Arc::default();
                let seen = Arc::clone(&frames);
                let options = ClientOptions::new().revision(revision).on_frame(move |frame| {
                    seen.lock().unwrap().push_str(&String::from_utf8_lossy(frame.bytes));
                });
                let options = if apps { options.apps() } else { options };
                let client = memory::connect_with(server(), options).await.unwrap();
                client.call("plain", json!({})).await.unwrap();
                client.close().await;
                let declared = format!(r#""extensions":{{"{APPS}":{{"mimeTypes":["{APP_MIME_TYPE}"]}}"#);
                let sent = frames.lock().unwrap().contains(&declared);
                assert_eq!(sent, apps && has_apps(revision), "{revision}: {}", frames.lock().unwrap());
            }
        }
    });
}

#[test]
fn a_server_with_a_page_that_cannot_be_shown_does_not_start() {
    let app = |app: App| Server::new("a", "1").app(app).check().unwrap_err().to_string();
    for uri in ["", "ui://", "https://example.com/page", "UI://a"] {
        let problem = app(App::new(uri, HTML));
        assert!(problem.contains("its URI must begin with ui://"), "{problem}");
    }
    for html in ["", "<p>", "<!doctype", "<!-- <!doctype html>"] {
        let problem = app(App::new(PAGE, html));
        assert!(problem.contains("begins with <!doctype html>"), "{problem}");
    }
    for html in ["\u{feff}<!DOCTYPE html><p>", "\n<!-- a --> <!-- b --><!doctype html>"] {
        Server::new("a", "1").app(App::new(PAGE, html)).check().unwrap();
    }
    for origin in
        ["example.com", "https://a.com; script-src *", "'unsafe-eval'", "https://example.com/api", "data:"]
    {
        let lists = [
            Csp::none().connect(origin),
            Csp::none().resources(origin),
            Csp::none().frames(origin),
            Csp::none().base_uri(origin),
        ];
        for csp in lists {
            let problem = app(App::new(PAGE, HTML).csp(csp));
            assert!(problem.contains("is not an origin: write one as https://example.com"), "{problem}");
        }
    }
    let twice = Server::new("a", "1").app(page()).app(page()).check().unwrap_err();
    assert!(matches!(twice, SetupError::Duplicate { .. }), "{twice}");
}

#[test]
fn a_tool_with_a_page_that_is_not_there_does_not_start() {
    let problem = |server: Server| server.check().unwrap_err().to_string();
    let tool = |uri: &str| Server::new("a", "1").tool(Tool::new("weather").ui(uri), sky);
    assert_eq!(
        problem(tool("https://example.com")),
        "app \"https://example.com\": tool \"weather\" names it as its page, but the URI of a page begins with ui://"
    );
    assert_eq!(
        problem(tool(PAGE)),
        format!("app \"{PAGE}\": tool \"weather\" names it as its page: add it with Server::app")
    );
    // Something else is at its URI.
    assert!(problem(tool(PAGE).resource(PAGE, async |_| Ok(HTML))).contains("Server::app"));
    assert!(tool(PAGE).build().is_err());

    // What another server says of its tool is not checked.
    let elsewhere = Tool::new("weather").meta("ui", json!({"resourceUri": PAGE}));
    Server::new("a", "1").tool(elsewhere, sky).check().unwrap();

    // Pages can be made in other ways, and in any order.
    tool(PAGE).app(page()).check().unwrap();
    tool(PAGE).resource(Resource::new(PAGE).mime_type(APP_MIME_TYPE), async |_| Ok(HTML)).check().unwrap();
    let template = ResourceTemplate::new("ui://weather/{name}").mime_type(APP_MIME_TYPE);
    tool(PAGE).resource_template(template, async |_: Value, _| Ok(HTML)).check().unwrap();
    let mut later = tool(PAGE);
    let _resources = later.resources();
    later.check().unwrap();
}
