//! Tasks: `call` waits for them and cancels them, `--detach` leaves them, `task` comes back to them.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use papertape::server::Tool;
use papertape::{Cx, Server, ToolError, http};
use rustix::process::Signal;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::papertape;
use crate::process::{End, Process, run};

/// Tells when it is dropped.
struct Ended(std::sync::mpsc::Sender<()>);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// A server whose task `forever` tells when its handler has ended.
struct Served {
    url: String,
    ended: Receiver<()>,
    _runtime: Runtime,
}

fn serve() -> Served {
    let (tell, ended) = channel();
    let server = Server::new("tasks", "1")
        .tool(Tool::new("soon").long_running(), async |(): (), _: Cx| Ok::<_, ToolError>("42 pages"))
        .tool(Tool::new("fails").long_running(), async |(): (), _: Cx| {
            Err::<(), _>(ToolError::failed("no paper"))
        })
        .tool("plain", async |(): (), _: Cx| Ok::<_, ToolError>("at once"))
        .tool(Tool::new("forever").long_running(), move |(): (), _: Cx| {
            let tell = tell.clone();
            async move {
                let _ended = Ended(tell);
                std::future::pending::<()>().await;
                Ok::<_, ToolError>("never")
            }
        });
    let runtime = Runtime::new().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    runtime.spawn(http::serve_until(listener, server, http::Options::new(), std::future::pending()));
    Served { url, ended, _runtime: runtime }
}

impl Served {
    fn run(&self, words: &[&str]) -> End {
        let words = words.iter().map(|word| if *word == "URL" { &self.url } else { *word });
        run(&mut papertape(words), "")
    }

    /// Waits for the end of the handler of `forever`.
    #[track_caller]
    fn handler_has_ended(&self) {
        self.ended.recv_timeout(Duration::from_secs(120)).expect("the handler goes on");
    }

    #[track_caller]
    fn ok(&self, words: &[&str]) -> String {
        let end = self.run(words);
        assert_eq!(end.status.code(), Some(0), "{end:?}");
        String::from_utf8(end.output).unwrap()
    }
}

#[test]
fn call_waits_for_a_task() {
    let served = serve();
    assert_eq!(served.ok(&["call", "URL", "soon"]), "42 pages\n");
    let end = served.run(&["call", "URL", "fails"]);
    assert_eq!((end.status.code(), end.log.trim()), (Some(1), "no paper"), "{end:?}");
    let json = served.ok(&["call", "URL", "soon", "--output", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["result"]["content"][0]["text"], "42 pages");
}

#[test]
fn a_task_can_be_detached_and_come_back_to() {
    let served = serve();
    let end = served.run(&["call", "URL", "forever", "--detach"]);
    assert_eq!(end.status.code(), Some(0), "{end:?}");
    let id = String::from_utf8(end.output).unwrap();
    let id = id.trim();
    assert!(end.log.contains(&format!("papertape task wait {} {id}", served.url)), "{}", end.log);
    let state = served.ok(&["task", "get", "URL", id]);
    assert!(state.starts_with("working\n  created 20"), "{state}");
    let json: Value =
        serde_json::from_str(&served.ok(&["task", "get", "URL", id, "--output", "json"])).unwrap();
    assert_eq!((&json["task"]["taskId"], &json["task"]["status"]), (&id.into(), &"working".into()));
    assert_eq!((&json["task"]["ttlMs"], &json["task"]["pollIntervalMs"]), (&3_600_000.into(), &1000.into()));
    let end = served.run(&["task", "wait", "URL", id, "--task-timeout", "0.2"]);
    assert_eq!(end.status.code(), Some(4), "{end:?}");
    assert!(end.log.contains("the task did not end within 0.2 s"), "{}", end.log);
    assert!(end.log.contains("--task-timeout"), "{}", end.log);
    assert!(served.ok(&["task", "cancel", "URL", id]).starts_with("cancelled\n"));
    served.handler_has_ended();
    let end = served.run(&["task", "wait", "URL", id]);
    assert_eq!(end.status.code(), Some(1), "{end:?}");
    assert!(end.log.contains("the task was cancelled"), "{}", end.log);

    let id = served.ok(&["call", "URL", "soon", "--detach"]);
    assert_eq!(served.ok(&["task", "wait", "URL", id.trim()]), "42 pages\n");
    // What is no task has its result.
    assert_eq!(served.ok(&["call", "URL", "plain", "--detach"]), "at once\n");
}

#[test]
fn a_process_that_ends_with_the_command_is_no_place_to_leave_a_task() {
    let end = run(&mut papertape(["call", "text", "echo", "text=a", "--detach"]), "");
    assert_eq!((end.status.code(), &end.output[..]), (Some(2), &b""[..]), "{end:?}");
    assert!(end.log.contains("leave out --detach"), "{}", end.log);
}

#[test]
fn wrong_usage_of_task_says_what_to_do() {
    let served = serve();
    for (words, problem) in [
        (&["task", "get", "URL"][..], "which task?"),
        (&["task", "get", "URL", "a", "b"], "unexpected argument \"b\""),
    ] {
        let end = served.run(words);
        assert_eq!(end.status.code(), Some(2), "{end:?}");
        assert!(end.log.contains(problem), "{}", end.log);
    }
    let end = served.run(&["task", "get", "URL", "unknown"]);
    assert_eq!(end.status.code(), Some(1), "{end:?}");
    assert!(end.log.contains("unknown task"), "{}", end.log);
}

#[test]
fn interrupting_a_call_cancels_its_task() {
    let served = serve();
    let mut process = Process::start(&mut papertape(["call", "--trace", &*served.url, "forever"]));
    // The trace has the response that is the task a moment before the client knows the task, which it then polls.
    process.wait_for_log("\"tasks/get\"");
    process.signal(Signal::INT);
    let end = process.wait();
    assert_eq!(end.status.code(), Some(130), "{end:?}");
    served.handler_has_ended();
}
