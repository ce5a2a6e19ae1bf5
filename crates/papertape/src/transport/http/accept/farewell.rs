//! The last words on a connection, and the patience to let them be read.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::scan::Fault;

/// How long a peer gets to read an answer that it may not expect yet.
const PATIENCE: Duration = Duration::from_secs(1);

/// Says what is wrong and closes.
pub(super) async fn say(mut stream: TcpStream, fault: Fault) {
    let words = words(fault);
    let told = async {
        if stream.write_all(words.as_bytes()).await.is_ok() {
            drain(&mut stream).await;
        }
    };
    // The peer had its time, whether it has read all or not.
    let _late = tokio::time::timeout(PATIENCE, told).await;
}

/// Closes once the peer has seen the end. A socket closed with unread bytes in it is reset, and what was written is lost.
pub(super) async fn linger(mut stream: TcpStream) {
    let _late = tokio::time::timeout(PATIENCE, drain(&mut stream)).await;
}

async fn drain(stream: &mut TcpStream) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let mut unread = [0; 1024];
    while stream.read(&mut unread).await.is_ok_and(|some| some > 0) {}
}

fn words(Fault { status, why }: Fault) -> String {
    let length = why.len() + 1;
    let retry = if status.starts_with("503") { "retry-after: 1\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n{retry}\
         connection: close\r\n\r\n{why}\n"
    )
}
