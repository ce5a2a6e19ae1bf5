//! The bytes of a server to the same bytes, or an error before the driver reads what would hurt it.
//!
//! The driver believes what a server says: it makes room for messages of any size, keeps every setting that it reports,
//! and queries types that it does not know, and for the types that those are made of, without an end. A real server
//! never does any of that to us.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::types::Type;

/// Bytes of one message.
const LARGEST: usize = 64 << 20;

/// Bytes of one message that says which columns there are.
const LARGEST_DESCRIPTION: usize = 64 << 10;

/// Bytes before the connection is open.
const LONGEST_OPENING: usize = 1 << 20;

/// Bytes of responses between two requests.
const MAX_RESPONSE: usize = 256 << 20;

/// `ParameterStatus` messages over the life of a connection.
const MOST_SETTINGS: usize = 10_000;

/// A stream that ends when its server exceeds a limit.
#[derive(Debug)]
pub(super) struct Guard<S> {
    stream: S,
    scanner: Scanner,
}

impl<S> Guard<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, scanner: Scanner::default() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if let Poll::Ready(Ok(())) = polled {
            let fresh = buffer.filled().get(before..).unwrap_or_default();
            if let Err(what) = self.scanner.read(fresh) {
                let why = format!("the connection was closed because of what it sent: {what}");
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, why)));
            }
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize, io::Error>> {
        self.scanner.unasked = 0;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Where in the stream of messages we are, and what there was.
#[derive(Debug, Default)]
struct Scanner {
    /// A tag and a length, as far as they have come.
    head: Vec<u8>,
    /// Bytes of the message that have not come.
    left: usize,
    /// What has come of a message that is looked into.
    description: Option<(u8, Vec<u8>)>,
    opened: bool,
    opening: usize,
    unasked: usize,
    settings: usize,
}

impl Scanner {
    fn read(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        self.unasked += bytes.len();
        if self.unasked > MAX_RESPONSE {
            return Err(format!("a response of more than {} MiB", MAX_RESPONSE >> 20));
        }
        if !self.opened {
            self.opening += bytes.len();
            if self.opening > LONGEST_OPENING {
                return Err(format!(
                    "more than {} MiB before the connection was open",
                    LONGEST_OPENING >> 20
                ));
            }
        }
        while !bytes.is_empty() {
            bytes = if self.left > 0 { self.body(bytes)? } else { self.heading(bytes)? };
        }
        Ok(())
    }

    /// Takes what belongs to a message's tag and length.
    fn heading<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        let (mine, rest) = bytes.split_at(bytes.len().min(5 - self.head.len()));
        self.head.extend_from_slice(mine);
        let [tag, a, b, c, d] = *self.head.as_slice() else { return Ok(rest) };
        self.head.clear();
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length > LARGEST {
            return Err(format!("a message of {} MiB", length >> 20));
        }
        self.left = length.checked_sub(4).ok_or("a message that is shorter than its own length")?;
        match tag {
            b'S' => self.settings += 1,
            b'Z' => self.opened = true,
            b'T' | b't' if self.left > LARGEST_DESCRIPTION => return Err("too many columns".to_owned()),
            b'T' | b't' => self.description = Some((tag, Vec::with_capacity(self.left))),
            _ => {}
        }
        if self.settings > MOST_SETTINGS {
            return Err("too many settings".to_owned());
        }
        Ok(rest)
    }

    /// Takes what belongs to a message's body.
    fn body<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        let (mine, rest) = bytes.split_at(bytes.len().min(self.left));
        self.left -= mine.len();
        if let Some((_, seen)) = &mut self.description {
            seen.extend_from_slice(mine);
        }
        if self.left == 0
            && let Some((tag, seen)) = self.description.take()
        {
            let types = if tag == b'T' { columns(&seen) } else { parameters(&seen) };
            let types = types.ok_or("columns that cannot be read")?;
            if let Some(unknown) = types.into_iter().find(|number| Type::from_oid(*number).is_none()) {
                return Err(format!("a column of a type ({unknown}) that was not requested"));
            }
        }
        Ok(rest)
    }
}

