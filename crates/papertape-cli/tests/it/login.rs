//! `papertape login` and `logout`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::pty::OpenptFlags;
use serde_json::{Value, json};

use crate::process::{End, Process, run};
use crate::{contains, install, papertape};

/// An MCP server that is its own authorization server.
struct Site {
    url: String,
    /// The paths of all requests.
    paths: Arc<Mutex<Vec<String>>>,
    /// Where tokens are kept.
    data: PathBuf,
}

impl Site {
    /// `open` requires no authorization.
    fn start(name: &str, open: bool) -> Self {
        Self::start_with(name, open, "authorization: bearer t0ken", "401 Unauthorized")
    }

    /// A server that rejects the tokens that it issues (401).
    fn refusing(name: &str) -> Self {
        Self::start_with(name, false, "authorization: bearer another", "401 Unauthorized")
    }

    /// The same with 403, without a challenge.
    fn forbidding(name: &str) -> Self {
        Self::start_with(name, false, "authorization: bearer another", "403 Forbidden")
    }

    /// `wanted` is the header that is accepted; other tokens get the status `refusal`.
    fn start_with(name: &str, open: bool, wanted: &'static str, refusal: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let data = std::env::temp_dir().join(format!("papertape-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&data));
        let paths = Arc::new(Mutex::new(Vec::new()));
        let site = Self { url: url.clone(), paths: paths.clone(), data };
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (url, paths) = (url.clone(), paths.clone());
                thread::spawn(move || {
                    let stream = stream.unwrap();
                    let (target, head, body) = read(&stream);
                    let refusal = match head.contains("authorization: bearer") {
                        _ if open || head.contains(wanted) => None,
                        true => Some(refusal),
                        false => Some("401 Unauthorized"),
                    };
                    paths.lock().unwrap().push(target.split('?').next().unwrap().to_owned());
                    answer(stream, &url, &target, refusal, &body);
                });
            }
        });
        site
    }

    fn papertape(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = papertape(arguments.iter().copied());
        command.env("XDG_DATA_HOME", &self.data);
        command
    }

    fn mcp(&self) -> String {
        format!("{}/mcp", self.url)
    }

    fn requests(&self, path: &str) -> usize {
        self.paths.lock().unwrap().iter().filter(|requested| *requested == path).count()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.data));
    }
}

/// The target of a request, its head in lower case, and its body.
fn read(stream: &TcpStream) -> (String, String, Value) {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    while reader.read_until(b'\n', &mut head).unwrap() > 2 {}
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    (target, head, serde_json::from_slice(&body).unwrap_or_default())
}

