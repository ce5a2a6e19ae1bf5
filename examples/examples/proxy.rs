//! A proxy: a server in front of any other. It offers what the other offers, and follows its lists as they change; calls, their
//! `_meta`, their progress and their forms for the user pass through. The status of a task arrives as progress. `server.middleware(..)` makes a gateway of it.
//!
//! ```sh
//! cargo build -p papertape-examples --examples
//! papertape list 'target/debug/examples/proxy target/debug/examples/typed_tools'
//! ```

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex as Lock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, error::Error, sync::Arc, time::Duration};

use papertape::client::{CallOptions, ClientError, ClientOptions, ErrorKind, SubscriptionFilter};
use papertape::protocol::{
    CallToolResult, ElicitResult, FormRequest, PromptResult, RawJson, ResourceContents,
};
use papertape::server::{Prompt, Prompts, Resource, Resources, Tool, Tools};
use papertape::stdio::{self, ServerCommand};
use papertape::{Client, Cx, Server, ToolError};
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc, oneshot};
use tokio::task::JoinSet;

type Question = (FormRequest, oneshot::Sender<ElicitResult>);

struct Proxy {
    client: Client,
    /// The forms that the other server requests. A form does not name its call, so one call runs at a time.
    forms: Arc<Mutex<mpsc::Receiver<Question>>>,
    /// Calls that wait for the user: elicitation ends the handler, which runs again with the response.
    waiting: Lock<HashMap<u64, Call>>,
    calls: AtomicU64,
}

/// A call of the other server, cancelled when this is dropped.
struct Call {
    result: JoinSet<Result<CallToolResult, ClientError>>,
    forms: OwnedMutexGuard<mpsc::Receiver<Question>>,
    question: Option<Question>,
    round: usize,
}

/// An error of the other server is passed on as it is.
fn pass_on(error: ClientError) -> ToolError {
    match error.kind() {
        ErrorKind::Rpc(error) => ToolError::rpc(error.code, &error.message, error.data.clone()),
        _ => error.into(),
    }
}

/// The `_meta` of a request is passed on.
fn with_meta(cx: &Cx<Proxy>) -> CallOptions {
    let meta = cx.meta().iter();
    meta.fold(CallOptions::new(), |options, (name, value)| options.meta(name, value.clone()))
}

async fn begin(name: String, arguments: RawJson, cx: &Cx<Proxy>) -> Call {
    let forms = Arc::clone(&cx.state().forms).lock_owned().await;
    let (client, progress, status) = (cx.state().client.clone(), cx.clone(), cx.clone());
    let mut changes = 0;
    let options = with_meta(cx)
        .on_progress(move |step| progress.progress(step.progress, step.total, step.message.as_deref()))
        .on_status(move |task| {
            if let Some(message) = &task.message {
                changes += 1;
                status.progress(changes, None, message.as_str());
            }
        });
    let mut result = JoinSet::new();
    result.spawn(async move { client.call_with(&name, arguments, options).await });
    Call { result, forms, question: None, round: 0 }
}

async fn call(name: String, arguments: RawJson, cx: Cx<Proxy>) -> Result<CallToolResult, ToolError> {
    let proxy = cx.state();
    let number = cx.keep("call", || proxy.calls.fetch_add(1, Ordering::Relaxed))?;
    let waiting = || proxy.waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let known = waiting().remove(&number);
    let mut call = match known {
        Some(call) => call,
        None => begin(name, arguments, &cx).await,
    };
    loop {
        if let Some((form, answer)) = call.question.take() {
            match cx.ask(&format!("form {}", call.round), form.clone()) {
                Ok(result) => drop(answer.send(result)),
                Err(asking) => {
                    call.question = Some((form, answer));
                    // One call runs at a time: another one that is kept here was abandoned by its user.
                    *waiting() = HashMap::from([(number, call)]);
                    return Err(asking);
                }
            }
            call.round += 1;
        }
        tokio::select! {
            Some(result) = call.result.join_next() => return result?.map_err(pass_on),
            question = call.forms.recv() => call.question = question,
        }
    }
}

async fn read(uri: String, cx: Cx<Proxy>) -> Result<Vec<ResourceContents>, ToolError> {
    cx.state().client.read_with(&uri, with_meta(&cx)).await.map_err(pass_on)
}

async fn prompt(
    name: String,
    arguments: BTreeMap<String, String>,
    cx: Cx<Proxy>,
) -> Result<PromptResult, ToolError> {
    let arguments: serde_json::Map<_, _> =
        arguments.into_iter().map(|(name, value)| (name, value.into())).collect();
    cx.state().client.prompt_with(&name, arguments, with_meta(&cx)).await.map_err(pass_on)
}

#[derive(Clone)]
struct Lists(Tools<Proxy>, Prompts<Proxy>, Resources<Proxy>);

/// Copies the lists of the other server.
async fn copy(client: &Client, Lists(tools, prompts, resources): &Lists) -> Result<(), Box<dyn Error>> {
    if client.capabilities().tools.is_some() {
        tools.replace_all(client.tools().await?.into_iter().map(|listed| {
            let name = listed.item.name.clone();
            (Tool::from(listed.item), move |arguments: RawJson, cx| call(name.clone(), arguments, cx))
        }))?;
    }
    if client.capabilities().prompts.is_some() {
        prompts.replace_all(client.prompts().await?.into_iter().map(|listed| {
            let name = listed.item.name.clone();
            (Prompt::from(listed.item), move |arguments, cx| prompt(name.clone(), arguments, cx))
        }))?;
    }
    if client.capabilities().resources.is_some() {
        resources.replace_all(client.resources().await?.into_iter().map(|listed| {
            let uri = listed.item.uri.clone();
            (Resource::from(listed.item), move |cx| read(uri.clone(), cx))
        }))?;
    }
    Ok(())
}

/// Copies them again whenever they change, and once they are watched.
async fn follow(proxy: Arc<Proxy>, lists: Lists) {
    let all = SubscriptionFilter::new().tools().prompts().resources();
    let Ok(mut changes) = proxy.client.listen(all).await else { return };
    loop {
        // What cannot be copied stays as it was until the next change.
        drop(copy(&proxy.client, &lists).await);
        let Ok(Some(_)) = changes.next().await else { return };
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut command = env::args_os().skip(1);
    let program = command.next().ok_or("usage: proxy COMMAND [ARGUMENTS]")?;
    let (ask, forms) = mpsc::channel::<Question>(1);
    let options = ClientOptions::new().timeout(Duration::from_secs(600)).on_form(move |form| {
        let ask = ask.clone();
        async move {
            let (answer, answered) = oneshot::channel();
            drop(ask.send((form, answer)).await);
            answered.await.unwrap_or_else(|_| ElicitResult::cancel())
        }
    });
    let client = stdio::connect_with(ServerCommand::new(program).args(command), options).await?;

    let forms = Arc::new(Mutex::new(forms));
    let proxy = Proxy { client: client.clone(), forms, waiting: Lock::default(), calls: AtomicU64::new(0) };
    let mut server = Server::new("proxy", "1.0.0").with_state(proxy);
    let lists = Lists(server.tools(), server.prompts(), server.resources());
    copy(&client, &lists).await?;
    let server = server
        .fallback_tool(call)
        .fallback_prompt(prompt)
        .fallback_resource(read)
        .fallback_method(async |method: String, params: RawJson, cx: Cx<Proxy>| {
            cx.state().client.request_raw_with(&method, params, with_meta(&cx)).await.map_err(pass_on)
        })
        .background(move |proxy| follow(proxy, lists.clone()));
    stdio::serve(server).await?;
    Ok(())
}
