use std::collections::BTreeMap;
use std::future::{Future, pending};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape::client::{ClientError, ClientOptions, Restart};
use papertape::protocol::{ElicitResult, Revision};
use papertape::server::{Elicited, Form, Tool};
use papertape::stdio::ServerCommand;
use papertape::{Client, Cx, Server, memory, streams};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::{Bridge, BridgeError, GRACE, STOPPED, free_prefix};
use crate::lock;
use crate::waiting::ABANDONED;

const OPEN: &str =
    r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;

/// How serving a host ends that stays, and what it gets.
async fn serve(
    bridge: Bridge,
    message: &str,
    stop: impl Future<Output = ()>,
) -> (Result<(), BridgeError>, Value) {
    let (mut host, input) = tokio::io::duplex(1_000_000);
    host.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    let mut output = Vec::new();
    let ended = bridge.serve_until(input, &mut output, stop).await;
    (ended, serde_json::from_slice(&output).unwrap())
}

/// A connection that does not open, and says when it begins and is dropped.
async fn connecting(begun: Arc<Notify>, dropped: Arc<AtomicBool>) -> Result<Client, ClientError> {
    struct OnDrop(Arc<AtomicBool>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let _dropped = OnDrop(dropped);
    begun.notify_one();
    pending().await
}

#[tokio::test]
async fn a_bridge_is_stopped_while_it_connects() {
    let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
    let (begins, drops) = (Arc::clone(&begun), Arc::clone(&dropped));
    let bridge = Bridge::new(move |_| connecting(Arc::clone(&begins), Arc::clone(&drops)));
    let (ended, response) = serve(bridge, OPEN, begun.notified()).await;
    assert!(ended.is_ok(), "{ended:?}");
    assert!(dropped.load(Ordering::SeqCst), "it still connects");
    assert_eq!(response, json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32603, "message": STOPPED}}));
}

#[tokio::test]
async fn a_bridge_is_stopped_during_the_handshake_of_a_process() {
    let started = std::env::temp_dir().join(format!("papertape-bridge-{}", std::process::id()));
    let file = started.to_str().unwrap();
    let command =
        ServerCommand::new("sh").args(["-c", "echo > \"$1\"; while read -r line; do :; done", "sh", file]);
    let bridge = Bridge::new(|_| pending()).pass_through(command);
    let stop = async {
        while !started.exists() {
            tokio::task::yield_now().await;
        }
    };
    let (ended, response) = serve(bridge, OPEN, stop).await;
    std::fs::remove_file(&started).unwrap();
    assert!(ended.is_ok(), "{ended:?}");
    assert_eq!(response["error"]["message"], STOPPED, "{response}");
}

