//! A file of servers that start the example programs, and a program run with it.

use std::process::{Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::run::path;

/// A directory with an `mcp.json` of two servers, which are the same program, and one that does not exist.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let program = |name: &str| json!({"command": path(name)});
    let servers: Value = json!({
        "shop": program("typed_tools"), "kiosk": program("typed_tools"), "gone": {"command": "/no/such/server"},
    });
    std::fs::write(folder.path().join("mcp.json"), json!({"mcpServers": servers}).to_string()).unwrap();
    folder
}

/// Runs a program in the directory to its end.
pub(crate) async fn run(folder: &TempDir, program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(path(program));
    command.args(arguments).current_dir(folder.path()).stdin(Stdio::null()).kill_on_drop(true);
    for name in ["OPENAI_BASE_URL", "OPENAI_MODEL"] {
        command.env_remove(name);
    }
    command.env("OPENAI_API_KEY", "key-1").env("NO_PROXY", "*").output().await.unwrap()
}

/// What a program that has succeeded wrote on stdout, and on stderr.
pub(crate) fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}