fn answer(mut stream: TcpStream, url: &str, target: &str, refusal: Option<&'static str>, body: &Value) {
    let path = target.split('?').next().unwrap();
    let (status, header, body) = match (path, refusal) {
        ("/mcp", Some("403 Forbidden")) => {
            ("403 Forbidden", String::new(), json!({"message": "for another audience"}))
        }
        ("/mcp", Some(refusal)) => (
            refusal,
            "WWW-Authenticate: Bearer error=\"invalid_token\", error_description=\"for another audience\""
                .to_owned(),
            Value::Null,
        ),
        ("/mcp", None) => {
            let id = body["id"].clone();
            let result = match body["method"].as_str().unwrap_or_default() {
                "initialize" => json!({
                    "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "site", "version": "1"},
                }),
                "tools/list" => json!({"tools": []}),
                _ => Value::Null,
            };
            let error = json!({"code": -32601, "message": "no such method"});
            let answer = match (id.is_null(), result.is_null()) {
                (true, _) => Value::Null,
                (_, true) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
                (_, false) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            };
            (if id.is_null() { "202 Accepted" } else { "200 OK" }, String::new(), answer)
        }
        ("/.well-known/oauth-protected-resource/mcp", _) => (
            "200 OK",
            String::new(),
            json!({"resource": format!("{url}/mcp"), "authorization_servers": [url]}),
        ),
        ("/.well-known/oauth-authorization-server", _) => (
            "200 OK",
            String::new(),
            json!({
                "issuer": url, "authorization_endpoint": format!("{url}/authorize"),
                "token_endpoint": format!("{url}/token"), "registration_endpoint": format!("{url}/register"),
                "code_challenge_methods_supported": ["S256"],
            }),
        ),
        ("/register", _) => ("201 Created", String::new(), json!({"client_id": "me"})),
        ("/token", _) => ("200 OK", String::new(), json!({"access_token": "t0ken", "token_type": "Bearer"})),
        _ => ("404 Not Found", String::new(), Value::Null),
    };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let kind = "Content-Type: application/json";
    let header = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
    let length = body.len();
    let response = format!(
        "HTTP/1.1 {status}\r\n{header}{kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    drop(stream.write_all(response.as_bytes()));
}

/// What a browser does once the user has consented: it is redirected back with a code.
fn consent(page: &str) -> String {
    let parameter = |name: &str| {
        let (_, value) = page.split_once(&format!("{name}=")).unwrap();
        value.split('&').next().unwrap().to_owned()
    };
    let back = parameter("redirect_uri").replace("%3A", ":").replace("%2F", "/");
    let (host, path) = back.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let query = format!("code=c0de&state={}", parameter("state"));
    write!(stream, "GET /{path}?{query} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn sign_in(site: &Site) {
    let end = login(site);
    assert!(end.status.success(), "{}", end.log);
    assert_eq!(String::from_utf8(end.output).unwrap(), format!("Signed in to {}.\n", site.mcp()));
    assert!(!end.log.contains("t0ken") && !end.log.contains("c0de"), "{}", end.log);
}

/// The result of `login` if the user consents.
fn login(site: &Site) -> End {
    let mut process = Process::start(&mut site.papertape(&["login", &site.mcp(), "--no-open"]));
    process.wait_for_log("Waiting");
    let page = process.log_so_far().lines().find(|line| line.contains("/authorize?")).unwrap().to_owned();
    let seen = consent(&page);
    assert!(seen.contains("200 OK") && seen.contains("Done"), "{seen}");
    process.wait()
}

#[test]
fn a_rejected_token_is_not_saved() {
    for site in [Site::refusing("refusing"), Site::forbidding("forbidding")] {
        let end = login(&site);
        assert_eq!((end.status.code(), end.output.as_slice()), (Some(3), &b""[..]), "{}", end.log);
        contains(&end.log, &["not signed in", "not saved", "for another audience"]);
        assert!(!end.log.contains("t0ken"), "{}", end.log);
        assert!(!site.data.join("papertape/tokens.json").exists());
    }
}

#[test]
fn a_login_that_fails_leaves_the_tokens_from_before() {
    let (before, refusing) = (Site::start("before", false), Site::refusing("after"));
    sign_in(&before);
    let file = before.data.join("papertape/tokens.json");
    let kept = fs::read_to_string(&file).unwrap().replace(&before.url, &refusing.url);
    let other = refusing.data.join("papertape/tokens.json");
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    fs::copy(&file, &other).unwrap();
    fs::write(&other, &kept).unwrap();
    assert_eq!(login(&refusing).status.code(), Some(3));
    assert_eq!(fs::read_to_string(&other).unwrap(), kept);
}

#[test]
fn tokens_are_saved_until_logout() {
    let site = Site::start("login", false);
    sign_in(&site);
    let file = site.data.join("papertape/tokens.json");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&file).unwrap().contains("t0ken"));
    // Other commands use them without a browser.
    let list = run(&mut site.papertape(&["list", &site.mcp()]), "");
    assert!(list.status.success(), "{}", list.log);
    assert_eq!(site.requests("/token"), 1);
    let out = run(&mut site.papertape(&["logout", &site.mcp()]), "");
    assert!(
        out.status.success() && String::from_utf8(out.output).unwrap().contains("Deleted the tokens"),
        "{}",
        out.log
    );
    assert!(!fs::read_to_string(&file).unwrap().contains("t0ken"));
    let again = run(&mut site.papertape(&["logout", &site.mcp()]), "");
    assert_eq!(
        String::from_utf8(again.output).unwrap(),
        format!("There are no saved tokens for {}.\n", site.mcp())
    );
}