#[tokio::test(start_paused = true)]
async fn a_bridge_is_stopped_while_its_host_does_not_read() {
    let flood = || {
        let text = async |_: BTreeMap<String, Value>, _| Ok("x".repeat(1_000_000));
        memory::connect(Server::new("flood", "1").tool(Tool::new("flood"), text))
    };
    let (mut host, input) = tokio::io::duplex(100_000);
    let (output, _unread) = tokio::io::duplex(100);
    let call = r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"flood","arguments":{}}}"#;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    host.write_all(format!("{OPEN}\n{initialized}\n{call}\n").as_bytes()).await.unwrap();
    let stop = sleep(Duration::from_secs(60));
    let served = Bridge::new(move |_| flood()).serve_until(input, output, stop);
    let ended = timeout(Duration::from_secs(60 * 60), served).await.unwrap();
    assert!(matches!(ended, Err(BridgeError::Host(_))), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_closes_its_input_does_not_wait_for_a_silent_server() {
    let mut output = Vec::new();
    let ended = Bridge::new(|_| pending()).serve(OPEN.as_bytes(), &mut output).await;
    assert!(ended.is_ok(), "{ended:?}");
    let response: Value = serde_json::from_slice(&output).unwrap();
    assert_eq!((&response["id"], &response["error"]["message"]), (&json!(7), &json!(STOPPED)));
}

/// What a host gets that closes its input after the handshake with this process.
async fn after_the_end(script: &str) -> Value {
    let command = ServerCommand::new("sh").args(["-c", script]);
    let bridge = Bridge::new(|_| pending()).pass_through(command);
    let (input, mut output) = (format!("{OPEN}\n"), Vec::new());
    let ended = bridge.serve(input.as_bytes(), &mut output).await;
    assert!(ended.is_ok(), "{ended:?}");
    serde_json::from_slice(&output).unwrap()
}

#[tokio::test]
async fn a_silent_process_gets_the_end_of_the_input() {
    assert_eq!(after_the_end("while read -r line; do :; done").await["error"]["message"], STOPPED);
}

#[tokio::test]
async fn a_process_may_respond_after_the_end_of_the_input() {
    let opened = json!({"jsonrpc": "2.0", "id": 7, "result": {"protocolVersion": "2025-06-18"}});
    assert_eq!(after_the_end(&format!("cat > /dev/null; echo '{opened}'")).await, opened);
}

/// What a host gets that sends this to a server that does not start.
async fn refused(input: &str) -> Vec<Value> {
    let no_server = |options| papertape::stdio::connect_with(ServerCommand::new("/no/server"), options);
    let mut output = Vec::new();
    let ended = Bridge::new(no_server).serve(input.as_bytes(), &mut output).await;
    assert!(matches!(ended, Err(BridgeError::Server(_))), "{ended:?}");
    String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn every_request_gets_the_error_of_a_server_that_cannot_be_used() {
    let rest = r#"{"jsonrpc":"2.0","method":"a"}
[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},{"jsonrpc":"2.0","id":"2","method":"c"}]
[{"jsonrpc":"2.0","method":"b"}]

{"jsonrpc":"2.0","id":1,"result":{}}
{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"a"}
{"jsonrpc":"2.0","id":3,"method":"a"}"#;
    let responses = refused(&format!("{OPEN}\n{rest}")).await;
    let ids: Vec<String> =
        responses.iter().map(|one| one.get("id").unwrap_or(&one[1]["id"]).to_string()).collect();
    assert_eq!(ids[..2], ["7", "\"2\""], "{responses:?}");
    assert_eq!(ids[3..], ["3"], "{responses:?}");
    assert_eq!(responses[1].as_array().unwrap().len(), 2, "{responses:?}");
    for response in [&responses[0], &responses[1][0], &responses[1][1], &responses[2], &responses[3]] {
        assert_eq!(response["error"]["code"], -32603, "{response}");
        assert!(response["error"]["message"].as_str().unwrap().contains("/no/server"), "{response}");
    }
}

#[tokio::test]
async fn garbage_gets_an_error_if_the_server_cannot_be_used() {
    let responses = refused(&format!("garbage\n{OPEN}\n{{\"half")).await;
    let [garbage, open] = &responses[..] else { panic!("{responses:?}") };
    assert_eq!((&garbage["id"], &garbage["error"]["code"]), (&Value::Null, &json!(-32700)));
    assert_eq!((&open["id"], &open["error"]["code"]), (&json!(7), &json!(-32603)));
}

#[test]
fn prefixes_are_plain_and_differ() {
    let mut taken = Vec::new();
    for name in ["git hub", "git_hub", "", "naïve-1"] {
        taken.push(free_prefix(name, &taken));
    }
    assert_eq!(taken, ["git_hub", "git_hub2", "server", "na_ve-1"]);
}

/// A host on a stream of its own, which is served until it is dropped.
struct StreamHost {
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
    served: JoinHandle<Result<(), BridgeError>>,
}

impl StreamHost {
    async fn open(bridge: Bridge) -> Self {
        let (input, reader) = tokio::io::duplex(1_000_000);
        let (writer, output) = tokio::io::duplex(1_000_000);
        let served = tokio::spawn(bridge.serve(reader, writer));
        let mut host = Self { input, output: BufReader::new(output).lines(), served };
        host.send(OPEN).await;
        let opened = host.message().await;
        assert_eq!(opened["result"]["protocolVersion"], "2025-06-18", "{opened}");
        host.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        host
    }

    async fn send(&mut self, message: &str) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn message(&mut self) -> Value {
        serde_json::from_str(&self.output.next_line().await.unwrap().unwrap()).unwrap()
    }

    /// The response to a request, before which notifications may come.
    async fn request(&mut self, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": params});
        self.send(&request.to_string()).await;
        loop {
            let message = self.message().await;
            if message.get("method").is_none() {
                return message;
            }
        }
    }

    async fn call(&mut self, tool: &str) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": {}})).await
    }

    async fn tools(&mut self) -> Vec<String> {
        let listed = self.request("tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}")).iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    async fn wait_for(&mut self, method: &str) {
        while self.message().await["method"] != method {}
    }
}

