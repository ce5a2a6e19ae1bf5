//! A server whose tools do what tools should not: print, read stdin, start children, block, hang, panic.
//!
//! None of it may reach the wire, stop the server or keep it from ending; `tests/it/stdio_process.rs` holds it to that.
//! `noisy [SECONDS]` sets the grace period; `noisy SECONDS background` has background work that blocks its thread.

use std::io::{Read, Write};
use std::process::Command;
use std::thread;
use std::time::Duration;

use papertape::server::{Limits, Tool};
use papertape::{Cx, Server, ToolError, stdio};
use schemars::JsonSchema;
use serde::Deserialize;

/// Print a text to stdout, as a forgotten debugging line would.
#[derive(Deserialize, JsonSchema)]
struct Print {
    text: String,
    /// Without a line end: it stays in the buffer of the standard library.
    #[serde(default)]
    unfinished: bool,
}

#[expect(clippy::print_stdout, reason = "this is what must do no harm")]
async fn print(args: Print, _: Cx) -> Result<&'static str, ToolError> {
    if args.unfinished {
        print!("{}", args.text);
    } else {
        println!("{}", args.text);
    }
    Ok("printed")
}

/// Run a shell script that inherits this process's stdin, stdout and stderr.
#[derive(Deserialize, JsonSchema)]
struct Child {
    script: String,
}

async fn child(args: Child, _: Cx) -> Result<String, ToolError> {
    let run = move || Command::new("sh").arg("-c").arg(args.script).status();
    Ok(tokio::task::spawn_blocking(run).await??.to_string())
}

/// Fail with an error that the client must not see.
async fn internal((): (), _: Cx) -> Result<(), ToolError> {
    Err(ToolError::internal("the password is \u{1b}[1mswordfish\nand more"))
}

/// Read all of stdin, and tell how much there was.
async fn read_stdin((): (), _: Cx) -> Result<String, ToolError> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    Ok(format!("{} bytes", bytes.len()))
}

/// Return so many letters, after so many milliseconds.
#[derive(Deserialize, JsonSchema)]
struct Blob {
    letters: usize,
    after: Option<u64>,
}

async fn blob(args: Blob, _: Cx) -> Result<String, ToolError> {
    if let Some(milliseconds) = args.after {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
    Ok("x".repeat(args.letters))
}

/// Never return.
async fn hang((): (), _: Cx) -> Result<(), ToolError> {
    std::future::pending().await
}

/// Never return, and keep a thread.
#[derive(Deserialize, JsonSchema)]
struct Block {
    /// The thread on which the function was called, not one for blocking work.
    #[serde(default)]
    here: bool,
}

#[expect(clippy::print_stdout, reason = "tells the test that it has begun")]
async fn block<C>(args: Block, _: C) -> Result<(), ToolError> {
    let block = || -> () {
        println!("blocking");
        loop {
            thread::park();
        }
    };
    if args.here {
        block()
    } else {
        tokio::task::spawn_blocking(block).await?
    }
    Ok(())
}

/// Keep the thread for so many milliseconds, with no await in sight.
#[derive(Deserialize, JsonSchema)]
struct Busy {
    milliseconds: u64,
}

async fn busy(args: Busy, _: Cx) -> Result<&'static str, ToolError> {
    thread::sleep(Duration::from_millis(args.milliseconds));
    Ok("awake")
}

/// Panic.
#[derive(Deserialize, JsonSchema)]
struct Panic {
    /// At the second step, elsewhere.
    #[serde(default)]
    later: bool,
}

#[expect(clippy::panic, reason = "this is what must do no harm")]
async fn panic(args: Panic, _: Cx) -> Result<(), ToolError> {
    if args.later {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("on purpose");
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    // What is still in the standard library's buffer when serving begins must not come out on the wire either.
    write!(std::io::stdout(), "printed before serving")?;
    let blocks = std::env::args().nth(2).is_some_and(|what| what == "background");
    let grace = std::env::args().nth(1).and_then(|seconds| seconds.parse().ok()).unwrap_or(10.0);
    let server = Server::new("noisy", "1.0.0")
        .limits(Limits { grace: Duration::from_secs_f64(grace), ..Limits::default() })
        .tool("print", print)
        .tool("child", child)
        .tool(Tool::new("internal").description("Fail with an error that the client must not see."), internal)
        .tool(
            Tool::new("read_stdin").description("Read all of stdin, and tell how much there was."),
            read_stdin,
        )
        .tool("blob", blob)
        .tool(Tool::new("hang").description("Never return."), hang)
        .tool("block", block)
        .tool("busy", busy)
        .tool("panic", panic)
        .notification("notifications/noisy/block", block);
    if blocks {
        return stdio::serve(server.background(|_| async { drop(block(Block { here: true }, ()).await) }))
            .await;
    }
    stdio::serve(server).await
}
