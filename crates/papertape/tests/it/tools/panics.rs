//! A panic anywhere gets an error response and is survived.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use papertape::server::Tool;
use papertape::{Cx, Json, Server, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;

use super::{Nothing, check_call, nothing};
use crate::peer::{MODERN, Peer, call, cancel, request, run, words};

/// Panics when it is dropped, unless a panic is on its way already.
#[derive(Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("in drop");
        }
    }
}

/// A future written by hand that panics when it is dropped, having been ready or not.
struct BombFuture {
    ready: bool,
    _bomb: Bomb,
}

impl Future for BombFuture {
    type Output = Result<&'static str, ToolError>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        if self.ready { Poll::Ready(Ok("done")) } else { Poll::Pending }
    }
}

/// Arguments that panic when they are read.
#[derive(JsonSchema)]
struct Unreadable {}

impl<'de> Deserialize<'de> for Unreadable {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("while reading")
    }
}

/// A result that panics when it is written.
#[derive(JsonSchema)]
struct Unwritable {}

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("while writing")
    }
}

fn panicking() -> Server {
    Server::new("panicking", "1")
        .tool("closure", |_: Nothing, _: Cx| -> std::future::Ready<Result<String, ToolError>> {
            panic!("in the closure")
        })
        .tool("first_poll", async |_: Nothing, _: Cx| -> Result<String, ToolError> { panic!("at once") })
        .tool("second_poll", async |_: Nothing, _: Cx| -> Result<String, ToolError> {
            tokio::task::yield_now().await;
            panic!("at the second poll")
        })
        .tool("later", async |_: Nothing, _: Cx| -> Result<String, ToolError> {
            tokio::time::sleep(Duration::from_millis(5)).await;
            panic!("later")
        })
        .tool("spawned", async |_: Nothing, _: Cx| -> Result<String, ToolError> {
            tokio::spawn(async { panic!("in a task") }).await?;
            Ok(String::new())
        })
        .tool("drop", async |_: Nothing, _: Cx| {
            let _bomb = Bomb;
            Ok("done")
        })
        .tool("late_drop", async |_: Nothing, _: Cx| {
            let _bomb = Bomb;
            tokio::task::yield_now().await;
            Ok("done")
        })
        .tool("future_drop", |_: Nothing, _: Cx| BombFuture { ready: true, _bomb: Bomb })
        .tool("reading", async |_: Unreadable, _: Cx| Ok("done"))
        .tool("writing", async |_: Nothing, _: Cx| Ok(Json(Unwritable {})))
        .tool("number", async |_: Nothing, _: Cx| -> Result<String, ToolError> { std::panic::panic_any(5) })
        .tool(
            Tool::new("explain")
                .input_schema(json!({"type": "object", "required": ["x"]}))
                .explain(|_| panic!("lost for words")),
            nothing,
        )
}

#[test]
fn a_panic_anywhere_in_a_handler_gets_an_error_and_is_survived() {
    for tool in [
        "closure",
        "first_poll",
        "second_poll",
        "later",
        "drop",
        "late_drop",
        "future_drop",
        "reading",
        "writing",
        "number",
        "explain",
    ] {
        check_call(panicking, tool, "E(-32603,7)", "panicked", "");
    }
    // A task of its own is its own affair; the handler sees an error.
    check_call(panicking, "spawned", "F(7)", "panicked", "");
}

#[test]
fn a_panic_whose_own_payload_panics_is_survived() {
    let server = || {
        Server::new("payload", "1")
            .tool("at_once", async |_: Nothing, _: Cx| -> Result<String, ToolError> {
                std::panic::panic_any(Bomb)
            })
            .tool("later", async |_: Nothing, _: Cx| -> Result<String, ToolError> {
                tokio::task::yield_now().await;
                std::panic::panic_any(Bomb)
            })
    };
    check_call(server, "later", "E(-32603,7)", "panicked", "");
    check_call(server, "at_once", "E(-32603,7)", "panicked", "");
}

/// An error that panics when it is shown, and when it is dropped.
#[derive(Debug)]
struct BombError {
    in_display: bool,
    _bomb: Option<Bomb>,
}

impl std::fmt::Display for BombError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        assert!(!self.in_display, "in display");
        f.write_str("an error")
    }
}

impl std::error::Error for BombError {}

#[test]
fn an_error_that_panics_is_survived() {
    let server = || {
        let shown = async |_: Nothing, _: Cx| {
            Err::<String, _>(ToolError::internal(BombError { in_display: true, _bomb: None }))
        };
        let dropped = async |_: Nothing, _: Cx| {
            Err::<String, _>(ToolError::internal(BombError { in_display: false, _bomb: Some(Bomb) }))
        };
        let dropped_later = async |_: Nothing, _: Cx| {
            tokio::task::yield_now().await;
            Err::<String, _>(ToolError::internal(BombError { in_display: false, _bomb: Some(Bomb) }))
        };
        Server::new("errors", "1")
            .tool("shown", shown)
            .tool("dropped", dropped)
            .tool("dropped_later", dropped_later)
    };
    for tool in ["shown", "dropped", "dropped_later"] {
        check_call(server, tool, "E(-32603,7)", "", "an error");
    }
}

#[test]
fn a_panic_during_cancellation_is_survived() {
    run(async {
        let server = || {
            Server::new("bombs", "1")
                .tool("local", async |_: Nothing, _: Cx| {
                    let _bomb = Bomb;
                    std::future::pending::<Result<String, ToolError>>().await
                })
                .tool("future", |_: Nothing, _: Cx| BombFuture { ready: false, _bomb: Bomb })
        };
        let mut peer = Peer::open(server(), MODERN).await;
        for tool in ["local", "future"] {
            assert_eq!(words(&peer.send(call(MODERN, "7", tool, &json!({})) + "\n").await), "");
            assert_eq!(words(&peer.send(cancel("7") + "\n").await), "");
            assert_eq!(words(&peer.send(request(MODERN, "8", "tools/list", json!({})) + "\n").await), "R(8)");
        }
        // And at the end of the connection.
        peer.send(
            call(MODERN, "7", "local", &json!({})) + "\n" + &call(MODERN, "8", "future", &json!({})) + "\n",
        )
        .await;
        let answers = words(&peer.end().await);
        assert!(["E(-32603,7) E(-32603,8)", "E(-32603,8) E(-32603,7)"].contains(&&*answers), "{answers}");
    });
}

#[test]
fn a_panic_in_a_batch_affects_no_other_response() {
    run(async {
        let mut peer = Peer::open(panicking(), "2025-03-26").await;
        let batch = format!(
            "[{},{},{}]\n",
            call("", "1", "first_poll", &json!({})),
            call("", "2", "later", &json!({})),
            request("", "3", "ping", json!({}))
        );
        assert_eq!(words(&peer.send(batch).await), "");
        assert_eq!(words(&peer.within(Duration::from_millis(50)).await), "[E(-32603,1) E(-32603,2) R(3)]");
    });
}
