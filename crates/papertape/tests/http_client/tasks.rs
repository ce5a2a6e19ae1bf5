//! Tasks of a server of our own on HTTP.

use std::sync::Arc;
use std::time::Duration;

use papertape::client::{CallOptions, Called, ErrorKind, TaskStatus};
use papertape::server::Tool;
use papertape::{Client, Cx, Server, ToolError, http};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::scripted::text_of;

/// Dropped when the handler of `forever` is.
struct Ended(Arc<Notify>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

struct Served {
    url: String,
    begun: Arc<Notify>,
    ended: Arc<Notify>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve() -> Served {
    let (begun, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let of_tool = (Arc::clone(&begun), Arc::clone(&ended));
    let server = Server::new("tasks", "1")
        .tool(Tool::new("short").long_running(), async |(): (), _: Cx| Ok::<_, ToolError>("done"))
        .tool(Tool::new("forever").long_running(), move |(): (), _: Cx| {
            let (begun, ended) = of_tool.clone();
            async move {
                let _ended = Ended(ended);
                begun.notify_one();
                std::future::pending::<()>().await;
                Ok::<_, ToolError>("never")
            }
        });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let serving =
        tokio::spawn(http::serve_until(listener, server, http::Options::new(), std::future::pending()));
    Served { url, begun, ended, serving }
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(600), test).await.expect("it hangs") })
}

async fn forever(client: &Client) -> papertape::client::TaskHandle {
    match client.call_task("forever", json!({})).await.unwrap() {
        Called::Task(task) => task,
        Called::Result(result) => panic!("not a task: {result:?}"),
    }
}

#[test]
fn tasks_are_waited_for_and_cancelled() {
    run(async {
        let served = serve().await;
        let client = http::connect(&served.url).await.unwrap();
        assert_eq!(text_of(&client.call("short", json!({})).await.unwrap()), "done");
        let mut task = forever(&client).await;
        let id = task.id().to_owned();
        assert_eq!(task.poll().await.unwrap().status, TaskStatus::Working);
        let waiting = tokio::spawn(async move { task.wait().await });
        served.begun.notified().await;
        // Another client comes back to it.
        let other = http::connect(&served.url).await.unwrap();
        other.task(&id).cancel().await.unwrap();
        served.ended.notified().await;
        let error = waiting.await.unwrap().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TaskCancelled), "{error:?}");
        other.close().await;
        client.close().await;
    });
}

/// Waits until a task is cancelled. Its handler may never have begun.
async fn is_cancelled(client: &Client, id: &str) {
    while client.task(id).poll().await.unwrap().status != TaskStatus::Cancelled {}
}

#[test]
fn the_task_of_a_call_that_is_given_up_is_cancelled() {
    run(async {
        let served = serve().await;
        let client = http::connect(&served.url).await.unwrap();
        let other = http::connect(&served.url).await.unwrap();
        let (tell, mut ids) = tokio::sync::mpsc::unbounded_channel();
        let options = || {
            let tell = tell.clone();
            CallOptions::new().on_status(move |task| drop(tell.send(task.id.clone())))
        };
        let given_up = options().task_timeout(Duration::from_millis(1));
        let error = client.call_with("forever", json!({}), given_up).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TaskTimedOut(_)), "{error:?}");
        is_cancelled(&other, &ids.recv().await.unwrap()).await;

        // The client is closed right after the call is dropped.
        let id = tokio::select! {
            called = client.call_with("forever", json!({}), options()) => panic!("{called:?}"),
            id = ids.recv() => id.unwrap(),
        };
        client.close().await;
        is_cancelled(&other, &id).await;
        other.close().await;
    });
}
