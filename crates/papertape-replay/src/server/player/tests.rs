use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, proptest};

use super::{Pace, Player};
use crate::script::Script;

/// A player of a tape that is written without numbers: `> {..}` and `< {..}`, a second after each other.
fn player_at(lines: &str, pace: Pace) -> Player {
    let mut tape = "papertape 1\n".to_owned();
    for (index, line) in lines.lines().enumerate() {
        let (direction, json) = line.split_at(1);
        tape += &format!("{} {direction} {index}.000000 line{json}\n", index + 1);
    }
    Player::new(Script::read(tape.as_bytes()).unwrap(), pace)
}

fn player(lines: &str) -> Player {
    player_at(lines, Pace::default())
}

/// What is sent for a message.
fn sent(player: &mut Player, message: &str) -> Vec<String> {
    player.receive(message.as_bytes(), Duration::ZERO);
    std::iter::from_fn(|| player.poll(Duration::ZERO)).collect()
}

#[test]
fn a_response_is_the_recorded_one_but_for_its_id() {
    let mut player = player(
        r#"> {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"x":1,"y":2}}}
<  {"result": {"content":[ ], "id":7} , "id" : 7,"jsonrpc":"2.0"}"#,
    );
    let request = r#"{"jsonrpc":"2.0","id":"host-1","method":"tools/call","params":{"_meta":{"progressToken":1},"arguments":{"y":2,"x":1},"name":"a"}}"#;
    assert_eq!(
        sent(&mut player, request),
        [r#"{"result": {"content":[ ], "id":7} , "id" : "host-1","jsonrpc":"2.0"}"#]
    );
    assert!(player.take_notes().is_empty());
}

const REPEATED: &str = r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1}}}
< {"jsonrpc":"2.0","id":1,"result":"first"}
> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","arguments":{"x":1}}}
< {"jsonrpc":"2.0","id":2,"result":"second"}
> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","arguments":{"x":2}}}
< {"jsonrpc":"2.0","id":3,"result":"other"}"#;

fn call(id: u64, name: &str, x: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{{"x":{x}}}}}}}"#
    )
}

