//! Golden tapes of the client: what a server sends, and byte for byte what the client sends and makes of it.
//!
//! `tests/tapes/client/REVISION/*.tape`. Comments are stage directions:
//!
//! - `#! able`: the client supports form and URL elicitation, sampling and roots; before `open`
//! - `#! open [REVISION]`, `#! tools`, `#! call TOOL JSON`, `#! read URI`, `#! prompt NAME JSON`, `#! ping`, ...: the caller acts
//! - `#! advance MS`: time passes
//! - `#= ...`: what an act came to
//!
//! `UPDATE=1 cargo test` rewrites what the client sends and what came of it; read the difference before you commit it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use papertape::Client;
use papertape::client::{CallOptions, ClientError, ClientOptions, SubscriptionFilter};
use papertape::protocol::{ElicitResult, Reference, Revision, Role, Root, SamplingResult};
use papertape::streams::connect_with;
use papertape::wire::frame::{Decoder, PieceKind};
use papertape::wire::tape::{self, Direction, Entry, Record};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, split};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::peer::run;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tapes/client")
}

#[test]
fn every_tape_plays_as_written() {
    let mut played = 0;
    let mut different = Vec::new();
    for revision in fs::read_dir(folder()).unwrap() {
        for tape in fs::read_dir(revision.unwrap().path()).unwrap() {
            let path = tape.unwrap().path();
            let written = fs::read_to_string(&path).unwrap();
            let entries = tape::read(&written).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let now = run(play(entries));
            played += 1;
            if now == written {
                continue;
            }
            if std::env::var_os("UPDATE").is_some() {
                fs::write(&path, now).unwrap();
            } else {
                different.push(format!("{}:\n--- written\n{written}\n--- now\n{now}", path.display()));
            }
        }
    }
    assert!(played >= 10, "only {played} tapes were found");
    assert!(different.is_empty(), "{}\n(UPDATE=1 rewrites)", different.join("\n"));
}

/// Plays the server's side of a tape and writes down what happened.
async fn play(entries: Vec<Entry>) -> String {
    let mut stage = Stage::new();
    for entry in entries {
        match entry {
            Entry::Comment(comment) if comment.starts_with("#= ") => {}
            Entry::Comment(comment) => {
                stage.settle().await;
                stage.text.push_str(&comment);
                stage.text.push('\n');
                if let Some(direction) = comment.strip_prefix("#! ") {
                    stage.direct(direction).await;
                }
            }
            Entry::Record(record) => {
                if let Some((Direction::ToClient, bytes)) = record.as_frame() {
                    stage.settle().await;
                    stage.frame(Direction::ToClient, bytes);
                    // A client that has ended reads nothing more, which shows in what it made of it.
                    drop(stage.to_client.write_all(bytes).await);
                }
            }
        }
    }
    stage.settle().await;
    stage.text
}

/// The server's end of the connection, and what the caller is doing.
struct Stage {
    text: String,
    number: u64,
    decoder: Decoder,
    from_client: ReadHalf<DuplexStream>,
    to_client: WriteHalf<DuplexStream>,
    /// The client's end, until it is opened.
    theirs: Option<DuplexStream>,
    options: Option<ClientOptions>,
    client: watch::Sender<Option<Client>>,
    acts: Vec<JoinHandle<String>>,
}

