//! Tasks in memory, which is where they are kept unless a server says otherwise.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard};
use std::time::SystemTime;

use super::task::owner_of;
use super::{StoreFuture, Task, TaskStore};
use crate::server::handler::error::ToolError;
use crate::sync::lock;

/// Tasks in memory: gone with the process, and when their time to live is over.
///
/// ```
/// use papertape::Server;
/// use papertape::server::MemoryTasks;
///
/// // The default, unless another store is given.
/// let server = Server::new("reports", "1.0.0").task_store(MemoryTasks::default());
/// ```
#[derive(Debug, Default)]
pub struct MemoryTasks(Mutex<BTreeMap<String, StoredTask>>);

#[derive(Debug)]
struct StoredTask {
    task: Task,
    changed: SystemTime,
    expires: Option<SystemTime>,
}

/// Tasks that memory holds; when there are more, one that is over makes room.
const MOST_TASKS: usize = 1_000;

impl MemoryTasks {
    fn tasks(&self) -> MutexGuard<'_, BTreeMap<String, StoredTask>> {
        lock(&self.0)
    }
}

impl TaskStore for MemoryTasks {
    fn put<'a>(&'a self, task: &'a Task) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut tasks = self.tasks();
            let now = SystemTime::now();
            tasks.retain(|_, kept| kept.expires.is_none_or(|expires| now < expires));
            if tasks.len() >= MOST_TASKS && !tasks.contains_key(&task.task_id) {
                let Some(id) = dispensable(&tasks) else {
                    return Err(ToolError::failed("there are too many tasks already; try again later"));
                };
                tasks.remove(&id);
            }
            let kept = StoredTask { task: task.clone(), changed: now, expires: task.expires() };
            tasks.insert(task.task_id.clone(), kept);
            Ok(())
        })
    }

    fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Task>> {
        Box::pin(async move { Ok(self.tasks().get(id).map(|kept| kept.task.clone())) })
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.tasks().remove(id);
            Ok(())
        })
    }
}

/// The oldest finished task of the principal with the most of them: a principal with many tasks does not evict the results
/// of others.
fn dispensable(tasks: &BTreeMap<String, StoredTask>) -> Option<String> {
    let over = || tasks.iter().filter(|(_, kept)| kept.task.status.is_over());
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (id, _) in over() {
        *counts.entry(owner_of(id)).or_default() += 1;
    }
    let (most, _) = counts.into_iter().max_by_key(|&(_, count)| count)?;
    let theirs = over().filter(|(id, _)| owner_of(id) == most);
    theirs.min_by_key(|(_, kept)| kept.changed).map(|(id, _)| id.clone())
}

#[cfg(test)]
mod tests {
    use super::{MOST_TASKS, MemoryTasks};
    use crate::server::tasks::{Task, TaskStatus, TaskStore};
    use papertape_oauth::Principal;
    use std::time::Duration;

    fn over(owner: &str) -> Task {
        let owner = Principal::new(owner);
        let task = Task::new(Some(&owner), Duration::from_secs(60)).unwrap();
        Task { status: TaskStatus::Completed, ..task }
    }

    #[tokio::test]
    async fn one_principal_does_not_push_out_the_results_of_another() {
        let store = MemoryTasks::default();
        let modest = over("modest");
        store.put(&modest).await.unwrap_or_else(|_| unreachable!());
        for _ in 0..2 * MOST_TASKS {
            store.put(&over("greedy")).await.unwrap_or_else(|_| unreachable!());
        }
        assert!(matches!(store.get(&modest.task_id).await, Ok(Some(_))));
        assert_eq!(store.tasks().len(), MOST_TASKS);
    }

    #[tokio::test]
    async fn a_task_is_forgotten_when_its_time_is_over() {
        let store = MemoryTasks::default();
        let old = Task { created_at: "2020-01-01T00:00:00Z".to_owned(), ..over("a") };
        assert!(old.is_expired());
        store.put(&old).await.unwrap_or_else(|_| unreachable!());
        let (new, endless) = (over("a"), Task { ttl_ms: None, ..old.clone() });
        assert!(!new.is_expired() && !endless.is_expired());
        store.put(&new).await.unwrap_or_else(|_| unreachable!());
        assert_eq!(store.tasks().len(), 1);
    }
}
