//! The server under test, in this process on a port of its own, and a stage on which its tools do as the test says.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use papertape::http::{self, HttpService, Options};
use papertape::protocol::LogLevel;
use papertape::server::{Elicited, Form, Resource, Resources, Roots, Tool, Tools};
use papertape::{Cx, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::connection::{Response, Wire};
use crate::request::{Request, Session};

/// Fires on failure only.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The state of a waiting tool, as the tool reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    Began(String),
    Ended(String),
    /// It was stopped before its end.
    Dropped(String),
}

/// Where tools wait for the test.
#[derive(Clone)]
pub(crate) struct Stage {
    acts: mpsc::UnboundedSender<Act>,
    curtain: Arc<Semaphore>,
}

/// A server that serves.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    pub(crate) tools: Tools,
    pub(crate) resources: Resources,
    acts: mpsc::UnboundedReceiver<Act>,
    curtain: Arc<Semaphore>,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<std::io::Result<()>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Guest {
    name: String,
}

/// Reports that its tool was dropped, unless that has ended.
struct Presence {
    name: String,
    acts: mpsc::UnboundedSender<Act>,
    ended: bool,
}

impl Drop for Presence {
    fn drop(&mut self) {
        let name = std::mem::take(&mut self.name);
        drop(self.acts.send(if self.ended { Act::Ended(name) } else { Act::Dropped(name) }));
    }
}

impl Stage {
    /// Waits until the test lets one more go.
    async fn wait(&self, name: &str) {
        let acts = self.acts.clone();
        let mut presence = Presence { name: name.to_owned(), acts, ended: false };
        self.acts.send(Act::Began(name.to_owned())).unwrap();
        self.curtain.acquire().await.unwrap().forget();
        presence.ended = true;
    }
}

fn text(arguments: &Value, name: &str) -> String {
    arguments[name].as_str().unwrap_or_default().to_owned()
}

/// A server whose tools do everything that matters on HTTP.
fn server(stage: &Stage) -> Server {
    let any = || json!({"type": "object"});
    let tool = |name: &str| Tool::new(name).input_schema(any());
    let wait = stage.clone();
    let tell = stage.clone();
    let poll = stage.clone();
    let flood = stage.clone();
    let mirrored = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "inner": {"type": "object", "properties": {"flag": {"type": "boolean", "x-mcp-header": "Flag"}}},
    }});
    Server::new("fixture", "1.0.0")
        .logging()
        .raw_tool(tool("echo"), |arguments: Value, _| async move { Ok(text(&arguments, "text")) })
        .raw_tool(tool("1"), |_: Value, _| async { Ok("one") })
        .raw_tool(tool("wait"), move |arguments: Value, _| {
            let stage = wait.clone();
            async move {
                let name = text(&arguments, "name");
                stage.wait(&name).await;
                Ok(format!("done {name}{}", text(&arguments, "text")))
            }
        })
        .raw_tool(tool("tell"), move |arguments: Value, cx: Cx| {
            let stage = tell.clone();
            async move {
                cx.progress(1.0, 2.0, &*text(&arguments, "text"));
                cx.log(LogLevel::Warning, text(&arguments, "text"));
                stage.wait("tell").await;
                cx.log(LogLevel::Error, "after");
                Ok("done")
            }
        })
        .raw_tool(tool("poll"), move |arguments: Value, cx: Cx| {
            let stage = poll.clone();
            async move {
                cx.close_stream(Duration::from_millis(arguments["after"].as_u64().unwrap_or(5)));
                stage.wait("poll").await;
                Ok("polled")
            }
        })
        .raw_tool(tool("flood"), move |arguments: Value, cx: Cx| {
            let stage = flood.clone();
            async move {
                stage.wait("flood").await;
                for _ in 0..arguments["lines"].as_u64().unwrap_or(1) {
                    cx.log(LogLevel::Error, "x".repeat(10_000));
                    tokio::task::yield_now().await;
                }
                stage.acts.send(Act::Ended("flooded".to_owned())).unwrap();
                Ok("flooded")
            }
        })
        .raw_tool(tool("big"), |arguments: Value, _| async move {
            Ok("y".repeat(usize::try_from(arguments["bytes"].as_u64().unwrap()).unwrap()))
        })
        .raw_tool(tool("ask"), |_: Value, cx: Cx| async move {
            match cx.ask("guest", Form::<Guest>::new("Who?"))? {
                Elicited::Accepted(guest) => Ok(format!("hello {}", guest.name)),
                other => Ok(format!("{other:?}")),
            }
        })
        .raw_tool(tool("roots"), |_: Value, cx: Cx| async move {
            let roots = cx.ask("roots", Roots)?;
            Ok(format!("{} roots", roots.len()))
        })
        .raw_tool(tool("trace"), |_: Value, cx: Cx| async move {
            Ok(cx.trace().map_or("none".to_owned(), |trace| format!("{trace:?}")))
        })
        .raw_tool(tool("panic"), |_: Value, _| async move {
            let nothing: Vec<&str> = Vec::new();
            Ok::<_, ToolError>(nothing[0])
        })
        .raw_tool(Tool::new("mirror").input_schema(mirrored), |_: Value, _| async { Ok("mirrored") })
        .resource(Resource::new("note:one").name("one"), |_| async { Ok("the first note") })
        .prompt("hello", |_: (), _| async { Ok("hello".to_owned()) })
}

