//! Streams end when the key they were opened with is revoked, or the token has expired.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use papertape::http::{Auth, Keys, NewKey};
use reqwest::Response;
use serde_json::json;

use crate::site::{LEGACY, Site, Trusting, key, with_token};
use papertape_testing::oauth::{claims_with, now};

/// For failure only.
const LONG: Duration = Duration::from_secs(300);

/// A file of keys in a directory of one test's own.
struct File(PathBuf);

impl File {
    fn new(test: &str, keys: &[&NewKey]) -> Self {
        let folder = std::env::temp_dir().join(format!("papertape-revoking-{}-{test}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = Self(folder.join("keys.toml"));
        file.write(keys);
        file
    }

    /// In one step, as `papertape key` does it.
    fn write(&self, keys: &[&NewKey]) {
        let text: String = keys.iter().map(|key| key.entry()).collect();
        let beside = self.0.with_extension("new");
        fs::write(&beside, text).unwrap();
        fs::set_permissions(&beside, fs::Permissions::from_mode(0o600)).unwrap();
        fs::rename(&beside, &self.0).unwrap();
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(self.0.parent().unwrap()));
    }
}

/// Every kind of stream that there is, each with something on it already.
async fn streams(site: &Site, token: &str) -> Vec<(&'static str, Response)> {
    let session = site.open(token).await;
    let call = json!({
        "jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "endless", "arguments": {}, "_meta": {"progressToken": 7}},
    });
    let wanted = json!({"notifications": {"resourcesListChanged": true}});
    let get = |path| with_token(site.request("GET", path), token);
    let in_session = get("/mcp").header("mcp-session-id", &session).header("mcp-protocol-version", LEGACY);
    let requests = [
        ("a subscription", site.asking(token, "subscriptions/listen", wanted)),
        ("a call", site.asking(token, "tools/call", json!({"name": "endless", "arguments": {}}))),
        ("a call of a session", site.saying(token, &session, &call)),
        ("a session", in_session),
        ("the transport of 2024-11-05", get("/sse")),
    ];
    let mut streams = Vec::new();
    for (what, request) in requests {
        let mut stream = request.send().await.unwrap();
        assert_eq!(stream.status(), 200, "{what}");
        assert_eq!(stream.headers()["content-type"], "text/event-stream", "{what}");
        assert!(stream.chunk().await.unwrap().is_some(), "{what}");
        streams.push((what, stream));
    }
    streams
}

/// They end, and properly so.
async fn end(streams: Vec<(&'static str, Response)>) {
    for (what, stream) in streams {
        let rest = tokio::time::timeout(LONG, stream.bytes()).await;
        rest.unwrap_or_else(|_| panic!("{what} goes on")).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

#[tokio::test]
async fn streams_end_when_their_key_is_revoked() {
    let (first, second) = (key("first", &[]), key("second", &[]));
    let file = File::new("taken-out", &[&first, &second]);
    let site = Site::start(Auth::new().keys(Keys::open(file.path()).unwrap())).await;
    let (ending, staying) = (streams(&site, first.secret()).await, streams(&site, second.secret()).await);
    file.write(&[&second]);
    end(ending).await;
    site.call(first.secret(), "whoami").await.challenge(401);
    assert_eq!(site.call(second.secret(), "whoami").await.text(), "second");
    // With nothing more to come by itself, each of them is still open: it ends when its key does.
    for (what, mut stream) in staying {
        let more = tokio::time::timeout(Duration::ZERO, stream.chunk()).await;
        assert!(!matches!(more, Ok(Ok(None) | Err(_))), "{what}: {more:?}");
    }
}

#[tokio::test]
async fn streams_end_when_the_key_file_is_removed() {
    let key = key("ci", &[]);
    let file = File::new("gone", &[&key]);
    let site = Site::start(Auth::new().keys(Keys::open(file.path()).unwrap())).await;
    let streams = streams(&site, key.secret()).await;
    fs::remove_file(file.path()).unwrap();
    end(streams).await;
    site.call(key.secret(), "whoami").await.challenge(401);
}

#[tokio::test]
async fn streams_end_when_the_scopes_of_their_key_change() {
    let before = key("ci", &["notes:read"]);
    let file = File::new("scopes", &[&before]);
    let site = Site::start(Auth::new().keys(Keys::open(file.path()).unwrap())).await;
    let streams = streams(&site, before.secret()).await;
    let text = fs::read_to_string(file.path()).unwrap().replace("notes:read", "notes:write");
    let beside = file.path().with_extension("new");
    fs::copy(file.path(), &beside).unwrap();
    fs::write(&beside, text).unwrap();
    fs::rename(&beside, file.path()).unwrap();
    end(streams).await;
    assert_eq!(site.call(before.secret(), "whoami").await.text(), "ci");
}

#[tokio::test]
async fn streams_end_when_their_token_expires() {
    let trusting = Trusting::start_with(|auth| auth, |oauth| oauth.leeway(Duration::ZERO)).await;
    // As soon as there is time enough to open them: machines differ.
    let mut seconds = 4;
    let streams = loop {
        let exp = now() + seconds;
        let token = trusting.signer.sign(&claims_with(&trusting.issuer, "exp", json!(exp)));
        let opened = tokio::time::timeout(LONG, streams_in_time(&trusting.site, &token, exp)).await.unwrap();
        match opened {
            Some(streams) => break streams,
            None => seconds *= 4,
        }
    };
    end(streams).await;
}

/// The same, if there is time for it before the token expires.
async fn streams_in_time(site: &Site, token: &str, exp: u64) -> Option<Vec<(&'static str, Response)>> {
    let (site, token) = (site.clone(), token.to_owned());
    let opened = tokio::spawn(async move { streams(&site, &token).await }).await;
    opened.ok().filter(|_| now() < exp)
}