#[test]
fn repeats_are_played_in_their_order_and_the_last_one_again() {
    let mut player = player(REPEATED);
    let mut results = Vec::new();
    for (id, x) in [(1, 2), (2, 1), (3, 1), (4, 1), (5, 2)] {
        results.extend(sent(&mut player, &call(id, "a", x)));
    }
    let wanted = ["other", "first", "second", "second", "other"];
    for ((result, wanted), id) in results.iter().zip(wanted).zip(1..) {
        assert_eq!(*result, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{wanted}"}}"#));
    }
    assert_eq!(results.len(), 5);
}

#[test]
fn other_arguments_get_what_is_recorded_for_the_name() {
    let mut player = player(REPEATED);
    assert_eq!(sent(&mut player, &call(1, "a", 9)), [r#"{"jsonrpc":"2.0","id":1,"result":"first"}"#]);
    assert_eq!(
        player.take_notes(),
        ["tools/call a: not with these parameters on the tape; the response is that to request 1"]
    );
}

#[test]
fn what_is_not_on_the_tape_is_an_error_that_names_the_nearest() {
    let mut player = player(REPEATED);
    assert_eq!(
        sent(&mut player, &call(1, "b", 1)),
        [
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"the tape has no tools/call b; the nearest is tools/call a, request 1"}}"#
        ]
    );
    assert_eq!(
        sent(&mut player, r#"{"jsonrpc":"2.0","id":2,"method":"tools/cal"}"#),
        [
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"the tape has no tools/cal: did you mean \"tools/call\"?"}}"#
        ]
    );
    // A host may look whether a server is alive, at any time.
    assert_eq!(
        sent(&mut player, r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#),
        [r#"{"jsonrpc":"2.0","id":3,"result":{}}"#]
    );
    assert_eq!(player.take_notes().len(), 2);
}

#[test]
fn invalid_messages_get_errors_and_responses_and_notifications_none() {
    let mut player = player(REPEATED);
    assert!(sent(&mut player, "{").iter().all(|error| error.contains("-32700")));
    assert!(sent(&mut player, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).is_empty());
    assert!(sent(&mut player, r#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#).is_empty());
    assert_eq!(sent(&mut player, r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#).len(), 1);
}

#[test]
fn progress_has_the_token_of_the_host() {
    let lines = r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":"old"}}}
< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"old","progress":1}}
< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}
< {"jsonrpc":"2.0","id":1,"result":{}}"#;
    let with_token = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":77}}}"#;
    let mut played = player(lines);
    let messages = sent(&mut played, with_token);
    assert_eq!(
        messages.first().map(String::as_str),
        Some(
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":77,"progress":1}}"#
        )
    );
    assert_eq!(messages.len(), 3);
    let without_token = r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"a"}}"#;
    assert_eq!(sent(&mut player(lines), without_token).len(), 2);
}

const ASKS: &str = r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}
< {"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"message":"?"}}
> {"jsonrpc":"2.0","id":0,"result":{"action":"accept"}}
< {"jsonrpc":"2.0","id":1,"result":"done"}"#;

#[test]
fn what_followed_a_response_of_the_client_waits_for_it() {
    let mut player = player(ASKS);
    let ask =
        |id: u64| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"ask"}}}}"#);
    assert_eq!(
        sent(&mut player, &ask(8)),
        [r#"{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"message":"?"}}"#]
    );
    assert_eq!(player.next_due(), None);
    let refused = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-1,"message":"no"}}"#;
    assert_eq!(sent(&mut player, refused), [r#"{"jsonrpc":"2.0","id":8,"result":"done"}"#]);
    // An id is not used twice.
    assert_eq!(
        sent(&mut player, &ask(9)),
        [r#"{"jsonrpc":"2.0","id":"replay-1","method":"elicitation/create","params":{"message":"?"}}"#]
    );
    let accepted = r#"{"jsonrpc":"2.0","id":"replay-1","result":{"action":"accept"}}"#;
    assert_eq!(sent(&mut player, accepted), [r#"{"jsonrpc":"2.0","id":9,"result":"done"}"#]);
}

#[test]
fn a_cancelled_request_gets_no_response() {
    let mut player = player(ASKS);
    sent(&mut player, r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"ask"}}"#);
    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}"#;
    assert!(sent(&mut player, cancelled).is_empty());
    assert!(sent(&mut player, r#"{"jsonrpc":"2.0","id":0,"result":{}}"#).is_empty());
    assert_eq!(player.next_due(), None);
}

#[test]
fn what_follows_a_notification_follows_it_once() {
    let mut player = player(
        r#"> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"old"}}}
< {"jsonrpc":"2.0","id":1,"result":{}}
> {"jsonrpc":"2.0","method":"notifications/initialized"}
< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
< {"jsonrpc":"2.0","id":"r","method":"roots/list"}
> {"jsonrpc":"2.0","id":"r","result":{"roots":[]}}
< {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"roots"}}"#,
    );
    let opened = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"new"}}}"#;
    assert_eq!(sent(&mut player, opened).len(), 1);
    assert!(player.take_notes().is_empty());
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(sent(&mut player, initialized).len(), 2);
    assert_eq!(sent(&mut player, r#"{"jsonrpc":"2.0","id":"r","result":{"roots":[]}}"#).len(), 1);
    assert_eq!(sent(&mut player, initialized).len(), 0);
}

#[test]
fn a_subscription_stays_open_until_it_is_cancelled() {
    let id = "io.modelcontextprotocol/subscriptionId";
    let mut player = player(&format!(
        r#"> {{"jsonrpc":"2.0","id":41,"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}}}}}}
< {{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"{id}":41}}}}}}
> {{"jsonrpc":"2.0","id":42,"method":"tools/list"}}
< {{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{"_meta":{{"{id}":41}}}}}}
< {{"jsonrpc":"2.0","id":42,"result":{{}}}}
> {{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":41}}}}
< {{"jsonrpc":"2.0","id":41,"result":{{"_meta":{{"{id}":41}}}}}}"#
    ));
    let listen = r#"{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}"#;
    assert_eq!(
        sent(&mut player, listen),
        [
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"{id}":"l"}}}}}}"#
            ),
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{"_meta":{{"{id}":"l"}}}}}}"#
            ),
        ]
    );
    assert_eq!(player.next_due(), None);
    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}}"#;
    assert_eq!(
        sent(&mut player, cancelled),
        [format!(r#"{{"jsonrpc":"2.0","id":"l","result":{{"_meta":{{"{id}":"l"}}}}}}"#)]
    );
}

#[test]
fn a_request_without_a_recorded_response_gets_an_error() {
    let mut player = player(r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#);
    assert_eq!(
        sent(&mut player, r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a"}}"#),
        [
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"the tape has no response to tools/call a (request 1)"}}"#
        ]
    );
}

#[test]
fn a_batch_gets_one_batch() {
    let mut player = player(REPEATED);
    let batch = format!("[{},{},{{}}]", call(5, "a", 1), call(6, "b", 1));
    let sent = sent(&mut player, &batch);
    assert_eq!(sent.len(), 1);
    let responses: Vec<serde_json::Value> = serde_json::from_str(&sent[0]).unwrap();
    assert_eq!(responses.len(), 3);
    let notified = r#"[{"jsonrpc":"2.0","method":"notifications/x"}]"#;
    player.receive(notified.as_bytes(), Duration::ZERO);
    assert_eq!(player.poll(Duration::ZERO), None);
}

#[test]
fn delays_are_those_of_the_tape_if_asked_for() {
    let second = Duration::from_secs(1);
    let pace = Pace { recorded: true, delay: 2 * second };
    let mut player = player_at(REPEATED, pace);
    player.receive(call(1, "a", 1).as_bytes(), 10 * second);
    assert_eq!(player.poll(12 * second), None);
    assert_eq!(player.next_due(), Some(13 * second));
    assert!(player.poll(13 * second).is_some());
    let pace = Pace { recorded: false, delay: second };
    let mut player = player_at(ASKS, pace);
    player.receive(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}"#, second);
    assert!(player.poll(second).is_some_and(|text| text.contains("elicitation/create")));
    player.receive(br#"{"jsonrpc":"2.0","id":0,"result":{}}"#, 5 * second);
    assert_eq!(player.next_due(), Some(6 * second));
}

#[test]
fn sessions_on_a_tape_of_http_may_use_the_same_ids() {
    let message = |number: u64, way: &str, json: &str| format!("{number} {way} - raw {json}\n");
    let call = |name: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}"}}}}"#)
    };
    let result = |name: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{name}"}}"#);
    let tape = [
        message(1, ">1", &call("a")),
        message(2, ">2", &call("b")),
        message(3, "<1", &result("a")),
        message(4, "<2", &result("b")),
    ];
    let tape = format!("papertape 1\n{}", tape.concat());
    let mut player = Player::new(Script::read(tape.as_bytes()).unwrap(), Pace::default());
    for name in ["b", "a"] {
        assert_eq!(sent(&mut player, &call(name)), [result(name)]);
    }
}

