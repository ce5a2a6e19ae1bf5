//! A correct small server of stateless and session-based revisions, and the functions that faults are built from.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::mem;
use std::os::fd::AsFd;
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::faulty::bytes;
use crate::faulty::judge::Judge;
use crate::faulty::message::{META_VERSION, Message, text};

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The supported revisions.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Revisions {
    All,
    SessionBased,
    Stateless,
}

/// The server, and what a fault can change.
pub(crate) struct Server {
    pub(crate) mode: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) revisions: Revisions,
    pub(crate) capabilities: Value,
    /// Tools beside the usual ones.
    pub(crate) tools: Vec<Value>,
    /// What the client declared in `initialize`.
    pub(crate) client: Value,
    pub(crate) judge: Judge,
    pub(crate) input: BufReader<File>,
    pub(crate) output: File,
    /// How a message becomes bytes.
    pub(crate) encode: fn(&Value) -> Vec<u8>,
    /// Output that is kept back until the end of input.
    pub(crate) held: Option<Vec<u8>>,
    /// A pause after each byte of output.
    pub(crate) pause: Option<Duration>,
    /// Calls of `slow`.
    waiting: Vec<Message>,
    pids: Option<String>,
}

impl Server {
    pub(crate) fn start() -> io::Result<Self> {
        let mut server = Self {
            mode: String::new(),
            arguments: Vec::new(),
            revisions: Revisions::All,
            capabilities: json!({"tools": {}}),
            tools: Vec::new(),
            client: Value::Null,
            judge: Judge::default(),
            // Descriptors of our own: the standard library would buffer, and could not be shared with a thread.
            input: BufReader::new(File::from(io::stdin().as_fd().try_clone_to_owned()?)),
            output: File::from(io::stdout().as_fd().try_clone_to_owned()?),
            encode: bytes::line,
            held: None,
            pause: None,
            waiting: Vec::new(),
            pids: None,
        };
        let mut arguments = env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--legacy" => server.revisions = Revisions::SessionBased,
                "--modern" => server.revisions = Revisions::Stateless,
                "--pids" => server.pids = arguments.next(),
                _ if server.mode.is_empty() => server.mode = argument,
                _ => server.arguments.push(argument),
            }
        }
        server.note_pid(std::process::id())?;
        Ok(server)
    }

    /// Writes a process id to the file of `--pids`.
    pub(crate) fn note_pid(&self, pid: u32) -> io::Result<()> {
        let Some(path) = &self.pids else { return Ok(()) };
        OpenOptions::new().create(true).append(true).open(path)?.write_all(format!("{pid}\n").as_bytes())
    }

    /// An argument of the mode.
    pub(crate) fn argument<T: FromStr>(&self, index: usize, default: T) -> T {
        self.arguments.get(index).and_then(|argument| argument.parse().ok()).unwrap_or(default)
    }

    /// Whether the mode was given a word.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.arguments.iter().any(|argument| argument == word)
    }

    // Reading.

    /// Serves until the end of input; every message goes through a function.
    pub(crate) fn serve(
        &mut self,
        mut handle: impl FnMut(&mut Self, &Message) -> io::Result<()>,
    ) -> io::Result<()> {
        while let Some(message) = self.read()? {
            handle(self, &message)?;
        }
        if let Some(held) = self.held.take() {
            self.output.write_all(&held)?;
        }
        Ok(())
    }

    /// Serves as usual, but for calls of the tool `fault`.
    pub(crate) fn at_fault(
        &mut self,
        mut fault: impl FnMut(&mut Self, &Message) -> io::Result<()>,
    ) -> io::Result<()> {
        self.serve(|server, message| match message.tool() {
            "fault" => fault(server, message),
            _ => server.usual(message),
        })
    }

    /// The next message, if there is one before the end of input.
    pub(crate) fn read(&mut self) -> io::Result<Option<Message>> {
        loop {
            let Some((bytes, headers)) = self.read_frame()? else { return Ok(None) };
            let Ok(value) = serde_json::from_slice(&bytes) else {
                self.judge.garbage(&bytes, "no JSON");
                continue;
            };
            let mut message = Message { value, headers, modern: false };
            message.modern =
                self.revisions != Revisions::SessionBased && message.meta(META_VERSION).is_string();
            self.judge.hear(&message);
            return Ok(Some(message));
        }
    }

    /// A line, or what follows `Content-Length` headers. A line without an end is not a frame.
    fn read_frame(&mut self) -> io::Result<Option<(Vec<u8>, bool)>> {
        let (mut line, mut length) = (Vec::new(), None);
        while self.input.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            let header = String::from_utf8_lossy(&line).trim().to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = Some(value.trim().parse().map_err(|_| ErrorKind::InvalidData)?);
            } else if length.is_none() {
                return Ok(Some((line, false)));
            } else if let (true, Some(length)) = (header.is_empty(), length) {
                line = vec![0; length];
                self.input.read_exact(&mut line)?;
                return Ok(Some((line, true)));
            }
            line.clear();
        }
        Ok(None)
    }

    // Writing.

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(held) = &mut self.held {
            held.extend_from_slice(bytes);
        } else if let Some(pause) = self.pause {
            for byte in bytes {
                self.output.write_all(&[*byte])?;
                thread::sleep(pause);
            }
        } else {
            self.output.write_all(bytes)?;
        }
        Ok(())
    }

    pub(crate) fn send(&mut self, message: &Value) -> io::Result<()> {
        self.write(&(self.encode)(message))
    }

    /// The response to a request, in the form of its revision.
    pub(crate) fn reply(&self, request: &Message, mut result: Value) -> Value {
        if request.modern
            && let Some(members) = result.as_object_mut()
        {
            members.entry("resultType").or_insert(json!("complete"));
            let meta = members.entry("_meta").or_insert(json!({}));
            meta["io.modelcontextprotocol/serverInfo"] = self.info();
            if members["resultType"] == "complete"
                && (request.method() == "server/discover" || request.method().ends_with("/list"))
            {
                members.insert("ttlMs".to_owned(), json!(0));
                members.insert("cacheScope".to_owned(), json!("private"));
            }
        }
        json!({"jsonrpc": "2.0", "id": request.id(), "result": result})
    }

    pub(crate) fn answer(&mut self, request: &Message, result: Value) -> io::Result<()> {
        let reply = self.reply(request, result);
        self.send(&reply)
    }

    /// Responds to a tool call with a text.
    pub(crate) fn say(&mut self, request: &Message, words: impl Into<String>) -> io::Result<()> {
        self.answer(request, text(words))
    }

    /// Responds with an error.
    pub(crate) fn refuse(
        &mut self,
        request: &Message,
        code: i64,
        message: &str,
        data: Value,
    ) -> io::Result<()> {
        let mut error = json!({"code": code, "message": message});
        if !data.is_null() {
            error["data"] = data;
        }
        self.send(&json!({"jsonrpc": "2.0", "id": request.id(), "error": error}))
    }

    // Behaving.

    fn info(&self) -> Value {
        json!({"name": format!("faulty {}", self.mode), "version": "1.0.0"})
    }

    /// What a correct server does with a message.
    pub(crate) fn usual(&mut self, message: &Message) -> io::Result<()> {
        if message.id().is_null() || message.method().is_empty() {
            return Ok(()); // Notifications and responses get no response.
        }
        let version = message.meta(META_VERSION);
        let unsupported =
            if message.modern { version != MODERN } else { self.revisions == Revisions::Stateless };
        if unsupported {
            let requested = if version.is_null() { &message.params()["protocolVersion"] } else { version };
            let data = json!({"supported": [MODERN], "requested": requested});
            return self.refuse(message, -32022, "only 2026-07-28 is supported", data);
        }
        match (message.method(), message.modern) {
            ("initialize", false) => self.initialize(message),
            ("ping", false) => self.answer(message, json!({})),
            ("server/discover", true) => {
                let result = json!({"supportedVersions": [MODERN], "capabilities": self.capabilities});
                self.answer(message, result)
            }
            ("tools/list", _) => {
                let tools: Vec<Value> = usual_tools().into_iter().chain(self.tools.clone()).collect();
                self.answer(message, json!({"tools": tools}))
            }
            ("tools/call", _) => self.call(message),
            (method, _) => {
                let words = format!("there is no method {method:?}");
                self.refuse(message, -32601, &words, Value::Null)
            }
        }
    }

    fn initialize(&mut self, message: &Message) -> io::Result<()> {
        self.client = message.params()["capabilities"].clone();
        let result = self.initialize_result(message);
        self.answer(message, result)
    }

    pub(crate) fn initialize_result(&self, message: &Message) -> Value {
        let asked = message.params()["protocolVersion"].as_str();
        let known = LEGACY.into_iter().find(|known| Some(*known) == asked);
        json!({
            "protocolVersion": known.unwrap_or(LEGACY[0]),
            "capabilities": self.capabilities,
            "serverInfo": self.info(),
        })
    }

    fn call(&mut self, message: &Message) -> io::Result<()> {
        let report = match message.tool() {
            "hang" => return Ok(()), // C-06
            "slow" => {
                self.waiting.push(message.clone());
                return Ok(());
            }
            "release" => {
                let mut waiting = mem::take(&mut self.waiting);
                waiting.retain(|slow| !self.judge.cancelled.contains(slow.id()));
                for slow in &waiting {
                    self.say(slow, slow.text())?;
                }
                json!(waiting.len())
            }
            "echo" => return self.say(message, message.text()),
            "fault" => json!("this mode has no fault in a call"),
            "was_heard" => json!(self.judge.heard),
            "was_cancelled" => json!(self.judge.cancelled),
            "was_answered" => json!(self.judge.answers),
            "was_odd" => json!(self.judge.odd),
            tool => {
                return self.refuse(message, -32602, &format!("there is no tool {tool:?}"), Value::Null);
            }
        };
        self.say(message, report.to_string())
    }
}

/// The tools of every mode.
pub(crate) fn usual_tools() -> Vec<Value> {
    let names = ["echo", "fault", "slow", "release", "hang"];
    let reports = ["was_heard", "was_cancelled", "was_answered", "was_odd"];
    names.into_iter().chain(reports).map(tool).collect()
}

/// The definition of a tool with an optional text.
pub(crate) fn tool(name: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    json!({"name": name, "description": format!("The tool {name}."), "inputSchema": schema})
}
