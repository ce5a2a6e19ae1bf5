//! The routes. Static files need no token, and have nothing to hide; everything else does.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use papertape::wire::tape::escaped;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::app_pages::AppPages;
use crate::follow::{self, Source};
use crate::guard;
use crate::query::{self, Query};
use crate::reply::{self, Refusal, Reply};
use crate::sync::lock;
use crate::tape::Tape;
use crate::token::Token;
use crate::try_it::{TryIt, Wanted};
use crate::{files, page};

/// How long a request waits for a change, and how long changes are collected.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
const COLLECT: Duration = Duration::from_millis(120);
/// The largest request for a call.
const LARGEST_CALL: usize = 16 * 1024 * 1024;
/// The largest tape that is dropped, and how many are kept.
const LARGEST_TAPE: u64 = 512 * 1024 * 1024;
const MOST_TAPES: usize = 4;

/// The header with the token.
const TOKEN: &str = "papertape-token";

/// What all requests share.
pub(crate) struct Site {
    pub(crate) port: u16,
    pub(crate) token: Arc<Token>,
    /// That of the command line.
    pub(crate) tape: Arc<Tape>,
    pub(crate) try_it: Option<Arc<TryIt>>,
    /// Those that were dropped on the page, with their numbers.
    pub(crate) dropped: Mutex<Dropped>,
    pub(crate) apps: AppPages,
}

/// Tapes that were dropped on the page.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    last: u64,
    tapes: VecDeque<(u64, Arc<Tape>)>,
}

impl Site {
    pub(crate) async fn serve(self: Arc<Self>, request: Request<Incoming>) -> Reply {
        let (parts, body) = request.into_parts();
        self.answer(&parts, body).await.unwrap_or_else(|refusal| refusal.reply())
    }

    async fn answer(self: &Arc<Self>, parts: &Parts, body: Incoming) -> Result<Reply, Refusal> {
        guard::check(parts, self.port)?;
        let path = parts.uri.path();
        if let Some((kind, text)) = files::find(path) {
            only(&parts.method, &Method::GET)?;
            return Ok(reply::file(kind, text));
        }
        if let Some(html) = self.apps.find(path) {
            only(&parts.method, &Method::GET)?;
            return Ok(reply::app(html));
        }
        let Some(route) = path.strip_prefix("/api/") else {
            return Err(Refusal::not_found("there is no such page"));
        };
        self.authorize(&parts.headers)?;
        let query = Query::parse(parts.uri.query());
        if is_action(route) {
            only(&parts.method, &Method::POST)?;
            return self.act(route, &query, &parts.headers, body).await;
        }
        only(&parts.method, &Method::GET)?;
        match route {
            "recording" => self.recording(&query).await,
            "server" => Ok(reply::json_reply(&self.try_it()?.lists().await?)),
            _ => self.ask(route.to_owned(), query).await,
        }
    }

    fn authorize(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(token) = headers.get(TOKEN) else {
            let message = "the token is missing: open the URL that papertape has printed";
            return Err(Refusal::new(StatusCode::UNAUTHORIZED, message));
        };
        if self.token.is(token.as_bytes()) {
            return Ok(());
        }
        let message = "the token is that of another start: open the URL that papertape has printed last";
        Err(Refusal::new(StatusCode::FORBIDDEN, message))
    }

    fn try_it(&self) -> Result<&Arc<TryIt>, Refusal> {
        let none =
            || Refusal::not_found("there is no server to try: start the page with `papertape page TARGET`");
        self.try_it.as_ref().ok_or_else(none)
    }

    /// The tape of a request: 0 is that of the command line.
    fn tape(&self, query: &Query) -> Result<Arc<Tape>, Refusal> {
        match query.number::<u64>("tape")?.unwrap_or_default() {
            0 => Ok(Arc::clone(&self.tape)),
            number => {
                let dropped = lock(&self.dropped);
                let tape = dropped
                    .tapes
                    .iter()
                    .find(|(given, _)| *given == number)
                    .map(|(_, tape)| Arc::clone(tape));
                tape.ok_or_else(|| Refusal::not_found("this tape was closed: drop it again"))
            }
        }
    }

    /// The summary, at once or when it is another one than was seen.
    async fn recording(&self, query: &Query) -> Result<Reply, Refusal> {
        let tape = self.tape(query)?;
        if let Some(seen) = query.number::<u64>("seen")? {
            let mut changes = tape.watch();
            let changed = changes.wait_for(|generation| *generation != seen);
            let has_changed = matches!(tokio::time::timeout(LONGEST_WAIT, changed).await, Ok(Ok(_)));
            if has_changed {
                tokio::time::sleep(COLLECT).await;
            }
        }
        let mut summary = tape.summary();
        if let (Some(try_it), Value::Object(members)) = (&self.try_it, &mut summary)
            && Arc::ptr_eq(&tape, &self.tape)
        {
            members.insert("try".to_owned(), try_it.summary());
        }
        Ok(reply::json_reply(&summary))
    }