async fn with_tool() -> Result<Client, ClientError> {
    let echo = async |_: BTreeMap<String, Value>, _| Ok("echo");
    let template = async |_: BTreeMap<String, Value>, _| Ok("text");
    let server = Server::new("s", "1").tool("echo", echo).resource_template("a://{b}", template);
    memory::connect(server).await
}

/// Sentences that a bridge has said.
fn noticed(bridge: Bridge) -> (Bridge, Arc<Mutex<Vec<String>>>) {
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&said);
    (bridge.on_notice(move |sentence| lock(&sink).push(sentence.to_owned())), said)
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_opens_does_not_keep_the_others() {
    let began = Instant::now();
    let bridge = Bridge::of_several().server("first", |_| with_tool()).server("mute", |_| pending());
    let (bridge, said) = noticed(bridge);
    let mut host = StreamHost::open(bridge).await;
    assert_eq!(began.elapsed().as_secs(), GRACE.as_secs());
    assert_eq!(host.tools().await, ["first_echo"]);
    let refused = host.call("mute_echo").await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("the server mute is not connected"), "{message}");
    assert!(lock(&said).iter().any(|sentence| sentence.contains("the server mute")), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_opens_later_is_announced() {
    let ready = Arc::new(Notify::new());
    let late = Arc::clone(&ready);
    let bridge = Bridge::of_several().server("first", |_| with_tool()).server("late", move |_| {
        let late = Arc::clone(&late);
        async move {
            late.notified().await;
            with_tool().await
        }
    });
    let mut host = StreamHost::open(bridge).await;
    ready.notify_one();
    host.wait_for("notifications/tools/list_changed").await;
    assert_eq!(host.tools().await, ["first_echo", "late_echo"]);
    assert_eq!(host.call("late_echo").await["result"]["content"][0]["text"], "echo");
    let templates = host.request("resources/templates/list", json!({})).await;
    assert_eq!(templates["result"]["resourceTemplates"].as_array().unwrap().len(), 1, "{templates}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_is_tried_again() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let bridge = Bridge::of_several().server("first", |_| with_tool()).server("slow", move |options| {
        let number = attempts.fetch_add(1, Ordering::SeqCst);
        async move {
            if number < 3 {
                return papertape::stdio::connect_with(ServerCommand::new("/no/server"), options).await;
            }
            with_tool().await
        }
    });
    let (bridge, said) = noticed(bridge);
    let mut host = StreamHost::open(bridge).await;
    let refused = host.call("slow_echo").await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("the server slow is not connected") && message.contains("/no/server"));
    host.wait_for("notifications/tools/list_changed").await;
    assert_eq!(host.tools().await, ["first_echo", "slow_echo"]);
    let said = lock(&said).clone();
    let [failed, connected] = &said[..] else { panic!("{said:?}") };
    assert!(failed.contains("the server slow is left out") && failed.contains("/no/server"), "{failed}");
    assert_eq!(connected, "the server slow is connected");
}

/// Opens a session, and exits at the first call.
const EXITS: &str = r#"read -r opening
id=${opening#*\"id\":}
printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}\n' "${id%%,*}"
read -r initialized
read -r call
exit 3"#;

fn exits() -> Bridge {
    Bridge::new(|options| {
        let options = options.revision(Revision::parse("2025-06-18").unwrap());
        papertape::stdio::connect_with(ServerCommand::new("sh").args(["-c", EXITS]), options)
    })
}

#[tokio::test]
async fn a_bridge_whose_server_is_not_started_again_ends() {
    let once = Restart::at_most(1).delays(Duration::ZERO, Duration::ZERO);
    let (bridge, said) = noticed(exits().restart(once));
    let mut host = StreamHost::open(bridge).await;
    for _ in 0..2 {
        let failed = host.request("com.example/fail", json!({})).await;
        let message = failed["error"]["message"].as_str().unwrap();
        assert!(message.contains("exited (exit status 3)"), "{message}");
    }
    let ended = host.served.await.unwrap().unwrap_err();
    assert!(matches!(ended, BridgeError::Lost(_)), "{ended}");
    let text = ended.to_string();
    assert!(text.contains("exit status 3") && text.contains("which is the limit"), "{text}");
    let said = lock(&said).clone();
    assert_eq!(
        said,
        [
            "the server has exited (exit status: 3); it is started again in 0 s",
            "the server was started again (restart 1)"
        ]
    );
}

