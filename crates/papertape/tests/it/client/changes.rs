//! Servers that send change notifications: with a subscription, without one, wrongly, or not at all.

use papertape::client::{Change, ErrorKind, Subscription, SubscriptionFilter};
use serde_json::json;

use super::{
    SHORT, code, end, heard, is_closed, legacy, lives, lives_and_ends, open, open_with, patient, report, run,
    says, text, timed_out,
};

const FILE: &str = "file:///a";

fn all() -> SubscriptionFilter {
    SubscriptionFilter::new().tools().prompts().resources().resource(FILE)
}

/// What comes until the subscription ends.
async fn rest(mut subscription: Subscription) -> Vec<Change> {
    let mut changes = Vec::new();
    while let Some(change) = subscription.next().await.unwrap() {
        changes.push(change);
    }
    changes
}

fn expected_changes() -> [Change; 3] {
    [Change::Tools, Change::Resources, Change::Resource(FILE.to_owned())]
}

#[test]
fn changes_are_reported_as_long_as_there_is_a_subscription() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["changes"], options).await;
            let mut changes = client.listen(all()).await.unwrap();
            // There are no prompts.
            assert_eq!(*changes.acknowledged(), SubscriptionFilter::new().tools().resources().resource(FILE));
            for _ in 0..2 {
                assert!(text(&client, "fault").await.starts_with("sent"));
                for change in expected_changes() {
                    assert_eq!(changes.next().await.unwrap(), Some(change));
                }
            }
            drop(changes);
            let last = heard(&client).await.pop().unwrap();
            if client.revision().opens_with_handshake() {
                assert_eq!(last, "resources/unsubscribe");
            } else {
                assert_eq!(last, "notifications/cancelled");
                assert_eq!(text(&client, "fault").await, "sent 0");
            }
            lives_and_ends(client).await;
        }
    });
}

#[test]
fn a_subscription_of_which_nothing_is_acknowledged_fails() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["changes"], options).await;
            let filter = SubscriptionFilter::new().prompts();
            let error = client.listen(filter.clone()).await.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::NotOffered(_)), "{error:?}");
            says(&error, &["does not offer change notifications for the list of prompts"]);
            let some = client.listen(filter.tools().resource(FILE)).await.unwrap();
            let some = some.acknowledged();
            assert!(some.has_tools() && !some.has_prompts() && !some.has_resources() && !some.is_empty());
            assert_eq!((some.resource_uris(), some.task_ids().len()), (&[FILE.to_owned()][..], 0));
            lives_and_ends(client).await;
        }
    });
}

#[test]
fn only_changes_of_the_filter_are_reported() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["changes"], options).await;
            let mut tools = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
            let mut resources = client.listen(SubscriptionFilter::new().resources()).await.unwrap();
            let none = client.listen(SubscriptionFilter::new()).await.unwrap();
            assert_eq!(*none.acknowledged(), SubscriptionFilter::new());
            assert!(text(&client, "fault").await.starts_with("sent"));
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
fn unread_duplicate_changes_are_coalesced() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["changes"], options).await;
            let changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
            for _ in 0..3 {
                assert!(text(&client, "fault").await.starts_with("sent"));
            }
            end(client).await;
            assert_eq!(rest(changes).await, [Change::Tools]);
        }
    });
}

#[test]
fn a_subscription_ended_by_the_server_delivers_earlier_changes() {
    run(async {
        for how in ["result", "cancelled", "both"] {
            let client = open(&["changes", how]).await;
            let changes = client.listen(all()).await.unwrap();
            assert_eq!(rest(changes).await, expected_changes(), "{how}");
            // An ended subscription is not cancelled.
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
        assert_eq!(rest(changes).await, expected_changes());
        let error = client.ping().await.unwrap_err();
        is_closed(&error);
        assert_eq!(error.exit().unwrap().code(), Some(3));
        assert_eq!(client.close().await.unwrap().code(), Some(3));
    });
}

#[test]
fn notifications_too_early_too_late_or_for_others_are_dropped() {
    run(async {
        let client = open(&["changes-oddly"]).await;
        let changes = client.listen(all()).await.unwrap();
        assert_eq!(rest(changes).await, expected_changes());
        lives_and_ends(client).await;
    });
}

#[test]
fn an_empty_acknowledged_filter_is_an_error() {
    run(async {
        let client = open(&["listen-nothing"]).await;
        let error = client.listen(all()).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotOffered(_)), "{error:?}");
        assert_eq!(error.stage(), "the server has acknowledged nothing");
        lives(&client).await;
        end(client).await;
    });
}

#[test]
fn a_missing_acknowledgement_times_out_like_a_call() {
    run(async {
        let client = open_with(&["listen-silent"], patient().timeout(SHORT).total_timeout(SHORT)).await;
        let error = client.listen(all()).await.unwrap_err();
        assert_eq!(timed_out(&error), SHORT);
        assert_eq!(error.operation(), "subscribing to changes");
        assert_eq!(error.stage(), "the request was sent; no acknowledgement arrived");
        assert_eq!(report(&client, "was_cancelled").await.as_array().unwrap().len(), 1);
        end(client).await;
    });
}

#[test]
fn a_dropped_listen_request_is_cancelled() {
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
fn a_rejected_subscription_is_reported_with_the_servers_message() {
    run(async {
        let client = open(&["listen-refused"]).await;
        let error = client.listen(all()).await.unwrap_err();
        assert_eq!(code(&error), -32601);
        says(&error, &["subscribing to changes", "no subscriptions here"]);
        assert_eq!(report(&client, "was_cancelled").await, json!([]));
        lives_and_ends(client).await;
    });
}
