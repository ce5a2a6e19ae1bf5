//! Names with the prefix of their server, both ways.

use std::time::Duration;

use papertape::client::{CallOptions, Clients, ErrorKind};
use papertape::protocol::Revision;
use papertape::server::Prompt;
use papertape::{Cx, Server};
use serde_json::{Map, json};
use tokio::time::Instant;

use super::{call, connect, names, refused, with_tools};
use crate::client::{patient, scripted};
use crate::peer::run;

/// The names of all tools, which must be ones that model APIs accept.
async fn listed(clients: &Clients) -> Vec<String> {
    let tools = clients.tools().await;
    assert!(tools.failures.is_empty(), "{:?}", tools.failures);
    let names: Vec<String> = tools.items().map(|tool| tool.name.clone()).collect();
    for name in &names {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!((1..=64).contains(&name.len()) && name.chars().all(is_allowed), "{name}");
    }
    names
}

#[test]
fn lists_are_merged_and_calls_find_their_server() {
    run(async {
        let mut clients = Clients::new();
        clients.add("one", with_tools(&["a", "b"]).await);
        clients.add("two", with_tools(&["a"]).await);
        // Without a list before.
        assert_eq!(call(&clients, "two_a").await, "a");
        assert_eq!(listed(&clients).await, ["one_a", "one_b", "two_a"]);
        let tools = clients.tools().await.entries;
        assert_eq!((tools[2].server.as_str(), tools[2].name.as_str()), ("two", "a"));
        assert_eq!(call(&clients, "one_b").await, "b");
        assert!(clients.get("one").is_some() && clients.get("three").is_none());
        assert_eq!(clients.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["one", "two"]);
        clients.close().await;
    });
}

#[test]
fn a_name_belongs_to_one_server_whatever_its_tools_are_called() {
    run(async {
        let mut clients = Clients::new();
        clients.add("a", with_tools(&["b_c"]).await);
        clients.add("a_b", with_tools(&["c"]).await);
        clients.add("a b", with_tools(&["d"]).await);
        clients.add("", with_tools(&["e"]).await);
        let names = listed(&clients).await;
        assert_eq!(names, ["a_b_c", "a-b_c", "a-b-2_d", "server_e"]);
        for (name, tool) in names.iter().zip(["b_c", "c", "d", "e"]) {
            assert_eq!(call(&clients, name).await, tool, "{name}");
        }
    });
}

#[test]
fn names_of_servers_in_other_scripts_do_not_collide() {
    run(async {
        let add = async |names: [&str; 2]| {
            let mut clients = Clients::new();
            for name in names {
                clients.add(name, with_tools(&["a"]).await);
            }
            clients
        };
        let clients = add(["日本", "メモ"]).await;
        let names = listed(&clients).await;
        assert!(names.iter().all(|name| name.starts_with("server-") && name.ends_with("_a")), "{names:?}");
        // They do not depend on the order of the servers.
        let mut others = listed(&add(["メモ", "日本"]).await).await;
        others.reverse();
        assert_eq!(names, others);
        assert_ne!(names[0], names[1]);
        assert_eq!(call(&clients, &names[1]).await, "a");
    });
}

#[test]
fn names_that_apis_refuse_are_changed_and_found_again() {
    const LONG: &str = "a_tool_whose_name_is_so_long_that_with_the_name_of_its_server_it_is_too_long";
    run(async {
        let connect = async || {
            let mut clients = Clients::new();
            clients.add("my server/é", with_tools(&["get.weather", "get/weather", LONG, "plain"]).await);
            clients
        };
        let clients = connect().await;
        let names = listed(&clients).await;
        assert!(names[3].starts_with("my_server_-") && names[3].ends_with("_plain"), "{names:?}");
        // A new process knows the same names, before it has listed the tools.
        let others = connect().await;
        for (name, tool) in names.iter().zip(["get.weather", "get/weather", LONG, "plain"]) {
            assert_eq!(call(&others, name).await, tool, "{name}");
            assert_eq!(call(&clients, name).await, tool, "{name}");
        }
    });
}

