//! Closing a connection: the error response, and a lingering close so that the peer can read it.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::scan::Fault;

/// How long a peer gets to read a response that it may not expect yet.
const LINGER: Duration = Duration::from_secs(1);

/// Sends the error response and closes.
pub(super) async fn with_error(mut stream: TcpStream, fault: Fault) {
    let response = response(fault);
    let sent = async {
        if stream.write_all(response.as_bytes()).await.is_ok() {
            drain(&mut stream).await;
        }
    };
    // After the timeout the socket closes, whether the peer has read everything or not.
    let _late = tokio::time::timeout(LINGER, sent).await;
}

/// Closes once the peer has closed. A socket that is closed with unread bytes is reset, and the response would be lost.
pub(super) async fn linger(mut stream: TcpStream) {
    let _late = tokio::time::timeout(LINGER, drain(&mut stream)).await;
}

async fn drain(stream: &mut TcpStream) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let mut unread = [0; 1024];
    while stream.read(&mut unread).await.is_ok_and(|some| some > 0) {}
}

fn response(Fault { status, why }: Fault) -> String {
    let length = why.len() + 1;
    let retry = if status.starts_with("503") { "retry-after: 1\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n{retry}\
         connection: close\r\n\r\n{why}\n"
    )
}
