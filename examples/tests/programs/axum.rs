use papertape::Client;
use papertape::client::{ClientError, ClientOptions, ErrorKind};
use papertape::http::{self, Credentials, Endpoint};
use papertape::protocol::Revision;
use serde_json::json;

use crate::run::Program;

async fn connect(program: &Program, token: &str) -> Result<Client, ClientError> {
    let endpoint = Endpoint::new(program.url()).credentials(Credentials::Bearer(token.to_owned()));
    http::connect_with(endpoint, ClientOptions::new()).await
}

#[tokio::test]
async fn users_see_their_own_tasks_and_need_a_scope_to_add_some() {
    let program = Program::start("axum", ["127.0.0.1:0"]).await;
    let alice = connect(&program, "alice-secret").await.unwrap();
    alice.call("add_task", json!({"text": "water the tea plant"})).await.unwrap();
    let tasks = alice.call("list_tasks", json!({})).await.unwrap().structured_content.unwrap();
    assert_eq!(tasks.to_value().unwrap(), json!(["water the tea plant"]));

    let bob = connect(&program, "bob-secret").await.unwrap();
    let tasks = bob.call("list_tasks", json!({})).await.unwrap().structured_content.unwrap();
    assert_eq!(tasks.to_value().unwrap(), json!([]));
    let refused = bob.call("add_task", json!({"text": "x"})).await.unwrap_err();
    assert!(refused.to_string().contains("tasks:write"), "{refused}");

    let unknown = connect(&program, "guessed").await.unwrap_err();
    assert!(matches!(unknown.kind(), ErrorKind::Unauthorized(_)), "{unknown:?}");
}

#[tokio::test]
async fn sigterm_ends_it_while_a_client_is_connected() {
    let program = Program::start("axum", ["127.0.0.1:0"]).await;
    let endpoint = Endpoint::new(program.url()).credentials(Credentials::Bearer("bob-secret".to_owned()));
    // A client of this revision keeps a stream open.
    let options = ClientOptions::new().revision(Revision::V2025_11_25);
    let bob = http::connect_with(endpoint, options).await.unwrap();
    bob.call("list_tasks", json!({})).await.unwrap();
    let exit = program.terminate().await;
    assert!(exit.success(), "{exit:?}");
}
