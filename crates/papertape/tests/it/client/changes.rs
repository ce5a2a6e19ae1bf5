//! Servers that tell of changes: when asked, unasked, wrongly, or not at all.

use papertape::{Change, Interests, Subscription};
use serde_json::json;

use super::{
    SHORT, code, end, heard, is_closed, legacy, lives, lives_and_ends, open, open_with, patient, report, run,
    says, text, timed_out,
};

const FILE: &str = "file:///a";

fn all() -> Interests {
    Interests::new().tools().prompts().resources().resource(FILE)
}

/// What comes until the subscription ends.
async fn rest(mut subscription: Subscription) -> Vec<Change> {
    let mut changes = Vec::new();
    while let Some(change) = subscription.next().await.unwrap() {
        changes.push(change);
    }
    changes
}

fn told() -> [Change; 3] {
    [Change::Tools, Change::Resources, Change::Resource(FILE.to_owned())]
}

#[test]
fn changes_are_told_as_long_as_somebody_listens() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["changes"], options).await;
            let mut changes = client.listen(all()).await.unwrap();
            // There are no prompts.
            assert_eq!(*changes.honoured(), Interests::new().tools().resources().resource(FILE));
            for _ in 0..2 {
                assert!(text(&client, "fault").await.starts_with("told"));
                for change in told() {
                    assert_eq!(changes.next().await.unwrap(), Some(change));
                }
            }
            drop(changes);
            let last = heard(&client).await.pop().unwrap();
            if client.revision().opens_with_handshake() {
                assert_eq!(last, "resources/unsubscribe");
            } else {
                assert_eq!(last, "notifications/cancelled");
                assert_eq!(text(&client, "fault").await, "told 0");
            }
            lives_and_ends(client).await;
        }
    });
}

#[test]
fn only_what_was_asked_for_is_told() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["changes"], options).await;
            let mut tools = client.listen(Interests::new().tools()).await.unwrap();
            let mut resources = client.listen(Interests::new().resources()).await.unwrap();
            let none = client.listen(Interests::new()).await.unwrap();
            assert_eq!(*none.honoured(), Interests::new());
            assert!(text(&client, "fault").await.starts_with("told"));
            assert_eq!(tools.next().await.unwrap(), Some(Change::Tools));
            assert_eq!(resources.next().await.unwrap(), Some(Change::Resources));
            end(client).await;
            assert_eq!(rest(tools).await, []);
            assert_eq!(rest(resources).await, []);
            assert_eq!(rest(none).await, []);
        }
    });
}

#[test]
fn a_change_that_waits_to_be_read_is_told_once() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["changes"], options).await;
            let changes = client.listen(Interests::new().tools()).await.unwrap();
            for _ in 0..3 {
                assert!(text(&client, "fault").await.starts_with("told"));
            }
            end(client).await;
            assert_eq!(rest(changes).await, [Change::Tools]);
        }
    });
}

#[test]
fn a_subscription_that_the_server_ends_is_over_after_what_was_told() {
    run(async {
        for how in ["result", "cancelled", "both"] {
            let client = open(&["changes", how]).await;
            let changes = client.listen(all()).await.unwrap();
            assert_eq!(rest(changes).await, told(), "{how}");
            // What is over is not taken back.
            assert_eq!(report(&client, "was_cancelled").await, json!([]));
            lives_and_ends(client).await;
        }
    });
}

#[test]
fn a_subscription_ends_with_its_server() {
    run(async {
        let client = open(&["changes", "exit"]).await;
        let changes = client.listen(all()).await.unwrap();
        assert_eq!(rest(changes).await, told());
        let error = client.ping().await.unwrap_err();
        is_closed(&error);
        assert_eq!(error.exit().unwrap().code(), Some(3));
        assert_eq!(client.close().await.unwrap().code(), Some(3));
    });
}

#[test]
fn what_is_told_too_early_too_late_or_to_others_is_told_to_nobody() {
    run(async {
        let client = open(&["changes-oddly"]).await;
        let changes = client.listen(all()).await.unwrap();
        assert_eq!(rest(changes).await, told());
        lives_and_ends(client).await;
    });
}

#[test]
fn a_server_that_honours_nothing_says_so_and_stays_open() {
    run(async {
        let client = open(&["listen-nothing"]).await;
        let changes = client.listen(all()).await.unwrap();
        assert_eq!(*changes.honoured(), Interests::new());
        lives(&client).await;
        end(client).await;
        assert_eq!(rest(changes).await, []);
    });
}

#[test]
fn a_server_that_does_not_acknowledge_is_waited_for_no_longer_than_for_a_call() {
    run(async {
        let client = open_with(&["listen-silent"], patient().timeout(SHORT).longest(SHORT)).await;
        let error = client.listen(all()).await.unwrap_err();
        assert_eq!(timed_out(&error), SHORT);
        assert_eq!(error.doing(), "asking to hear of changes");
        assert_eq!(error.reached(), "the request was sent; no acknowledgement came");
        assert_eq!(report(&client, "was_cancelled").await.as_array().unwrap().len(), 1);
        end(client).await;
    });
}

#[test]
fn a_wait_for_the_acknowledgement_that_is_dropped_is_taken_back() {
    run(async {
        let client = open(&["listen-silent"]).await;
        tokio::select! {
            listening = client.listen(all()) => panic!("{listening:?}"),
            () = async { lives(&client).await; lives(&client).await } => {}
        }
        assert_eq!(report(&client, "was_cancelled").await.as_array().unwrap().len(), 1);
        lives_and_ends(client).await;
    });
}

#[test]
fn a_server_that_refuses_is_told_in_its_own_words() {
    run(async {
        let client = open(&["listen-refused"]).await;
        let error = client.listen(all()).await.unwrap_err();
        assert_eq!(code(&error), -32601);
        says(&error, &["asking to hear of changes", "no subscriptions here"]);
        assert_eq!(report(&client, "was_cancelled").await, json!([]));
        lives_and_ends(client).await;
    });
}
