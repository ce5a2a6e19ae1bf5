//! Servers that are not PostgreSQL, or that send malformed messages: every query ends in an error that can be read, in
//! time, and nothing panics.

use std::time::Duration;

use papertape_search::store::postgres::Postgres;
use papertape_search::store::{Store, StoreError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

use super::corpus::lexical_query;

/// Far more than the 5 s that a call may take; what takes longer hangs.
const HANGS: Duration = Duration::from_secs(30);

/// What a server sends.
#[derive(Clone, Default)]
struct Script {
    /// After the startup message.
    greeting: Vec<u8>,
    /// After each later message.
    response: Vec<u8>,
    /// Whether the response is sent repeatedly without a request.
    endless: bool,
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag], &length.to_be_bytes()[..], body].concat()
}

/// Welcome: no password, a key to cancel with, ready.
fn welcome() -> Vec<u8> {
    [message(b'R', &[0; 4]), message(b'K', &[0; 8]), message(b'Z', b"I")].concat()
}

/// A column of this type.
fn column(type_number: u32) -> Vec<u8> {
    let body = [b"\0\x01x\0\0\0\0\0\0\0", &type_number.to_be_bytes()[..], &[0; 8]].concat();
    message(b'T', &body)
}

async fn serve(script: Script) -> Postgres {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(talk(stream, script.clone()));
        }
    });
    Postgres::open(&format!("postgres://tester:secret@127.0.0.1:{port}/db")).unwrap()
}

async fn talk(mut stream: TcpStream, script: Script) {
    let mut heard = vec![0; 1 << 16];
    let mut said = script.greeting;
    while let Ok(1..) = stream.read(&mut heard).await {
        if stream.write_all(&said).await.is_err() {
            return;
        }
        said.clone_from(&script.response);
        if script.endless {
            while stream.write_all(&script.response).await.is_ok() {}
            return;
        }
    }
}

async fn refused(script: Script) -> String {
    let store = serve(script).await;
    let error = timeout(HANGS, store.search(&lexical_query("word"))).await.expect("it hangs").unwrap_err();
    assert!(matches!(error, StoreError::Unreachable(_) | StoreError::Other(_)), "{error:?}");
    let shown = format!("{error} {error:?} {store:?}");
    assert!(!shown.contains("secret") && !shown.contains("SELECT"), "{shown}");
    error.to_string()
}

#[tokio::test]
async fn an_unreachable_server_is_an_error_at_once_but_not_when_opening() {
    let silent = TcpSocket::new_v4().unwrap(); // bound, never listening
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = silent.local_addr().unwrap().port();
    let store = Postgres::open(&format!("postgres://me:secret@127.0.0.1:{port}/db")).unwrap();
    let error = store.summary().await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("the database cannot be reached: 127.0.0.1:{port}: ")), "{error}");
    let error = store.write().await.map(drop).unwrap_err().to_string();
    assert!(error.starts_with("the database cannot be reached: "), "{error}");
}

#[tokio::test]
async fn a_silent_server_times_out() {
    refused(Script::default()).await;
    refused(Script { greeting: welcome(), ..Script::default() }).await;
}

#[tokio::test]
async fn what_is_not_postgres_ends_in_an_error() {
    for greeting in
        [b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), vec![0; 4096], vec![0xff; 4096], message(b'R', &[])]
    {
        refused(Script { greeting, ..Script::default() }).await;
    }
}

#[tokio::test]
async fn oversized_messages_are_rejected() {
    let greeting = [b"E", &0x7fff_ffff_u32.to_be_bytes()[..]].concat();
    let error = refused(Script { greeting, ..Script::default() }).await;
    assert!(error.contains("a message of 2047 MiB"), "{error}");
    let response = [b"D", &0x7fff_ffff_u32.to_be_bytes()[..], &[0; 1000]].concat();
    let script = Script { greeting: welcome(), response, ..Script::default() };
    let error = refused(script.clone()).await;
    assert!(error.contains("a message of 2047 MiB"), "{error}");
    let error = serve(script).await.write().await.map(drop).unwrap_err().to_string();
    assert!(error.contains("a message of 2047 MiB"), "{error}");
}

#[tokio::test]
async fn a_password_is_not_hashed_two_thousand_million_times() {
    let offer = message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let offer = offer.clone();
            tokio::spawn(async move {
                let mut heard = vec![0; 4096];
                assert_ne!(stream.read(&mut heard).await.unwrap(), 0, "it says something first");
                stream.write_all(&offer).await.unwrap();
                let length = stream.read(&mut heard).await.unwrap();
                let said = String::from_utf8_lossy(&heard[..length]).into_owned();
                let (_, nonce) = said.split_once(",r=").unwrap();
                let body = format!("r={nonce}more,s=c2FsdA==,i=2147483647");
                stream.write_all(&message(b'R', &[b"\0\0\0\x0b", body.as_bytes()].concat())).await.unwrap();
                while let Ok(1..) = stream.read(&mut heard).await {}
            });
        }
    });
    let store = Postgres::open(&format!("postgres://tester:secret@127.0.0.1:{port}/db")).unwrap();
    let error = timeout(HANGS, store.summary()).await.expect("it hangs").unwrap_err().to_string();
    assert!(error.contains("iteration"), "{error}");
}

#[tokio::test]
async fn rows_that_contradict_themselves_are_refused() {
    let text = 25;
    let done = [message(b'C', b"SELECT 1\0"), message(b'Z', b"T")].concat();
    let begun = [message(b'C', b"BEGIN\0"), message(b'Z', b"T")].concat();
    for row in [
        message(b'D', b""),
        message(b'D', b"\0\x02\0\0\0\x01x\0\0\0\x01y"),
        message(b'D', b"\0\x01\0\0\xff\xffx"),
        message(b'D', b"\0\x01\xff\xff\xff\xfe"),
        message(b'D', b"\0\x01\0\0\0\x01\xff"),
        message(b'D', b"\0\x01\xff\xff\xff\xff"),
        message(b'D', &[0xff; 100]),
    ] {
        for prelude in [
            Vec::new(),
            [message(b'1', b""), message(b't', b"\0\0"), column(text), message(b'2', b"")].concat(),
        ] {
            let response = [begun.clone(), prelude.clone(), row.clone(), done.clone()].concat();
            refused(Script { greeting: welcome(), response, ..Script::default() }).await;
        }
    }
}

#[tokio::test]
async fn endless_type_lookups_are_not_followed() {
    // Unguarded, the driver would query type 99999, learn of another one, and recurse without end.
    let described = [message(b'1', b""), message(b't', b"\0\0"), column(99_999), message(b'2', b"")].concat();
    let begun = [message(b'C', b"BEGIN\0"), message(b'Z', b"T")].concat();
    let response = [begun, described, message(b'Z', b"T")].concat();
    refused(Script { greeting: welcome(), response, ..Script::default() }).await;
}

#[tokio::test]
async fn endless_messages_are_cut_off() {
    let notice = message(b'N', &[b"SNOTICE\0M", &[b'x'; 4000][..], b"\0\0"].concat());
    refused(Script { greeting: notice.clone(), response: notice.clone(), endless: true }).await;
    refused(Script { greeting: welcome(), response: notice, endless: true }).await;
    let setting = message(b'S', b"name\0value\0");
    refused(Script { greeting: welcome(), response: setting, endless: true }).await;
    let row = message(b'D', b"\0\x01\0\0\0\x01x");
    refused(Script { greeting: welcome(), response: row, endless: true }).await;
}
