//! What holds for any bytes and any session.
//!
//! No panic, every frame well-formed, every request answered exactly once, and all of it however the bytes are split.

use std::time::Duration;

use papertape::server::{Limits, Tool};
use papertape::wire::frame::{Decoder, PieceKind};
use papertape::{Cx, Server, ToolError};
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use serde_json::{Value, json};

use crate::fixture::{self, Echo};
use crate::peer::{MODERN, Peer, call, request, run, word};

/// A server with a tool for each way a call can go, quick to build.
fn server() -> Server {
    let raw = |name: &str| Tool::new(name).input_schema(json!({"type": "object"}));
    Server::new("properties", "1")
        .limits(Limits { frame: 4_096, ..Limits::default() })
        .tool("echo", fixture::echo)
        .raw_tool(raw("slow"), async |_: Value, cx: Cx| {
            tokio::time::sleep(Duration::from_millis(50)).await;
            cx.progress(1.0, 1.0, None);
            Ok("slow")
        })
        .raw_tool(raw("yield"), async |_: Value, _: Cx| {
            tokio::task::yield_now().await;
            Ok("yielded")
        })
        .raw_tool(raw("fail"), async |_: Value, _: Cx| Err::<(), _>(ToolError::failed("no")))
        .raw_tool(raw("panic"), async |_: Value, _: Cx| -> Result<String, ToolError> {
            // Quietly: the hook would print each of them.
            std::panic::resume_unwind(Box::new("on purpose"))
        })
        .tool("typed_panic", async |_: Echo, _: Cx| -> Result<String, ToolError> {
            tokio::task::yield_now().await;
            std::panic::resume_unwind(Box::new(5))
        })
}

/// Plays bytes in pieces to a server until it ends, and returns the frames that came back.
///
/// The server must end by itself, and well, once the input has; whatever comes back must be frames and nothing else.
fn play(bytes: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    play_with(server, bytes, cuts)
}

fn play_with(server: impl Fn() -> Server, bytes: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    let answers = run(async {
        let mut peer = Peer::connect(server());
        let mut answers = Vec::new();
        let mut from = 0;
        for &to in cuts {
            let to = to.clamp(from, bytes.len());
            answers.extend(peer.send(&bytes[from..to]).await);
            from = to;
        }
        answers.extend(peer.send(&bytes[from..]).await);
        answers.extend(peer.end().await);
        answers
    });
    let mut decoder = Decoder::new(1 << 20);
    decoder.push(&answers);
    let mut frames = Vec::new();
    while let Some(piece) = decoder.next_piece() {
        let PieceKind::Frame(body) = piece.kind else { panic!("no frame: {piece:?}") };
        // Panics if it is not a well-formed message.
        word(body);
        frames.push(body.to_vec());
    }
    assert!(decoder.finish().is_none(), "half a frame at the end");
    frames
}

fn sorted(mut frames: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    frames.sort();
    frames
}

/// One thing a client may send, and the answer it must get; `ID` is its id.
#[derive(Debug, Clone)]
struct Item {
    body: String,
    answer: Option<&'static str>,
}

impl Item {
    /// The body and the answer with that id.
    fn with(&self, id: &str) -> (String, Option<String>) {
        let answer = self.answer.map(|answer| answer.replace("ID", id).replace("ANON", "–"));
        (self.body.replacen("ID", id, 1), answer)
    }

    /// Whether the body is JSON and no longer than a frame may be.
    fn is_json(&self) -> bool {
        self.body.len() < 4_096 && self.answer != Some("E(-32700,ANON)")
    }
}

fn item(body: impl Into<String>, answer: impl Into<Option<&'static str>>) -> Item {
    Item { body: body.into(), answer: answer.into() }
}