#[test]
fn without_a_terminal_the_error_says_how_to_sign_in() {
    let site = Site::start("pipe", false);
    let end = run(&mut site.papertape(&["list", &site.mcp()]), "");
    assert_eq!(end.status.code(), Some(3), "{}", end.log);
    assert!(end.log.contains(&format!("`papertape login {}`", site.mcp())), "{}", end.log);
    assert!(end.log.contains("--bearer-file"), "{}", end.log);
    assert_eq!(site.requests("/register"), 0);
}

#[test]
fn on_a_terminal_a_challenge_starts_a_login() {
    let site = Site::start("tty", false);
    // A browser of our own, which is started like any other: by name, without a shell.
    let programs = site.data.join("bin");
    fs::create_dir_all(&programs).unwrap();
    let note = site.data.join("opened");
    let script = format!("#!/bin/sh\nprintf '%s' \"$1\" > '{0}.new' && mv '{0}.new' '{0}'\n", note.display());
    let opener = programs.join("xdg-open");
    install(&opener, script);
    let (mut screen, terminal) = terminal();
    let mut command = site.papertape(&["list", &site.mcp()]);
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).stdin(terminal.try_clone().unwrap()).stderr(terminal).stdout(Stdio::piped());
    let process = Process::start_as_it_is(&mut command);
    drop(command);
    let mut shown = String::new();
    while !shown.contains("Waiting") {
        let mut line = [0; 4096];
        let count = screen.read(&mut line).unwrap();
        shown += &String::from_utf8_lossy(&line[..count]);
    }
    // The program is started in the background, so its note may take a moment; the page is on the screen as well.
    let page = shown.lines().find(|line| line.contains("/authorize?")).unwrap();
    let plain: String =
        page.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |(_, text)| text)).collect();
    let seen = consent(plain.trim());
    assert!(seen.contains("200 OK"), "{seen}");
    let end = process.wait();
    assert!(end.status.success(), "{shown}");
    let began = Instant::now();
    while !note.exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "no browser was started");
        thread::yield_now();
    }
    assert_eq!(fs::read_to_string(&note).unwrap(), plain.trim());
}

/// A terminal: our end, and the one for a process.
pub(crate) fn terminal() -> (fs::File, fs::File) {
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    rustix::pty::grantpt(&ours).unwrap();
    rustix::pty::unlockpt(&ours).unwrap();
    let name = rustix::pty::ptsname(&ours, Vec::new()).unwrap();
    let no_control = OFlags::NOCTTY.bits().cast_signed();
    let theirs =
        fs::File::options().read(true).write(true).custom_flags(no_control).open(name.to_str().unwrap());
    (ours.into(), theirs.unwrap())
}

/// All that a process shows on a terminal, of which `command` has the other end.
pub(crate) fn shown(mut terminal: fs::File, mut command: Command) -> String {
    let process = Process::start_as_it_is(&mut command);
    drop(command);
    let (mut shown, mut bytes) = (Vec::new(), [0; 1_024]);
    // A terminal whose last user has gone is an error to read from.
    while let Ok(read) = terminal.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..read]);
    }
    process.wait().is_clean();
    String::from_utf8(shown).unwrap()
}

#[test]
fn a_server_without_authorization_needs_no_login() {
    let site = Site::start("open", true);
    let end = run(&mut site.papertape(&["login", &site.mcp(), "--no-open"]), "");
    assert!(end.status.success(), "{}", end.log);
    assert!(String::from_utf8(end.output).unwrap().contains("does not require authorization"));
    assert!(!site.data.exists());
}

#[test]
fn a_login_that_fails_says_why() {
    let site = Site::start("none", false);
    let nowhere = format!("{}/elsewhere", site.url);
    let end = run(&mut site.papertape(&["login", &nowhere, "--no-open"]), "");
    assert_eq!(end.status.code(), Some(3), "{}", end.log);
    let failed =
        run(papertape(["login", "https://x.invalid/mcp"]).env_remove("HOME").env_remove("XDG_DATA_HOME"), "");
    assert_eq!(failed.status.code(), Some(2), "{}", failed.log);
    assert!(failed.log.contains("set HOME"), "{}", failed.log);
    assert_eq!(site.requests("/register"), 0);
}