    /// Questions about a tape, which may read its file.
    async fn ask(&self, route: String, query: Query) -> Result<Reply, Refusal> {
        let tape = self.tape(&query)?;
        let ask = move || {
            Ok(match route.as_str() {
                "frames" => reply::json_reply(&query::frames(&tape, &query)?),
                "frame" => reply::json_reply(&query::frame(&tape, &query)?),
                "find" => reply::json_reply(&query::find(&tape, &query)?),
                "next" => reply::json_reply(&query::next(&tape, &query)?),
                "overview" => reply::json_reply(&query::for_overview(&tape, &query)?),
                "findings" => reply::json_reply(&query::findings(&tape)),
                "body" => {
                    let (bytes, size) = query::body(&tape, &query)?;
                    reply::octets(bytes, size)
                }
                _ => return Err(Refusal::not_found("there is no such route")),
            })
        };
        tokio::task::spawn_blocking(ask).await.map_err(io::Error::other)?
    }

    async fn act(
        &self,
        route: &str,
        query: &Query,
        headers: &HeaderMap,
        body: Incoming,
    ) -> Result<Reply, Refusal> {
        if route == "tapes" {
            return self.add_tape(query.text("name"), body).await;
        }
        // A form of another site cannot have this type; one of a page without a token is refused anyway.
        if guard::only(headers, "content-type") != Some("application/json") {
            let message = "the body must be application/json";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
        }
        let body = read_body(body).await?;
        let try_it = self.try_it()?;
        if route == "connect" {
            try_it.connect_again()?;
            return Ok(reply::json_reply(&json!({})));
        }
        let wanted: Wanted = parse(&body)?;
        Ok(match route {
            "call" => reply::json_text(try_it.call(wanted).await?),
            "read" => reply::json_text(try_it.read(wanted).await?),
            "prompt" => reply::json_text(try_it.prompt(wanted).await?),
            _ => {
                let (html, mut shown) = try_it.app(wanted.uri()).await?;
                if let Value::Object(members) = &mut shown {
                    members.insert("url".to_owned(), self.apps.add(html)?.into());
                }
                reply::json_reply(&shown)
            }
        })
    }

    /// Keeps a tape in a file that has no name.
    async fn add_tape(&self, name: &str, mut body: Incoming) -> Result<Reply, Refusal> {
        let mut file = page::unnamed_file()?;
        let reader = file.try_clone()?;
        let mut size = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Refusal::bad(format!("the tape did not arrive: {error}")))?;
            let Ok(data) = frame.into_data() else { continue };
            size += data.len() as u64;
            if size > LARGEST_TAPE {
                let message = "the tape is too large to drop: open it with `papertape page TAPE`";
                return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, message));
            }
            file = write(file, data).await?;
        }
        let tape = Tape::new(escaped(name.as_bytes()));
        follow::start(&tape, Source { file: reader, path: None, live: false })?;
        let mut dropped = lock(&self.dropped);
        dropped.last += 1;
        let number = dropped.last;
        dropped.tapes.push_back((number, tape));
        if dropped.tapes.len() > MOST_TAPES
            && let Some((_, old)) = dropped.tapes.pop_front()
        {
            old.stop();
        }
        Ok(reply::json_reply(&json!({"tape": number})))
    }
}

/// Routes that change something.
fn is_action(route: &str) -> bool {
    matches!(route, "call" | "read" | "prompt" | "app" | "connect" | "tapes")
}

fn only(given: &Method, allowed: &Method) -> Result<(), Refusal> {
    if given == allowed || (given == Method::HEAD && allowed == Method::GET) {
        return Ok(());
    }
    Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, format!("this is for {allowed}")))
}

async fn write(mut file: File, data: bytes::Bytes) -> io::Result<File> {
    let write = move || file.write_all(&data).map(|()| file);
    tokio::task::spawn_blocking(write).await.map_err(io::Error::other)?
}

async fn read_body(body: Incoming) -> Result<Vec<u8>, Refusal> {
    let limited = http_body_util::Limited::new(body, LARGEST_CALL);
    match limited.collect().await {
        Ok(collected) => Ok(collected.to_bytes().into()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "the request is larger than 16 MiB"))
        }
        Err(error) => Err(Refusal::bad(format!("the request did not arrive: {error}"))),
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal::bad(format!("the request is invalid: {error}")))
}
