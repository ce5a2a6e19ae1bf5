//! A long call as a task, which outlives its request, and a store on disk, which outlives the process.
//!
//! ```sh
//! cargo build -p papertape-examples --example task
//! papertape call 'target/debug/examples/task tasks' count_primes below=100000
//! ```

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use papertape::server::{StoreFuture, Task, TaskStore, Tool};
use papertape::{Cx, Server, ToolError, stdio};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::fs;
use tokio::task::spawn_blocking;

/// Count the prime numbers below a number.
#[derive(Deserialize, JsonSchema)]
struct CountPrimes {
    below: u64,
}

async fn count_primes(args: CountPrimes, cx: Cx) -> Result<String, ToolError> {
    let count = spawn_blocking(move || {
        let mut count = 0u64;
        for n in 2..args.below {
            // The client has cancelled the task, or its time to live is over.
            if cx.cancelled() {
                break;
            }
            // The status message of a task; the progress of a call that is not one.
            if n % 10_000 == 0 {
                cx.progress(n, args.below, format!("{count} up to {n}"));
            }
            count += u64::from((2..).take_while(|d| d * d <= n).all(|d| n % d != 0));
        }
        count
    });
    Ok(format!("{} primes below {}", count.await?, args.below))
}

/// Tasks as files of a directory, one each.
struct Folder(PathBuf);

impl Folder {
    fn file(&self, id: &str) -> PathBuf {
        self.0.join(id).with_extension("json")
    }
}

impl TaskStore for Folder {
    fn put<'a>(&'a self, task: &'a Task) -> StoreFuture<'a, ()> {
        Box::pin(async {
            let (file, new) = (self.file(&task.task_id), self.0.join(&task.task_id).with_extension("new"));
            fs::write(&new, serde_json::to_vec(task)?).await?;
            Ok(fs::rename(new, file).await?)
        })
    }

    fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Task>> {
        Box::pin(async {
            match fs::read(self.file(id)).await {
                Ok(json) => Ok(Some(serde_json::from_slice(&json)?)),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(ToolError::internal(error)),
            }
        })
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async { Ok(fs::remove_file(self.file(id)).await?) })
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "tasks".to_owned());
    fs::create_dir_all(&folder).await?;
    let server = Server::new("primes", "1.0.0")
        .task_store(Folder(Path::new(&folder).to_owned()))
        .tool(Tool::new("count_primes").long_running().read_only(), count_primes);
    stdio::serve(server).await
}
