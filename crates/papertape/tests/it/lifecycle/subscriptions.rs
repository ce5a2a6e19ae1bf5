//! Subscriptions of modern clients.

use papertape::server::Limits;
use serde_json::json;

use super::{SUBSCRIPTION, check, listen};
use crate::fixture;
use crate::peer::{MODERN, Peer, call, cancel, messages, request, run, words};

#[test]
fn a_subscription_is_acknowledged_with_what_is_acknowledged() {
    for (asked, acknowledged) in [
        (json!({"toolsListChanged": true}), json!({"toolsListChanged": true})),
        (json!({"toolsListChanged": false}), json!({})),
        (json!({}), json!({})),
        (json!({"promptsListChanged": true, "resourceSubscriptions": ["file:///a"], "x": 5}), json!({})),
    ] {
        run(async {
            let mut peer = Peer::connect(fixture::server());
            let answer = peer.send(listen("41", &asked)).await;
            assert_eq!(words(&answer), "N(notifications/subscriptions/acknowledged)", "{asked}");
            assert_eq!(messages(&answer)[0]["params"]["notifications"], acknowledged, "{asked}");
        });
    }
    let wrong = [
        json!(null),
        json!(true),
        json!("x"),
        json!({"toolsListChanged": 1}),
        json!({"toolsListChanged": "yes"}),
    ];
    for asked in wrong {
        check(MODERN, &[&listen("7", &asked)], "E(-32602,7)");
    }
    check(MODERN, &[&request(MODERN, "7", "subscriptions/listen", json!({}))], "E(-32602,7)");
}

#[test]
fn a_subscription_is_named_exactly_as_its_request() {
    // Decision 7: digit for digit, and 41 is not "41".
    for id in ["41", "\"41\"", "-1", "\"é\"", "9007199254740993", "18446744073709551616"] {
        run(async {
            let mut peer = Peer::connect(fixture::server());
            let acknowledged = peer.send(listen(id, &json!({"toolsListChanged": true}))).await;
            let changed = peer.send(call(MODERN, "\"grow\"", "grow", &json!({})) + "\n").await;
            let ended = peer.end().await;
            for message in [acknowledged, changed, ended] {
                let message = String::from_utf8(message).unwrap();
                let name = message.split_once(&format!("\"{SUBSCRIPTION}\":")).unwrap().1;
                let after = name.strip_prefix(id).unwrap_or_else(|| panic!("{id}: {message}"));
                assert!(after.starts_with(['}', ',']), "{id}: {message}");
            }
        });
    }
}

#[test]
fn subscriptions_are_bounded() {
    // M-20
    run(async {
        let mut peer = Peer::connect(fixture::server());
        let lines: String =
            (0..10_000).map(|id| listen(&format!("{id}"), &json!({"toolsListChanged": true}))).collect();
        let answers = words(&peer.send(lines).await);
        let mut answers = answers.split(' ');
        assert!(
            answers.by_ref().take(100).all(|answer| answer == "N(notifications/subscriptions/acknowledged)")
        );
        for id in 100..10_000 {
            assert_eq!(answers.next(), Some(&*format!("E(-32600,{id})")));
        }
        // The same id twice; and one that is free again.
        assert_eq!(words(&peer.send(listen("5", &json!({}))).await), "E(-32600,5)");
        assert_eq!(
            words(&peer.send(cancel("5") + "\n" + &listen("\"new\"", &json!({}))).await),
            "N(notifications/subscriptions/acknowledged)"
        );
        assert_eq!(
            words(&peer.send(call(MODERN, "6", "echo", &json!({"text": "x"})) + "\n").await),
            "E(-32600,6)"
        );
        // M-21: each that is open ends with its result.
        let last = messages(&peer.end().await);
        let mut ids: Vec<String> = last.iter().map(|message| message["id"].to_string()).collect();
        ids.sort();
        let mut expected: Vec<String> =
            (0..100).filter(|&id| id != 5).map(|id| format!("{id}")).chain(["\"new\"".to_owned()]).collect();
        expected.sort();
        assert_eq!(ids, expected);
        for message in last {
            assert_eq!(message["result"]["resultType"], "complete");
            assert_eq!(message["result"]["_meta"][SUBSCRIPTION], message["id"]);
        }
    });
}

#[test]
fn the_number_of_subscriptions_can_be_set() {
    run(async {
        let server = fixture::server().limits(Limits { subscriptions: 1, ..Limits::default() });
        let mut peer = Peer::connect(server);
        let answers = peer.send(listen("1", &json!({})) + &listen("2", &json!({}))).await;
        assert_eq!(words(&answers), "N(notifications/subscriptions/acknowledged) E(-32600,2)");
    });
}

#[test]
fn a_cancelled_subscription_sends_nothing_more() {
    run(async {
        let mut peer = Peer::connect(fixture::server());
        peer.send(
            listen("1", &json!({"toolsListChanged": true}))
                + &listen("\"1\"", &json!({"toolsListChanged": true})),
        )
        .await;
        assert_eq!(words(&peer.send(cancel("1") + "\n").await), "");
        let answers = peer.send(call(MODERN, "2", "grow", &json!({})) + "\n").await;
        assert_eq!(words(&answers), "R(2) N(notifications/tools/list_changed)");
        assert_eq!(messages(&answers)[1]["params"]["_meta"][SUBSCRIPTION], "1");
        assert_eq!(words(&peer.end().await), "R(\"1\")");
    });
}
