//! One server that is served in several ways at once.

use papertape::client::{Change, Client, SubscriptionFilter};
use papertape::{Cx, Server, http, memory, unix};
use serde_json::json;
use tokio::net::TcpListener;

use crate::scripted::text_of;

async fn subscribed(client: &Client) -> papertape::client::Subscription {
    client.listen(SubscriptionFilter::new().tools()).await.unwrap()
}

#[test]
fn a_tool_added_at_run_time_is_seen_by_the_clients_of_all_transports() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut server =
            Server::new("one", "1").tool("first", async |_: (), _: Cx| Ok(String::from("the first")));
        let tools = server.tools();
        let service = server.build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let serving_http = tokio::spawn(http::serve_until(
            listener,
            service.clone(),
            http::Options::new(),
            std::future::pending(),
        ));
        // The options of one way to serve it do not change the others.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stateless = format!("http://{}/mcp", listener.local_addr().unwrap());
        let options = http::Options::new().modern_only();
        let serving_stateless =
            tokio::spawn(http::serve_until(listener, service.clone(), options, std::future::pending()));
        let path = std::env::temp_dir().join(format!("papertape-one-{}.sock", std::process::id()));
        let socket = unix::Listener::bind(&path).unwrap();
        let serving_unix = tokio::spawn(unix::serve_until(socket, service.clone(), std::future::pending()));
        let clients = [
            http::connect(&url).await.unwrap(),
            http::connect(&stateless).await.unwrap(),
            unix::connect(&path).await.unwrap(),
            memory::connect(service.clone()).await.unwrap(),
            memory::connect(service).await.unwrap(),
        ];
        let mut subscriptions = Vec::new();
        for client in &clients {
            assert_eq!(text_of(&client.call("first", json!({})).await.unwrap()), "the first");
            subscriptions.push(subscribed(client).await);
        }
        tools.add("second", async |_: (), _: Cx| Ok(String::from("the second"))).unwrap();
        for (client, subscription) in clients.iter().zip(&mut subscriptions) {
            assert_eq!(subscription.next().await.unwrap(), Some(Change::Tools));
            let listed: Vec<_> =
                client.tools().await.unwrap().into_iter().map(|tool| tool.item.name).collect();
            assert_eq!(listed, ["first", "second"]);
            assert_eq!(text_of(&client.call("second", json!({})).await.unwrap()), "the second");
        }
        for serving in [serving_http, serving_stateless, serving_unix] {
            serving.abort();
        }
    });
}