impl Stage {
    fn new() -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (from_client, to_client) = split(ours);
        Self {
            text: format!("{}\n", tape::HEADER),
            number: 0,
            decoder: Decoder::new(1 << 30),
            from_client,
            to_client,
            theirs: Some(theirs),
            options: Some(ClientOptions::new().identity("tape", "1")),
            client: watch::Sender::new(None),
            acts: Vec::new(),
        }
    }

    fn frame(&mut self, direction: Direction, bytes: &[u8]) {
        self.number += 1;
        Record::frame(self.number, direction, None, bytes).write(&mut self.text);
    }

    /// Records what the client does until it waits for its peer.
    async fn settle(&mut self) {
        // With paused time this fires only when every task is waiting.
        let wait = Duration::from_millis(1);
        while let Ok(Ok(1..)) =
            tokio::time::timeout(wait, self.from_client.read_buf(self.decoder.space())).await
        {
            let mut frames = Vec::new();
            while let Some(piece) = self.decoder.next_piece() {
                assert!(matches!(piece.kind, PieceKind::Frame(_)), "{piece:?}");
                frames.push(piece.raw.to_vec());
            }
            for frame in frames {
                self.frame(Direction::ToServer, &frame);
            }
        }
        while let Some(done) = self.acts.iter().position(JoinHandle::is_finished) {
            let came_to = self.acts.remove(done).await.unwrap();
            self.text.push_str(&format!("#= {}\n", came_to.replace('\n', " ")));
        }
    }

    async fn direct(&mut self, direction: &str) {
        let (verb, rest) = direction.split_once(' ').unwrap_or((direction, ""));
        match verb {
            "able" => self.options = self.options.take().map(able),
            "open" => {
                let (reader, writer) = split(self.theirs.take().expect("it is opened once"));
                let mut options = self.options.take().expect("it is opened once");
                if !rest.is_empty() {
                    options = options.revision(Revision::parse(rest).expect("a revision"));
                }
                let keep = self.client.clone();
                self.acts.push(tokio::spawn(async move {
                    match connect_with(reader, writer, options).await {
                        Ok(client) => {
                            let came_to = format!("{} {}", client.revision(), json!(client.server()));
                            keep.send_replace(Some(client));
                            came_to
                        }
                        Err(error) => error.to_string(),
                    }
                }));
            }
            "advance" => tokio::time::advance(Duration::from_millis(rest.parse().unwrap())).await,
            "close" => {
                let client = self.client.send_replace(None).expect("it is open");
                self.acts.push(tokio::spawn(async move {
                    client.close().await;
                    "closed".to_owned()
                }));
            }
            verb => {
                let client = self.client.borrow().clone().expect("it is open");
                self.acts.push(tokio::spawn(act(client, verb.to_owned(), rest.to_owned())));
            }
        }
    }
}

fn able(options: ClientOptions) -> ClientOptions {
    options
        .on_form(|form| async move {
            ElicitResult::accept(Map::from_iter([("answer".to_owned(), form.message.into())]))
        })
        .on_url(|_| async { ElicitResult::decline() })
        .on_sampling(|_| async {
            let content = json!({"type": "text", "text": "said"});
            Ok(SamplingResult::new(Role::Assistant, content, "parrot"))
        })
        .roots(vec![Root::new("file:///home")])
}

async fn act(client: Client, verb: String, rest: String) -> String {
    let (first, second) = rest.split_once(' ').unwrap_or((&rest, "{}"));
    let object = || serde_json::from_str::<Map<String, Value>>(second).unwrap();
    match verb.as_str() {
        "tools" => rendered(client.tools().await.map(|tools| {
            let names = tools.iter().map(|tool| json!([tool.item.name, tool.problems]));
            Value::from_iter(names)
        })),
        "resources" => rendered(
            client.resources().await.map(|all| all.into_iter().map(|one| one.item.uri).collect::<Vec<_>>()),
        ),
        "templates" => rendered(
            client
                .resource_templates()
                .await
                .map(|all| all.into_iter().map(|one| one.item.uri_template).collect::<Vec<_>>()),
        ),
        "prompts" => rendered(
            client.prompts().await.map(|all| all.into_iter().map(|one| one.item.name).collect::<Vec<_>>()),
        ),
        "call" => rendered(client.call(first, object()).await),
        "follow" => {
            let (tell, told_so_far) = std::sync::mpsc::channel();
            let options = CallOptions::new().on_progress(move |progress| {
                drop(tell.send(format!("{:?} of {:?}", progress.progress, progress.total)));
            });
            let result = rendered(client.call_with(first, object(), options).await);
            format!("{result} after {:?}", told_so_far.try_iter().collect::<Vec<_>>())
        }
        "read" => rendered(client.read(first).await),
        "prompt" => rendered(client.prompt(first, object()).await),
        "complete" => {
            let reference = Reference::Prompt { name: first.to_owned() };
            rendered(client.complete(reference, "argument", "val", object()).await)
        }
        "ping" => rendered(client.ping().await),
        "request" => rendered(client.request(first, object().into()).await),
        "listen" => {
            let mut filter = SubscriptionFilter::new();
            for word in rest.split(' ') {
                filter = match word {
                    "tools" => filter.tools(),
                    "prompts" => filter.prompts(),
                    "resources" => filter.resources(),
                    uri => filter.resource(uri),
                };
            }
            match client.listen(filter).await {
                Ok(mut subscription) => {
                    let acknowledged = format!("{:?}", subscription.acknowledged());
                    format!("{acknowledged}, then {:?}", subscription.next().await.unwrap())
                }
                Err(error) => error.to_string(),
            }
        }
        other => panic!("no such direction: {other}"),
    }
}

fn rendered<T: serde::Serialize>(result: Result<T, ClientError>) -> String {
    match result {
        Ok(value) => serde_json::to_string(&value).unwrap(),
        Err(error) => format!("{error}; {}", error.stage()),
    }
}
