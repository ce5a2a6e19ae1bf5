//! The tape of a session on HTTP: bodies and events as they crossed.

use papertape::client::ClientOptions;
use papertape::wire::tape::{self, Direction, Entry};
use serde_json::json;

use crate::scripted::{Server, discovered, json, run, stream, text};

#[test]
fn bodies_and_events_are_on_the_tape_as_they_crossed() {
    let path = std::env::temp_dir().join(format!("papertape-http-{}.tape", std::process::id()));
    run(async {
        let server = Server::new(|seen| match (&seen.what()[..], &seen.message()["params"]["name"]) {
            ("server/discover", _) => discovered(seen),
            (_, name) if name == "stream" => {
                stream(&[json!({"jsonrpc": "2.0", "method": "notifications/message"}), text(seen, "two")])
            }
            _ => json("200 OK", &text(seen, "one")),
        })
        .await;
        let client = server.try_connect(ClientOptions::new().tape(&path)).await.unwrap();
        client.call("plain", json!({})).await.unwrap();
        client.call("stream", json!({})).await.unwrap();
        client.close().await;
        let seen = server.seen();
        let recorded = std::fs::read_to_string(&path).unwrap();
        let sent: Vec<_> = tape::read(&recorded)
            .unwrap()
            .iter()
            .filter_map(Entry::as_frame)
            .filter(|(direction, _)| *direction == Direction::ToServer)
            .map(|(_, bytes)| bytes.to_vec())
            .collect();
        assert_eq!(sent.len(), 3);
        for (bytes, seen) in sent.iter().zip(&seen) {
            assert_eq!(*bytes, seen.body);
        }
        let forms: Vec<&str> = recorded
            .lines()
            .filter(|line| !line.starts_with(['p', '#']))
            .map(|line| line.split(' ').nth(3).unwrap())
            .collect();
        let expected = [
            "head", "raw", "head", "raw", "head", "raw", "head", "raw", "head", "raw", "head", "event",
            "event",
        ];
        assert_eq!(forms, expected, "{recorded}");
        let sources: Vec<&str> = recorded
            .lines()
            .filter(|line| !line.starts_with(['p', '#']))
            .map(|line| line.split(' ').nth(1).unwrap())
            .collect();
        assert_eq!(sources.join(" "), ">1 >1 <1 <1 >2 >2 <2 <2 >3 >3 <3 <3 <3");
        for part in ["head POST /mcp HTTP/1.1⟦0d 0a⟧", "host: 127.0.0.1:", "head HTTP/1.1 200 OK⟦0d 0a⟧"]
        {
            assert!(recorded.contains(part), "{part}\n{recorded}");
        }
        assert!(recorded.contains("event {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n"));
    });
    std::fs::remove_file(path).unwrap();
}