impl Site {
    pub(crate) async fn start() -> Self {
        Self::with(Options::new(), |server| server).await
    }

    pub(crate) async fn with(options: Options, change: impl FnOnce(Server) -> Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stage, acts) = stage();
        let mut server = change(server(&stage));
        let (tools, resources) = (server.tools(), server.resources());
        let (stop, stopped) = oneshot::channel();
        let until = async move { drop(stopped.await) };
        let served = tokio::spawn(http::serve_until(listener, server, options, until));
        Self { address, tools, resources, acts, curtain: stage.curtain, stop: Some(stop), served }
    }

    /// The same server in an application, whose own shutdown ends it as docs/http.md says.
    pub(crate) async fn mounted(change: impl FnOnce(Server) -> Server) -> (Self, HttpService) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stage, acts) = stage();
        let mut server = change(server(&stage));
        let (tools, resources) = (server.tools(), server.resources());
        let mcp = http::service(server).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let (app, draining) = (Router::new().nest_service("/mcp", mcp.clone()), mcp.clone());
        let until = async move {
            drop(stopped.await);
            draining.drain();
        };
        let served =
            tokio::spawn(async move { axum::serve(listener, app).with_graceful_shutdown(until).await });
        let site = Self { address, tools, resources, acts, curtain: stage.curtain, stop: Some(stop), served };
        (site, mcp)
    }

    pub(crate) async fn connect(&self) -> Wire {
        Wire::connect(self.address).await
    }

    /// Sends a request on a connection of its own.
    pub(crate) async fn ask(&self, request: &Request) -> Response {
        self.connect().await.ask(request).await
    }

    /// Opens a session.
    pub(crate) async fn session(&self, revision: &str) -> Session {
        self.session_by(revision, &json!({"elicitation": {}, "roots": {}, "sampling": {}})).await
    }

    pub(crate) async fn session_by(&self, revision: &str, abilities: &Value) -> Session {
        let answer = self.ask(&Session::initialize(revision, abilities)).await;
        assert_eq!(answer.json()["result"]["protocolVersion"], revision);
        let id = answer.header("mcp-session-id").expect("no session").to_owned();
        let session = Session { id, revision: revision.to_owned() };
        let noted = self.ask(&session.notify("notifications/initialized", &json!({}))).await;
        assert_eq!((noted.status, noted.body.len()), (202, 0));
        session
    }

    /// What the waiting tools do next.
    pub(crate) async fn act(&mut self) -> Act {
        let act = timeout(TIMEOUT, self.acts.recv()).await;
        act.expect("nothing happens on the stage").expect("the server has gone")
    }

    pub(crate) async fn began(&mut self, name: &str) {
        assert_eq!(self.act().await, Act::Began(name.to_owned()));
    }

    /// Nothing has happened that was not asked for.
    #[track_caller]
    pub(crate) fn assert_no_act(&mut self) {
        assert_eq!(self.acts.try_recv().ok(), None);
    }

    /// Lets so many of the waiting tools go on.
    pub(crate) fn release(&self, count: usize) {
        self.curtain.add_permits(count);
    }

    /// Takes back an unused permit.
    pub(crate) async fn withdraw(&self) {
        self.curtain.acquire().await.unwrap().forget();
    }

    /// The value of a metric, which the server must expose.
    pub(crate) async fn figure(&self, name: &str) -> i64 {
        let answer = self.ask(&Request::new("GET", "/metrics")).await;
        let text = String::from_utf8(answer.body).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is absent: {text}")).parse().unwrap()
    }

    /// Waits until a metric has a value.
    pub(crate) async fn until(&self, name: &str, value: i64) {
        let reached = async {
            while self.figure(name).await != value {
                tokio::task::yield_now().await;
            }
        };
        timeout(TIMEOUT, reached).await.unwrap_or_else(|_| panic!("{name} is never {value}"));
    }

    /// Tells the server to stop.
    pub(crate) fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// The server has ended.
    pub(crate) async fn ended(self) {
        self.served.await.unwrap().unwrap();
    }

    /// The server is healthy.
    pub(crate) async fn assert_well(&self) {
        let answer = self.ask(&Request::call(77, "echo", &json!({"text": "well"}))).await;
        assert_eq!((answer.status, &answer.json()["id"]), (200, &json!(77)), "{answer:?}");
        assert_eq!(answer.json()["result"]["content"][0]["text"], "well");
    }
}

fn stage() -> (Stage, mpsc::UnboundedReceiver<Act>) {
    let (acts, seen) = mpsc::unbounded_channel();
    (Stage { acts, curtain: Arc::new(Semaphore::new(0)) }, seen)
}
