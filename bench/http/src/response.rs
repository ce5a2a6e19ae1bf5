//! The bytes of one response, as far as they have come.

use std::{
    io::{self, Read},
    net::TcpStream,
};

use anyhow::{Context, Result, bail, ensure};
use memchr::memmem;

/// The bytes of one response, as far as they have come. Nothing may come after them.
#[derive(Debug, Default)]
pub struct Response {
    bytes: Vec<u8>,
    filled: usize,
    /// Where the body begins, and where it ends if the head says so.
    body: Option<(usize, Option<usize>)>,
}

impl Response {
    /// Forgets what came.
    pub fn clear(&mut self) {
        self.filled = 0;
        self.body = None;
    }

    /// Reads what there is, and says whether the response is complete.
    ///
    /// # Errors
    /// If the connection was closed before, or what comes is not a response.
    pub fn read(&mut self, stream: &mut TcpStream) -> Result<bool> {
        if self.bytes.len() - self.filled < 4096 {
            self.bytes.resize(self.bytes.len() * 2 + 16 * 1024, 0);
        }
        match stream.read(self.bytes.get_mut(self.filled..).unwrap_or_default()) {
            Ok(0) => bail!("the server closed the connection; it had said: {}", self.text()),
            Ok(some) => self.filled += some,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        self.is_complete()
    }

    /// The response, after waiting for all of it.
    ///
    /// # Errors
    /// As for [`Response::read`].
    pub fn wait(&mut self, stream: &mut TcpStream) -> Result<()> {
        self.clear();
        while !self.read(stream)? {}
        Ok(())
    }

    fn is_complete(&mut self) -> Result<bool> {
        if self.body.is_none() {
            let Some(end) = memmem::find(self.bytes(), b"\r\n\r\n") else { return Ok(false) };
            let length = match self.header("content-length") {
                Some(length) => Some(end + 4 + length.parse::<usize>().context("content-length")?),
                None if self.header("transfer-encoding").is_some() => None,
                None if self.status() == "202" => Some(end + 4),
                None => bail!("a body of no length: {}", self.text()),
            };
            self.body = Some((end + 4, length));
        }
        match self.body {
            Some((_, Some(end))) => {
                ensure!(self.filled <= end, "more than was asked for: {}", self.text());
                Ok(self.filled == end)
            }
            _ => Ok(self.bytes().ends_with(b"\r\n0\r\n\r\n")),
        }
    }

    /// What came.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.filled).unwrap_or_default()
    }

    /// The part after the head.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        let (start, _) = self.body.unwrap_or_default();
        self.bytes().get(start..).unwrap_or_default()
    }

    /// The three digits of the status.
    #[must_use]
    pub fn status(&self) -> &str {
        self.bytes().get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()).unwrap_or_default()
    }

    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let end = memmem::find(self.bytes(), b"\r\n\r\n")?;
        let head = std::str::from_utf8(self.bytes().get(..end)?).ok()?;
        head.split("\r\n").skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// What came, for an error message.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes().get(..self.filled.min(2000)).unwrap_or_default()).into_owned()
    }
}