/// The types of columns, as PostgreSQL's protocol writes them.
fn columns(body: &[u8]) -> Option<Vec<u32>> {
    let (count, mut rest) = body.split_first_chunk()?;
    let mut types = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let end = memchr::memchr(0, rest)?;
        // Behind the name: table (4), column (2), type (4), size (2), modifier (4), format (2).
        let (about, next) = rest.get(end + 1..)?.split_first_chunk::<18>()?;
        types.push(u32::from_be_bytes(*about.get(6..)?.first_chunk()?));
        rest = next;
    }
    Some(types)
}

/// The types of parameters, likewise.
fn parameters(body: &[u8]) -> Option<Vec<u32>> {
    let (_, rest) = body.split_first_chunk::<2>()?;
    Some(rest.chunks_exact(4).filter_map(|it| Some(u32::from_be_bytes(*it.first_chunk()?))).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop};
    use proptest::{prop_assert_eq, proptest};

    use super::Scanner;

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[tag], &length.to_be_bytes()[..], body].concat()
    }

    fn column(type_number: u32) -> Vec<u8> {
        let mut body = vec![0, 1];
        body.extend_from_slice(b"name\0\0\0\0\0\0\0");
        body.extend_from_slice(&type_number.to_be_bytes());
        body.extend_from_slice(&[0; 8]);
        message(b'T', &body)
    }

    fn read(bytes: &[u8]) -> Result<(), String> {
        Scanner::default().read(bytes)
    }

    #[test]
    fn ordinary_messages_pass() {
        let text = 25;
        let said =
            [message(b'R', &[0; 4]), message(b'Z', b"I"), column(text), message(b'D', &[0, 0])].concat();
        assert_eq!(read(&said), Ok(()));
    }

    #[test]
    fn harmful_messages_do_not_reach_the_driver() {
        assert_eq!(read(&[b'D', 0x7f, 0xff, 0xff, 0xff]), Err("a message of 2047 MiB".to_owned()));
        assert_eq!(
            read(&[b'D', 0, 0, 0, 3]),
            Err("a message that is shorter than its own length".to_owned())
        );
        assert_eq!(
            read(&column(99_999)),
            Err("a column of a type (99999) that was not requested".to_owned())
        );
        let parameter = message(b't', &[0, 1, 0, 1, 0x86, 0x9f]);
        assert_eq!(read(&parameter), Err("a column of a type (99999) that was not requested".to_owned()));
        assert_eq!(read(&message(b'T', &[0, 9, b'x'])), Err("columns that cannot be read".to_owned()));
        assert_eq!(read(&message(b'T', &[b'x'; 70_000])), Err("too many columns".to_owned()));
        let settings = message(b'S', b"a\0b\0").repeat(10_001);
        assert_eq!(read(&settings), Err("too many settings".to_owned()));
        let notices = message(b'N', &[b'x'; 1 << 19]).repeat(3);
        assert_eq!(read(&notices), Err("more than 1 MiB before the connection was open".to_owned()));
    }

    proptest! {
        #[test]
        fn it_makes_no_difference_how_bytes_come(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            tags in prop::collection::vec(0_usize..4, 0..20),
            cuts in prop::collection::vec(0_usize..300, 0..10),
        ) {
            let known = [column(25), message(b'Z', b"I"), message(b'D', &[0; 9]), column(77_777)];
            let said: Vec<u8> =
                tags.iter().flat_map(|tag| known[*tag].clone()).chain(bytes).collect();
            let whole = read(&said);
            let mut scanner = Scanner::default();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(said.len())).collect();
            cuts.extend([0, said.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).try_for_each(|pair| scanner.read(&said[pair[0]..pair[1]]));
            prop_assert_eq!(whole, pieces);
        }
    }
}
