use std::sync::{Arc, Mutex};

use papertape::Client;
use papertape::client::{CallOptions, ClientOptions};
use papertape::protocol::{ElicitResult, Revision};
use papertape::stdio::ServerCommand;
use serde_json::json;
use tokio::select;
use tokio::sync::Notify;

use crate::run::{connect_with, path};

fn user() -> ClientOptions {
    ClientOptions::new().on_form(|form| async move {
        assert!(form.message.contains("are free"), "{}", form.message);
        ElicitResult::accept([("place", json!("balcony")), ("name", json!("Ada"))])
    })
}

async fn connect(options: ClientOptions) -> Client {
    connect_with(ServerCommand::new(path("elicitation")), options).await
}

async fn free_seats(client: &Client) -> String {
    client.call("free_seats", json!({})).await.unwrap().text()
}

#[tokio::test]
async fn seats_are_booked_with_progress_in_every_revision() {
    for revision in [Revision::MODERN, Revision::V2025_06_18] {
        let client = connect(user().revision(revision)).await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let progress = Arc::clone(&seen);
        let options =
            CallOptions::new().on_progress(move |p| progress.lock().unwrap().push((p.progress, p.total)));
        let result = client.call_with("book_seats", json!({"count": 3}), options).await.unwrap();
        assert_eq!(result.text(), "3 seats for Ada: Balcony.");
        assert_eq!(seen.lock().unwrap().last(), Some(&(3.0, Some(3.0))));
        assert_eq!(free_seats(&client).await, "197");
        client.close().await;
    }
}

#[tokio::test]
async fn a_cancelled_call_gives_its_seats_back() {
    let client = connect(user()).await;
    let begun = Arc::new(Notify::new());
    let first = Arc::clone(&begun);
    let options = CallOptions::new().on_progress(move |_| first.notify_one());
    select! {
        result = client.call_with("book_seats", json!({"count": 100}), options) => unreachable!("{result:?}"),
        () = begun.notified() => {}
    }
    // The call has been dropped, so the server is told; it ends the call in its own time.
    while free_seats(&client).await != "200" {}
    client.close().await;
}

#[tokio::test]
async fn without_an_answer_nothing_is_booked() {
    let client = connect(ClientOptions::new().on_form(async |_| ElicitResult::decline())).await;
    let result = client.call("book_seats", json!({"count": 3})).await.unwrap();
    assert_eq!(result.text(), "Nothing was booked.");
    client.close().await;

    let client = connect(ClientOptions::new()).await;
    let result = client.call("book_seats", json!({"count": 3})).await.unwrap();
    assert!(result.is_error && result.text().contains("cannot ask"), "{result:?}");
    client.close().await;
}
