//! The client against servers in processes of their own that misbehave: the example `faulty`, one way at a time.
//!
//! Rows such as C-17 are those of the fault catalogue.
//! `faulty` also judges the client and exits with code 9 if that ever sent what no client may send, so nearly every test
//! ends in [`end`], which wants code 0.
//!
//! Tests wait for what they can see, never for time to pass; what may hang fails after [`TIMEOUT`].
//! A timeout is [`SHORT`] or [`ONCE_IT_RUNS`] where a test waits for it to fire, and [`LONG`] where it must not.

mod bytes;
mod call_options;
mod calls;
mod changes;
mod closed;
mod dropped_clients;
mod floods;
mod handlers;
mod hostile_tasks;
mod in_memory;
mod lists;
mod log;
mod not_servers;
mod numbers;
mod opening;
mod pids;
mod responses;
mod restarts;
mod results;
pub(crate) mod scripted;
mod server_exit;
mod server_requests;
mod slow_exit;
mod tasks;
mod tools;

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use papertape::Client;
use papertape::client::{CallOptions, ClientError, ClientOptions, ErrorKind};
use papertape::protocol::{CallToolResult, Content, Revision};
use papertape::stdio::{ServerCommand, connect_with};
use serde_json::{Value, json};

/// Fires on failure only.
const TIMEOUT: Duration = Duration::from_secs(600);
/// A timeout that must not fire.
const LONG: Duration = Duration::from_secs(600);
/// A timeout that is to fire.
const SHORT: Duration = Duration::from_millis(200);
/// One that is to fire when the server's process has begun to run, which takes a busy machine a while.
const ONCE_IT_RUNS: Duration = Duration::from_secs(3);

/// A server that misbehaves: its mode and what belongs to that. `faulty --help` lists them.
fn faulty(words: &[&str]) -> ServerCommand {
    let test = std::env::current_exe().unwrap();
    let path: PathBuf = test.parent().and_then(|deps| deps.parent()).unwrap().join("examples/faulty");
    assert!(
        path.exists(),
        "{} has not been built: plain `cargo test` builds the examples, `cargo test --test it` does not",
        path.display()
    );
    ServerCommand::new(path).args(words.iter().copied())
}

/// A client none of whose timeouts fire.
pub(crate) fn patient() -> ClientOptions {
    ClientOptions::new().probe_timeout(LONG).open_timeout(LONG).timeout(LONG)
}

/// A patient client that speaks the newest revision with a handshake.
fn legacy() -> ClientOptions {
    patient().revision(Revision::NEWEST_LEGACY)
}

/// Runs a test on one thread, in real time.
fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(in_time(test))
}

pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, future).await.expect("it hangs")
}

/// Opens a session with a server that misbehaves only later.
async fn open(words: &[&str]) -> Client {
    open_with(words, patient()).await
}

async fn open_with(words: &[&str], options: ClientOptions) -> Client {
    connect_with(faulty(words), options).await.unwrap()
}

/// Why a session cannot be opened.
async fn not_opened(words: &[&str], options: ClientOptions) -> ClientError {
    connect_with(faulty(words), options).await.unwrap_err()
}

/// The one text of a result.
#[track_caller]
pub(crate) fn text_of(result: &CallToolResult) -> &str {
    match &result.content[..] {
        [Content::Text(text)] => &text.text,
        other => panic!("not one text: {other:?}"),
    }
}

/// The text that a tool returns.
async fn text(client: &Client, tool: &str) -> String {
    text_of(&client.call(tool, json!({})).await.unwrap()).to_owned()
}

/// What the server reports, such as `was_heard`.
async fn report(client: &Client, tool: &str) -> Value {
    serde_json::from_str(&text(client, tool).await).unwrap()
}

/// Methods that the server has heard, but for the call that asks for them.
async fn heard(client: &Client) -> Vec<String> {
    let mut heard: Vec<String> = serde_json::from_value(report(client, "was_heard").await).unwrap();
    heard.pop();
    heard
}

/// Why the tool `fault` gives no result.
async fn fault(client: &Client) -> ClientError {
    client.call("fault", json!({})).await.unwrap_err()
}

/// The same, with little time.
async fn fault_in_short(client: &Client) -> ClientError {
    client
        .call_with("fault", json!({}), CallOptions::new().timeout(SHORT).total_timeout(SHORT))
        .await
        .unwrap_err()
}

/// Why the tool `hang` gives no result: it never does.
async fn hang(client: &Client) -> ClientError {
    client
        .call_with("hang", json!({}), CallOptions::new().timeout(SHORT).total_timeout(SHORT))
        .await
        .unwrap_err()
}

/// The session continues unaffected.
async fn lives(client: &Client) {
    let echoed = client.call("echo", json!({"text": "smörgås"})).await.unwrap();
    assert_eq!(text_of(&echoed), "smörgås");
}

/// The session continues, and when it ends the server has no complaint.
async fn lives_and_ends(client: Client) {
    lives(&client).await;
    end(client).await;
}

/// Ends the session; the server must have no complaint.
async fn end(client: Client) {
    let last = client.clone();
    let status = client.close().await.expect("it was a process");
    if status.code() != Some(0) {
        // Only an error has the content of stderr.
        panic!("{status}: {}", last.ping().await.unwrap_err().stderr());
    }
}

/// What the server did that MCP does not allow.
#[track_caller]
fn broken(error: &ClientError) -> &str {
    match error.kind() {
        ErrorKind::Protocol(problem) => problem,
        _ => panic!("not against the protocol: {error:?}"),
    }
}

/// The code of the error response.
#[track_caller]
fn code(error: &ClientError) -> i64 {
    match error.kind() {
        ErrorKind::Rpc(error) => error.code,
        _ => panic!("not the server's own error: {error:?}"),
    }
}

#[track_caller]
fn is_closed(error: &ClientError) {
    assert!(matches!(error.kind(), ErrorKind::Closed), "{error:?}");
}

/// The timeout that has fired.
#[track_caller]
fn timed_out(error: &ClientError) -> Duration {
    match error.kind() {
        ErrorKind::TimedOut(time) => *time,
        _ => panic!("not late: {error:?}"),
    }
}

/// The error says all of this.
#[track_caller]
fn says(error: &ClientError, words: &[&str]) {
    let sentence = error.to_string();
    assert!(
        sentence.len() < 2_000,
        "{} bytes: {}",
        sentence.len(),
        sentence.chars().take(200).collect::<String>()
    );
    for word in words {
        assert!(sentence.contains(word), "{word:?} is missing in: {sentence}");
    }
    assert!(!sentence.contains(char::is_control), "not for a terminal: {sentence:?}");
}
