//! `papertape task get|wait|cancel TARGET ID`: tasks, which are calls that continue on the server.

use std::io;
use std::time::Duration;

use papertape::Client;
use papertape::client::{CallOptions, ClientError, ErrorKind, TaskHandle, TaskState};
use serde_json::{Map, Value, json};

use crate::args::{Output, Task, TaskCommand, TaskTarget};
use crate::command::call::print_result;
use crate::connect::with_server;
use crate::exit::{self, Failure};
use crate::print::text::one_line;
use crate::print::{self, Look, Printing};
use crate::progress_line::ProgressLine;
use crate::target::{self, Target};

pub(crate) fn run(args: Task) -> Result<(), Failure> {
    match args.command {
        TaskCommand::Get(args) => {
            let output = args.connect.output;
            with_task(args, async |client, mut task| Ok(print_state(task.poll().await?, &client, output)?))
        }
        TaskCommand::Cancel(args) => {
            let output = args.connect.output;
            with_task(args, async |client, mut task| {
                task.cancel().await?;
                Ok(print_state(task.poll().await?, &client, output)?)
            })
        }
        TaskCommand::Wait(args) => {
            let printing = Printing::of(&args.task.connect, &args.save);
            let limit = args.limit.task_timeout;
            with_task(args.task, async |client, task| wait(&client, task, limit, printing).await)
        }
    }
}

async fn wait(
    client: &Client,
    mut task: TaskHandle,
    limit: f64,
    printing: Printing<'_>,
) -> Result<(), Failure> {
    let line = ProgressLine::default();
    let look = Look::of_stderr();
    let mut options = waiting(limit);
    if look.redraws() && !printing.trace {
        options = options.on_status(line.status_callback(look));
    }
    let result = task.wait_raw(options).await;
    drop(line);
    let (result, raw) = result.map_err(failure)?;
    print_result(client, (&result, raw), printing)
}

/// Options of a wait for a task with this limit.
pub(crate) fn waiting(limit: f64) -> CallOptions {
    CallOptions::new().task_timeout(Duration::from_secs_f64(limit))
}

/// Runs `work` with the task that the arguments name.
fn with_task(
    args: TaskTarget,
    work: impl AsyncFnOnce(Client, TaskHandle) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (target, words) = target::split(args.words, args.connect.command.clone(), &args.connect.from_file)?;
    let [id] = words.as_slice() else {
        return Err(Failure::usage(match words.as_slice() {
            [] => "which task? `papertape call --detach` prints its id".to_owned(),
            [_, more, ..] => format!("unexpected argument \"{more}\": one task at a time"),
            [_] => String::new(),
        }));
    };
    with_server(&args.connect, &target, async |client| {
        let task = client.task(id);
        work(client, task).await
    })
}

/// Prints the state of a task.
fn print_state(state: &TaskState, client: &Client, output: Output) -> io::Result<()> {
    if output == Output::Json {
        return print::document(&document(state, client));
    }
    let mut text = format!("{}\n", state.status.as_str());
    if let Some(message) = &state.message {
        text += &format!("  {}\n", one_line(message));
    }
    for (name, time) in [("created", &state.created_at), ("changed", &state.last_updated_at)] {
        if let Some(time) = time {
            text += &format!("  {name} {}\n", one_line(time));
        }
    }
    print::out(text.as_bytes())
}

/// The state of a task as JSON, with the names of the protocol.
fn document(state: &TaskState, client: &Client) -> Value {
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let mut task = Map::new();
    task.insert("taskId".to_owned(), state.id.as_str().into());
    task.insert("status".to_owned(), state.status.as_str().into());
    let texts = [
        ("statusMessage", &state.message),
        ("createdAt", &state.created_at),
        ("lastUpdatedAt", &state.last_updated_at),
    ];
    for (name, text) in texts {
        task.extend(text.as_deref().map(|text| (name.to_owned(), text.into())));
    }
    task.insert("ttlMs".to_owned(), state.ttl.map(milliseconds).into());
    task.extend(state.poll_interval.map(|time| ("pollIntervalMs".to_owned(), milliseconds(time).into())));
    json!({"revision": client.revision().as_str(), "task": task})
}

/// Prints the id of a task that continues, and how to come back to it.
pub(crate) fn print_detached(
    task: &TaskHandle,
    target: &Target,
    client: &Client,
    output: Output,
) -> Result<(), Failure> {
    match (output, task.state()) {
        (Output::Json, Some(state)) => print::document(&document(state, client))?,
        _ => print::out(format!("{}\n", one_line(task.id())).as_bytes())?,
    }
    let (quoted, id) = (target.to_string(), one_line(task.id()));
    // The id is the server's choice, and the line is there to be copied.
    let (quoted, id) = (shell_words::quote(&quoted), shell_words::quote(&id));
    exit::note(&format!("the task continues; `papertape task wait {quoted} {id}` waits for its result"));
    Ok(())
}

/// The failure of a call that may have become a task.
pub(crate) fn failure(error: ClientError) -> Failure {
    let timed_out = matches!(error.kind(), ErrorKind::TaskTimedOut(_));
    let failure = Failure::from(error);
    if timed_out { failure.with_hint(" (limit: --task-timeout)".to_owned()) } else { failure }
}
