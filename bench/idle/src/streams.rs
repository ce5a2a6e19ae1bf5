//! Many event streams of one server, read by one thread.

use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use http_race::request;
use memchr::memmem;
use serde_json::json;

/// How long to wait for bytes on a stream.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Streams that were acknowledged.
pub(crate) struct Streams(Vec<(TcpStream, Vec<u8>)>);

impl Streams {
    pub(crate) fn open(address: SocketAddr, number: usize) -> Result<Self> {
        let params = json!({"notifications": {"toolsListChanged": true}});
        let mut request = request::modern(address, "subscriptions/listen", None, params)?;
        let mut all = Vec::with_capacity(number);
        for place in 0..number {
            let mut stream = TcpStream::connect(address).with_context(|| format!("stream {place}"))?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            stream.write_all(request.again())?;
            all.push((stream, Vec::new()));
        }
        let mut streams = Self(all);
        streams.wait_for("notifications/subscriptions/acknowledged")?;
        Ok(streams)
    }

    /// Waits until these words have come on every stream.
    pub(crate) fn wait_for(&mut self, words: &str) -> Result<()> {
        let mut buffer = [0; 4096];
        for (place, (stream, heard)) in self.0.iter_mut().enumerate() {
            while memmem::find(heard, words.as_bytes()).is_none() {
                let some = match stream.read(&mut buffer) {
                    Ok(some) => some,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        bail!("no {words} on stream {place}: {}", String::from_utf8_lossy(heard))
                    }
                    Err(error) => return Err(error.into()),
                };
                ensure!(some > 0, "stream {place} has ended: {}", String::from_utf8_lossy(heard));
                heard.extend(buffer.iter().take(some));
            }
            heard.clear();
            heard.shrink_to_fit();
        }
        Ok(())
    }

    /// Closes all.
    pub(crate) fn close(self) {
        drop(self);
    }
}