proptest! {
    #[test]
    fn any_messages_are_played_to_an_end(
        lines in vec((any::<bool>(), 0..7_u8, 0..3_u8), 1..30),
        received in vec((0..7_u8, 0..4_u8), 1..30),
    ) {
        let message = |kind: u8, id: u8| match kind {
            0 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"a","params":{{"_meta":{{"progressToken":{id}}}}}}}"#),
            1 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
            2 => r#"{"jsonrpc":"2.0","method":"n"}"#.to_owned(),
            3 => format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#),
            4 => format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id}}}}}"#),
            5 => format!(r#"[{{"jsonrpc":"2.0","id":{id},"method":"b"}},{{}},{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen"}}]"#),
            _ => "{".to_owned(),
        };
        let mut tape = r#"> {"jsonrpc":"2.0","id":1,"method":"a"}"#.to_owned();
        for (to_server, kind, id) in lines {
            tape += &format!("\n{} {}", if to_server { '>' } else { '<' }, message(kind, id));
        }
        let mut player = player(&tape);
        let mut sent = 0;
        for (kind, id) in received {
            player.receive(message(kind, id).as_bytes(), Duration::ZERO);
            while let Some(text) = player.poll(Duration::ZERO) {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
                sent += 1;
                prop_assert!(sent < 100_000);
            }
        }
    }

    #[test]
    fn any_bytes_are_received(bytes in vec(any::<u8>(), 0..200)) {
        let mut player = player(REPEATED);
        player.receive(&bytes, Duration::ZERO);
        while player.poll(Duration::ZERO).is_some() {}
    }
}
