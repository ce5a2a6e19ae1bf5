//! A task as clients and stores see it.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

pub use crate::protocol::TaskStatus;
use crate::server::handler::error::ToolError;
use crate::wire::RpcError;
use papertape_oauth::Principal;

/// How often a client should poll a task.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A task: a call that goes on after its response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// Its id, which cannot be guessed.
    pub task_id: String,
    /// Its status.
    pub status: TaskStatus,
    /// What it is doing, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// When it last changed (RFC 3339).
    pub last_updated_at: String,
    /// Time to live since its creation: then it is ended, if it still runs, and removed. `None` is for ever.
    pub ttl_ms: Option<u64>,
    /// How often to poll.
    pub poll_interval_ms: u64,
    /// The input that it needs before it can go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<Value>,
    /// The result of the call, once it is completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The error of the call, if it has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RpcError>,
}

/// The future of an operation of a [`TaskStore`].
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ToolError>> + Send + 'a>>;

/// Where tasks are stored. With a store on a disk or in a database, tasks outlive the process, and other replicas know them.
///
/// Ids are 32 or 64 hexadecimal digits, so that they can be file names or keys; other ids of clients never reach the store.
///
/// ```
/// use std::path::PathBuf;
///
/// use papertape::Server;
/// use papertape::server::{StoreFuture, Task, TaskStore};
///
/// /// One file for each task.
/// struct Folder(PathBuf);
///
/// impl TaskStore for Folder {
///     fn put<'a>(&'a self, task: &'a Task) -> StoreFuture<'a, ()> {
///         Box::pin(async move {
///             let file = self.0.join(&task.task_id);
///             tokio::fs::write(&file.with_extension("new"), serde_json::to_vec(task)?).await?;
///             Ok(tokio::fs::rename(file.with_extension("new"), file).await?)
///         })
///     }
///
///     fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Task>> {
///         Box::pin(async move {
///             match tokio::fs::read(self.0.join(id)).await {
///                 Ok(json) => Ok(Some(serde_json::from_slice(&json)?)),
///                 Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
///                 Err(error) => Err(error.into()),
///             }
///         })
///     }
/// }
///
/// let server = Server::new("reports", "1.0.0").task_store(Folder("tasks".into()));
/// ```
pub trait TaskStore: Send + Sync + 'static {
    /// Stores a task, in place of the one with its id. It must be durable when the future is ready.
    fn put<'a>(&'a self, task: &'a Task) -> StoreFuture<'a, ()>;

    /// The task with that id.
    fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Task>>;

    /// Removes a task whose time to live is over. A store may keep it: clients no longer see it.
    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, ()> {
        let _ = id;
        Box::pin(async { Ok(()) })
    }
}

impl Task {
    /// A task of that owner which runs; `None` if the system provides no randomness.
    pub(super) fn new(owner: Option<&Principal>, ttl: Duration) -> Option<Self> {
        let mut id = [0; 16];
        getrandom::fill(&mut id).ok()?;
        let now = now();
        Some(Self {
            task_id: data_encoding::HEXLOWER.encode(&id) + &owner.map(mark).unwrap_or_default(),
            status: TaskStatus::Working,
            status_message: None,
            created_at: now.clone(),
            last_updated_at: now,
            ttl_ms: u64::try_from(ttl.as_millis()).ok(),
            poll_interval_ms: u64::try_from(POLL_INTERVAL.as_millis()).unwrap_or(1_000),
            input_requests: None,
            result: None,
            error: None,
        })
    }

    /// When its time to live is over.
    pub(super) fn expires(&self) -> Option<SystemTime> {
        let created = humantime::parse_rfc3339(&self.created_at).ok()?;
        created.checked_add(Duration::from_millis(self.ttl_ms?))
    }

    pub(super) fn is_expired(&self) -> bool {
        self.expires().is_some_and(|expires| expires <= SystemTime::now())
    }

    pub(super) fn fail(&mut self, error: RpcError) {
        self.status = TaskStatus::Failed;
        self.input_requests = None;
        self.error = Some(error);
    }

    pub(super) fn cancel(&mut self) {
        self.status = TaskStatus::Cancelled;
        self.input_requests = None;
    }

    pub(super) fn resume(&mut self) {
        self.status = TaskStatus::Working;
        self.input_requests = None;
    }

    /// The task as a result of that type.
    pub(super) fn to_result(&self, result_type: &str) -> Map<String, Value> {
        let mut object = match serde_json::to_value(self) {
            Ok(Value::Object(object)) => object,
            _ => Map::new(),
        };
        object.insert("resultType".to_owned(), result_type.into());
        object
    }
}

/// What the id of a task ends with, so that it is of no use to any principal but its owner.
fn mark(owner: &Principal) -> String {
    let digest = Sha256::digest(owner.name.as_bytes());
    data_encoding::HEXLOWER.encode(digest.first_chunk::<16>().map_or(&[], |half| &half[..]))
}

/// The mark of a task's owner; empty if it has none.
pub(super) fn owner_of(id: &str) -> &str {
    id.get(32..).unwrap_or_default()
}

/// Whether a task can have this id: it names a file in some stores, and comes from the client.
pub(super) fn is_task_id(id: &str) -> bool {
    matches!(id.len(), 32 | 64) && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a task can be one of this principal's. Without authorization every task is everyone's.
pub(crate) fn belongs_to(id: &str, principal: Option<&Principal>) -> bool {
    principal.is_none_or(|principal| owner_of(id) == mark(principal))
}

pub(super) fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}