fn items() -> impl Strategy<Value = Item> {
    let text =
        any::<String>().prop_map(|text| item(call(MODERN, "ID", "echo", &json!({"text": text})), "R(ID)"));
    let tool = |name: &str, arguments: &Value, answer| item(call(MODERN, "ID", name, arguments), answer);
    let requests = prop_oneof![
        Just(item(r#"{"jsonrpc":"2.0","id":ID,"method":"ping"}"#, "R(ID)")),
        Just(item(request(MODERN, "ID", "tools/list", json!({})), "R(ID)")),
        Just(item(request(MODERN, "ID", "server/discover", json!({})), "R(ID)")),
        Just(item(r#"{"jsonrpc":"2.0","id":ID,"method":"tools/list"}"#, "E(-32602,ID)")),
        Just(item(request(MODERN, "ID", "no/such", json!({})), "E(-32601,ID)")),
        Just(item(r#"{"jsonrpc":"1.0","id":ID,"method":"ping"}"#, "E(-32600,ID)")),
        Just(item(r#"{"jsonrpc":"2.0","id":ID,"method":"ping","params":[]}"#, "E(-32602,ID)")),
        Just(tool("slow", &json!({}), "R(ID)")),
        Just(tool("yield", &json!({}), "R(ID)")),
        Just(tool("fail", &json!({}), "F(ID)")),
        Just(tool("panic", &json!({}), "E(-32603,ID)")),
        Just(tool("typed_panic", &json!({"text": ""}), "E(-32603,ID)")),
        Just(tool("echo", &json!({"text": 5}), "F(ID)")),
        Just(tool("echo", &json!({}), "F(ID)")),
        Just(tool("no_such", &json!({}), "E(-32602,ID)")),
        Just(tool("echo", &json!([]), "E(-32602,ID)")),
    ];
    let silent = prop_oneof![
        Just(item(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, None)),
        Just(item(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"unknown"}}"#,
            None
        )),
        Just(item(r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"panic"}}"#, None)),
        Just(item(r#"{"jsonrpc":"2.0","method":"no/such"}"#, None)),
        Just(item(r#"{"jsonrpc":"2.0","id":"unknown","result":{}}"#, None)),
    ];
    let garbage = prop_oneof![
        Just(item("hello", "E(-32700,ANON)")),
        Just(item("{} {}", "E(-32700,ANON)")),
        Just(item("{", "E(-32700,ANON)")),
        Just(item("[]", "E(-32600,ANON)")),
        Just(item("[1,2]", "E(-32600,ANON)")),
        Just(item("null", "E(-32600,ANON)")),
        Just(item(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "E(-32600,ANON)")),
        Just(item("x".repeat(5_000), "E(-32600,ANON)")),
    ];
    prop_oneof![2 => text, 4 => requests, 1 => silent, 2 => garbage]
}

/// A whole session: its bytes, and a word for each response in no order.
///
/// It begins with a modern request, so that how an unreadable id is answered does not depend on when.
fn session(items: &[Item], headers: bool, last_line_end: bool) -> (Vec<u8>, Vec<String>) {
    let opening = item(request(MODERN, "ID", "server/discover", json!({})), "R(ID)");
    let mut bytes = String::new();
    let mut answers = Vec::new();
    for (number, item) in [opening].iter().chain(items).enumerate() {
        let id = if number % 2 == 0 { format!("{number}") } else { format!("\"{number}\"") };
        let (body, answer) = item.with(&id);
        if headers {
            bytes += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        } else {
            bytes += &format!("{body}\n");
        }
        answers.extend(answer);
    }
    // Without a line end, only a whole message counts.
    if !last_line_end && !headers && items.last().is_none_or(Item::is_json) {
        bytes.pop();
    }
    answers.sort();
    (bytes.into_bytes(), answers)
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..12_000usize, 0..10).prop_map(|mut cuts| {
        cuts.sort_unstable();
        cuts
    })
}

/// Bytes that mean something, or nothing anywhere.
const BYTES: &[u8] = b"{}[]\",:\\ \n\r\t0123456789-+.eEtrufalsn\0\xff\xef\xbb\xbf\xed\xa0\x80";

const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#;

/// Bytes that are more likely to get somewhere than any bytes.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let text = |text: &str| Just(text.as_bytes().to_vec());
    let piece = prop_oneof![
        3 => any::<Vec<u8>>(),
        2 => prop::collection::vec(prop::sample::select(BYTES), 0..60),
        1 => any::<String>().prop_map(String::into_bytes),
        // Ids of their own: whether one is still in use is a matter of time.
        3 => (items(), any::<u64>()).prop_map(|(item, id)| (item.with(&id.to_string()).0 + "\n").into_bytes()),
        1 => text("\n"),
        1 => text("\r\n"),
        1 => text("Content-Length: "),
        1 => text("content-length:40\n\n"),
        1 => text("Content-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}"),
        1 => text("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n"),
        1 => text("{\"jsonrpc\":\"2.0\",\"id\":"),
        1 => text(&format!("{INITIALIZE}\n")),
        1 => text("[{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"},"),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_get_frames_or_nothing(bytes in streams(), cuts in cuts()) {
        let whole = play(&bytes, &[]);
        let split = play(&bytes, &cuts);
        prop_assert_eq!(sorted(whole), sorted(split));
    }

    #[test]
    fn a_mutated_session_gets_valid_frames_or_nothing(
        items in prop::collection::vec(items(), 1..6),
        headers in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let (mut bytes, _) = session(&items, headers, true);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        play(&bytes, &[]);
    }

    #[test]
    fn each_request_gets_one_response_for_any_chunking(
        items in prop::collection::vec(items(), 0..20),
        headers in any::<bool>(),
        last_line_end in any::<bool>(),
        cuts in cuts(),
    ) {
        let (bytes, expected) = session(&items, headers, last_line_end);
        let whole = play(&bytes, &[]);
        let mut words: Vec<String> = whole.iter().map(|frame| word(frame)).collect();
        words.sort();
        prop_assert_eq!(&words, &expected);
        let split = play(&bytes, &cuts);
        prop_assert!(sorted(whole) == sorted(split), "the split makes a difference");
    }

    #[test]
    fn each_request_of_a_batch_gets_exactly_one_response(
        batches in prop::collection::vec(prop::collection::vec(items(), 1..8), 1..4),
        cuts in cuts(),
    ) {
        let mut bytes = format!("{INITIALIZE}\n{}\n", request(MODERN, "\"modern\"", "server/discover", json!({})));
        let mut expected = vec!["R(\"open\")".to_owned(), "R(\"modern\")".to_owned()];
        let mut id = 0;
        for batch in batches {
            let mut members = Vec::new();
            for mut item in batch.into_iter().filter(Item::is_json) {
                // Without `_meta`, a request is a legacy one and served.
                if item.body.ends_with(r#""tools/list"}"#) {
                    item.answer = Some("R(ID)");
                }
                id += 1;
                let (body, answer) = item.with(&id.to_string());
                members.push(body);
                expected.extend(answer);
            }
            if !members.is_empty() {
                bytes += &format!("[{}]\n", members.join(","));
            }
        }
        expected.sort();
        let frames = play_with(|| server().limits(Limits::default()), bytes.as_bytes(), &cuts);
        let answers: Vec<String> = frames.iter().map(|frame| word(frame).trim_matches(['[', ']']).to_owned()).collect();
        let mut words: Vec<&str> = answers.iter().flat_map(|answers| answers.split(' ')).collect();
        words.sort_unstable();
        prop_assert_eq!(&words, &expected);
    }
}
