//! Mounted in an axum application: its own authentication, a scope per tool, and state that both share.
//!
//! ```sh
//! cargo run -p papertape-examples --example axum
//! echo alice-secret > token.txt
//! papertape call http://127.0.0.1:8080/mcp add_task text='water the tea plant' --bearer-file token.txt
//! curl -H 'Authorization: Bearer alice-secret' http://127.0.0.1:8080/tasks
//! ```

#![expect(clippy::print_stderr, reason = "a program prints where it serves")]

use std::sync::{Arc, Mutex};

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json, Router, routing::get};
use papertape::http::{Auth, Options};
use papertape::server::{Principal, Tool};
use papertape::{Cx, Server, ToolError, http};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

struct App {
    /// Token, name and scopes of each user.
    users: Vec<(&'static str, Principal)>,
    /// Owner and text of each task.
    tasks: Mutex<Vec<(String, String)>>,
}

impl App {
    fn tasks_of(&self, owner: &str) -> Vec<String> {
        let tasks = self.tasks.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        tasks.iter().filter(|(of, _)| of == owner).map(|(_, text)| text.clone()).collect()
    }
}

/// The application's authentication, for its own pages and for MCP.
async fn sign_in(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let token = http::bearer_token(request.headers()).ok();
    let Some((_, user)) = app.users.iter().find(|(secret, _)| Some(*secret) == token) else {
        return (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")], "sign in first\n")
            .into_response();
    };
    request.extensions_mut().insert(user.clone());
    next.run(request).await
}

/// A page of the application.
async fn page(State(app): State<Arc<App>>, Extension(user): Extension<Principal>) -> Json<Vec<String>> {
    Json(app.tasks_of(&user.name))
}

/// Add a task to your list.
#[derive(Deserialize, JsonSchema)]
struct AddTask {
    text: String,
}

async fn add_task(args: AddTask, cx: Cx<App>) -> Result<String, ToolError> {
    let user = cx.principal().ok_or_else(|| ToolError::refused("sign in first"))?;
    let mut tasks = cx.state().tasks.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    tasks.push((user.name.clone(), args.text));
    Ok("added".to_owned())
}

async fn list_tasks(_: (), cx: Cx<App>) -> Result<papertape::Json<Vec<String>>, ToolError> {
    let user = cx.principal().ok_or_else(|| ToolError::refused("sign in first"))?;
    Ok(papertape::Json(cx.state().tasks_of(&user.name)))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let alice = Principal::new("alice").with_scopes(["tasks:read", "tasks:write"]);
    let bob = Principal::new("bob").with_scopes(["tasks:read"]);
    let users = vec![("alice-secret", alice), ("bob-secret", bob)];
    let app = Arc::new(App { users, tasks: Mutex::default() });

    let server = Server::new("tasks", "1.0.0")
        .with_shared_state(Arc::clone(&app))
        .tool(Tool::new("add_task").scopes(["tasks:write"]), add_task)
        .tool(
            Tool::new("list_tasks").description("Your tasks.").scopes(["tasks:read"]).read_only(),
            list_tasks,
        );
    let mcp = http::service_with(server, Options::new().auth(Auth::from_extensions()))?;
    let router = Router::new()
        .route("/tasks", get(page))
        .nest_service("/mcp", mcp.clone())
        .layer(from_fn_with_state(Arc::clone(&app), sign_in))
        .with_state(app);

    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("http://{}/mcp", listener.local_addr()?);
    let mut terminate = signal(SignalKind::terminate())?;
    let stop = async move {
        // Ctrl-C, or what Docker, Kubernetes and systemd send.
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        // Open streams would keep the application waiting.
        mcp.drain();
    };
    axum::serve(listener, router).with_graceful_shutdown(stop).await
}
