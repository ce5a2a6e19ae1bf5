use papertape::client::ClientOptions;
use papertape::stdio::ServerCommand;
use papertape::{http, unix};
use serde_json::json;

use crate::run::{connect_with, path};

#[tokio::test]
async fn clients_of_all_transports_share_one_server() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("counter.sock");
    let command =
        ServerCommand::new(path("several_transports")).args(["127.0.0.1:0".as_ref(), socket.as_os_str()]);
    let over_stdio = connect_with(command, ClientOptions::new()).await;
    let url = over_stdio.call("url", json!({})).await.unwrap().text();
    let clients =
        [http::connect(&url).await.unwrap(), unix::connect(&socket).await.unwrap(), over_stdio.clone()];
    for (client, expected) in clients.iter().zip(["1", "2", "3"]) {
        assert_eq!(client.call("count", json!({})).await.unwrap().text(), expected);
    }
    // The program ends with its client on stdio, and leaves no socket behind.
    drop(clients);
    let exit = over_stdio.close().await;
    assert!(exit.is_some_and(|exit| exit.success()), "{exit:?}");
    assert!(!socket.exists());
}
