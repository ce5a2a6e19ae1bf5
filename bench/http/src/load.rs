//! Kept-alive connections to a server, each with one call under way.

use std::{
    io::Write,
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use http_race::{
    process::Process,
    request::{self, Request},
    response::Response,
};
use memchr::memmem;
use rustix::{
    event::epoll::{self, CreateFlags, EventData, EventFlags},
    fd::OwnedFd,
    time::{ClockId, clock_gettime},
};
use serde_json::json;

/// How a server is spoken to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dialect {
    /// Requests that stand alone, 2026-07-28
    Modern,
    /// A session for each connection, 2025-11-25
    Session,
    /// The same request as `Modern`, to which nothing is answered that means anything
    Hello,
}

/// Connections to one server.
pub(crate) struct Connections {
    all: Vec<Connection>,
    ready: OwnedFd,
    text: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    request: Request,
    response: Response,
    sent: Instant,
    checks: bool,
}

/// What a timed part of a round gave.
#[derive(serde::Serialize, Clone, Debug)]
pub(crate) struct Part {
    pub(crate) per_second: f64,
    pub(crate) cpu_us: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// What the generator itself took, per call and of its core.
    pub(crate) generator_us: f64,
    pub(crate) generator_share: f64,
}

impl Connections {
    pub(crate) fn open(address: SocketAddr, dialect: Dialect, size: usize, number: usize) -> Result<Self> {
        let text: String = ('a'..='z').cycle().take(size).collect();
        let ready = epoll::create(CreateFlags::CLOEXEC)?;
        let mut all = Vec::new();
        for place in 0..number {
            let connection = Connection::open(address, dialect, &text)?;
            epoll::add(&ready, &connection.stream, EventData::new_u64(place as u64), EventFlags::IN)?;
            all.push(connection);
        }
        Ok(Self { all, ready, text: text.into_bytes() })
    }

    /// The length of the body that answers a call.
    pub(crate) fn answer_length(&mut self) -> Result<usize> {
        let connection = self.all.first_mut().context("no connection")?;
        connection.stream.set_nonblocking(false)?;
        connection.send()?;
        connection.response.wait(&mut connection.stream)?;
        connection.check(&self.text)?;
        connection.stream.set_nonblocking(true)?;
        Ok(connection.response.body().len())
    }

    /// Calls the server for `time` over the first `number` connections, and waits for the last answers.
    pub(crate) fn run(&mut self, number: usize, time: Duration, server: &Process) -> Result<Part> {
        let (cpu, own, started) = (server.cpu()?, own_cpu(), Instant::now());
        let mut latencies = Vec::new();
        let mut under_way = 0;
        for connection in self.all.iter_mut().take(number) {
            connection.send()?;
            under_way += 1;
        }
        let mut events = Vec::with_capacity(number);
        while under_way > 0 {
            events.clear();
            epoll::wait(&self.ready, rustix::buffer::spare_capacity(&mut events), None)?;
            for event in &events {
                let place = usize::try_from(event.data.u64())?;
                let connection = self.all.get_mut(place).context("an event of no connection")?;
                if !connection.response.read(&mut connection.stream)? {
                    continue;
                }
                connection.check(&self.text)?;
                let now = Instant::now();
                latencies.push(now - connection.sent);
                if now - started < time {
                    connection.send()?;
                } else {
                    under_way -= 1;
                }
            }
        }
        let (took, cpu, own) = (started.elapsed(), server.cpu()? - cpu, own_cpu() - own);
        latencies.sort_unstable();
        let calls = latencies.len() as f64;
        let of = |share: f64| {
            let rank = (calls * share) as usize;
            latencies.get(rank).map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e6)
        };
        Ok(Part {
            per_second: calls / took.as_secs_f64(),
            cpu_us: cpu.as_secs_f64() * 1e6 / calls,
            p50_us: of(0.50),
            p99_us: of(0.99),
            generator_us: own.as_secs_f64() * 1e6 / calls,
            generator_share: own.as_secs_f64() / took.as_secs_f64(),
        })
    }
}

impl Connection {
    fn open(address: SocketAddr, dialect: Dialect, text: &str) -> Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut response = Response::default();
        let params = json!({"name": "echo", "arguments": {"text": text}});
        let request = match dialect {
            Dialect::Modern | Dialect::Hello => request::modern(address, "tools/call", Some("echo"), params)?,
            Dialect::Session => {
                let id = open_session(address, &mut stream, &mut response)?;
                let headers = [("mcp-session-id", id.as_str()), ("mcp-protocol-version", "2025-11-25")];
                let call = json!({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": params});
                Request::new(address, &headers, call)?
            }
        };
        stream.set_nonblocking(true)?;
        let checks = !matches!(dialect, Dialect::Hello);
        Ok(Self { stream, request, response, sent: Instant::now(), checks })
    }

    fn send(&mut self) -> Result<()> {
        self.response.clear();
        self.sent = Instant::now();
        // A request is far smaller than the buffer of a socket in which there is nothing else.
        Ok(self.stream.write_all(self.request.again())?)
    }

    fn check(&self, text: &[u8]) -> Result<()> {
        let Self { response, request, .. } = self;
        let right = response.status() == "200"
            && (!self.checks
                || (memmem::find(response.body(), request.id()).is_some()
                    && memmem::find(response.body(), text).is_some()));
        ensure!(right, "a wrong answer: {}", response.text());
        Ok(())
    }
}

/// The id of a new session.
fn open_session(address: SocketAddr, stream: &mut TcpStream, response: &mut Response) -> Result<String> {
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1.0.0"},
    });
    let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello});
    stream.write_all(Request::new(address, &[], opening)?.again())?;
    response.wait(stream)?;
    ensure!(response.status() == "200", "no session: {}", response.text());
    let id = response.header("mcp-session-id").context("no session id")?.to_owned();
    let headers = [("mcp-session-id", id.as_str()), ("mcp-protocol-version", "2025-11-25")];
    let opened = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    stream.write_all(Request::new(address, &headers, opened)?.again())?;
    response.wait(stream)?;
    ensure!(response.status() == "202", "the session does not open: {}", response.text());
    Ok(id)
}

/// What this program has used of its core so far.
fn own_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or_default(), time.tv_nsec.try_into().unwrap_or_default())
}