#[test]
fn an_unknown_name_is_explained() {
    run(async {
        let mut clients = Clients::new();
        assert!(refused(&clients, "one_a").await.contains("there is none"));
        clients.add("one", with_tools(&["a"]).await);
        let error = refused(&clients, "conjugate").await;
        assert!(error.contains("calling the tool \"conjugate\"") && error.contains("(one_)"), "{error}");
        // The server knows its own tools.
        let error = clients.call("one_b", json!({})).await.unwrap_err().to_string();
        assert!(error.contains("calling the tool \"b\" of the server \"one\""), "{error}");
    });
}

#[test]
fn prompts_have_prefixes_too() {
    let server = |text: &'static str| {
        Server::new("prompts", "1")
            .prompt(Prompt::new("re.view"), move |_: (), _: Cx| async move { Ok(text.to_owned()) })
    };
    run(async {
        let mut clients = Clients::new();
        clients.add("one", connect(server("first")).await);
        clients.add("two", connect(server("second")).await);
        let prompts = clients.prompts().await;
        assert_eq!(prompts.entries[1].name, "re.view");
        let name = prompts.entries[1].item.name.clone();
        let result = clients.prompt(&name, Map::new()).await.unwrap();
        assert!(format!("{result:?}").contains("second"), "{result:?}");
        assert!(clients.prompt("three_x", Map::new()).await.is_err());
        // None of them has tools, and that is no failure.
        assert!(clients.tools().await.entries.is_empty());
    });
}

#[test]
fn a_server_of_the_same_name_is_replaced() {
    run(async {
        let mut clients: Clients = [("one", with_tools(&["a"]).await)].into_iter().collect();
        let old = clients.add("one", with_tools(&["b"]).await).unwrap();
        assert_eq!(old.tools().await.unwrap()[0].item.name, "a");
        assert_eq!(call(&clients, "one_b").await, "b");
        assert_eq!(names(clients.failures()), [""; 0]);
    });
}

/// Requests can be spawned.
#[test]
fn futures_are_send() {
    fn is_send<T: Send>(_: T) {}
    let clients = Clients::new();
    is_send(clients.call("a_b", json!({})));
    is_send(clients.read("note:1"));
    is_send(clients.prompt("a_b", Map::new()));
    is_send(clients.tools());
    is_send(Clients::from_config("mcp.json"));
    is_send(clients.close());
}

#[test]
fn a_tool_is_resolved_and_called_with_types() {
    run(async {
        let clients: Clients = [("lab", with_tools(&["re.port", "list"]).await)].into_iter().collect();
        let names = listed(&clients).await;
        for (name, tool) in names.iter().zip(["re.port", "list"]) {
            let (client, own) = clients.resolve(name).await.unwrap();
            assert_eq!((client.server().name.as_str(), own.as_str()), ("tools", tool));
            assert_eq!(clients.call_as::<String>(name, json!({})).await.unwrap(), tool);
        }
        let error = clients.resolve("other_list").await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotFound(_)), "{error:?}");
        let error = clients.call_as::<u32>("lab_list", json!({})).await.unwrap_err().to_string();
        assert!(error.contains("of the server \"lab\""), "{error}");
    });
}

#[test]
fn a_server_that_hangs_does_not_delay_calls_of_others() {
    const LONG: &str = "a_tool_whose_name_is_so_long_that_with_the_name_of_its_server_it_is_too_long";
    run(async {
        let listed = {
            let mut clients = Clients::new();
            clients.add("well", with_tools(&[LONG]).await);
            listed(&clients).await
        };
        // It leaves every request but the first without a response.
        let hanging =
            scripted::connect(patient().revision(Revision::NEWEST_LEGACY), |message| match message["method"]
                .as_str()
            {
                Some("initialize") => vec![scripted::opened(message)],
                _ => vec![],
            });
        let mut clients = Clients::new();
        clients.add("hanging", hanging.await.unwrap());
        clients.add("well", with_tools(&[LONG]).await);
        // The name is not known before the tools are listed: those of its server.
        assert_eq!(call(&clients, &listed[0]).await, LONG);
        // A merged list waits for it, for as long as the options for this server say.
        let (began, second) = (Instant::now(), Duration::from_secs(1));
        let options = |server: &str| match server {
            "hanging" => CallOptions::new().timeout(second).total_timeout(second),
            _ => CallOptions::new(),
        };
        let tools = clients.tools_with(options).await;
        assert_eq!((super::names(&tools.failures), tools.entries.len()), (vec!["hanging"], 1));
        // Time is paused: what has elapsed is what was waited for.
        assert_eq!(began.elapsed().as_secs(), 1);
    });
}