#[tokio::test]
async fn a_call_does_not_wait_for_a_late_restart() {
    let hour = Duration::from_secs(60 * 60);
    let mut host = StreamHost::open(exits().restart(Restart::at_most(3).delays(hour, hour))).await;
    host.request("com.example/fail", json!({})).await;
    let failed = host.request("com.example/fail", json!({})).await;
    let message = failed["error"]["message"].as_str().unwrap();
    assert!(message.contains("it is started again in 3600 s"), "{message}");
}

#[tokio::test]
async fn a_bridge_declares_what_its_server_has() {
    let bare = || memory::connect(Server::new("bare", "1").tool("echo", async |_: (), _| Ok("echo")));
    let mut output = Vec::new();
    Bridge::new(move |_| bare()).serve(OPEN.as_bytes(), &mut output).await.unwrap();
    let opened: Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(opened["result"]["capabilities"], json!({"tools": {"listChanged": false}}), "{opened}");
}

#[derive(Deserialize, JsonSchema)]
struct Seat {
    row: u8,
}

/// A server of a session-based revision that requests input in its calls.
async fn asks(options: ClientOptions) -> Result<Client, ClientError> {
    let server = Server::new("seats", "1").tool("seat", async |_: (), cx: Cx| {
        Ok(match cx.ask("seat", Form::<Seat>::new("Which row?"))? {
            Elicited::Accepted(seat) => format!("row {}", seat.row),
            // Also for an error of the client.
            _ => "none".to_owned(),
        })
    });
    memory::connect_with(server, options.revision(Revision::NEWEST_LEGACY)).await
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_host_has_gone_does_not_keep_input_from_others() {
    let (server, _connections) = Bridge::new(asks).connect().await.unwrap();
    let service = server.build().unwrap();
    let begun = Arc::new(Notify::new());
    let form = Arc::clone(&begun);
    let gone = ClientOptions::new().on_form(move |_| {
        form.notify_one();
        pending()
    });
    let gone = memory::connect_with(service.clone(), gone).await.unwrap();
    let call = tokio::spawn(async move { gone.call("seat", json!({})).await });
    begun.notified().await;
    call.abort();
    let stays = ClientOptions::new().on_form(async |_| ElicitResult::accept([("row", json!(3))]));
    let stays = memory::connect_with(service, stays).await.unwrap();
    for _ in 0..2 {
        assert_eq!(stays.call("seat", json!({})).await.unwrap().text(), "none");
    }
    sleep(ABANDONED).await;
    // One that comes while the other is cancelled may be meant for that one.
    assert_eq!(stays.call("seat", json!({})).await.unwrap().text(), "none");
    assert_eq!(stays.call("seat", json!({})).await.unwrap().text(), "row 3");
}

/// A server that opens a session, and responds to nothing else.
async fn lists_nothing(options: ClientOptions) -> Result<Client, ClientError> {
    let (input, reader) = tokio::io::duplex(100_000);
    let (mut writer, output) = tokio::io::duplex(100_000);
    tokio::spawn(async move {
        let mut lines = BufReader::new(reader).lines();
        let opening = lines.next_line().await.unwrap().unwrap();
        let opening: Value = serde_json::from_str(&opening).unwrap();
        let identity = json!({"name": "s", "version": "1"});
        let result =
            json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": identity});
        let response = json!({"jsonrpc": "2.0", "id": opening["id"], "result": result});
        writer.write_all(format!("{response}\n").as_bytes()).await.unwrap();
        while lines.next_line().await.unwrap().is_some() {}
    });
    streams::connect_with(output, input, options.revision(Revision::NEWEST_LEGACY)).await
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_list_does_not_keep_the_others() {
    let began = Instant::now();
    let bridge = Bridge::of_several().server("first", |_| with_tool()).server("mute", lists_nothing);
    let mut host = StreamHost::open(bridge).await;
    assert_eq!(began.elapsed().as_secs(), GRACE.as_secs());
    assert_eq!(host.tools().await, ["first_echo"]);
}
