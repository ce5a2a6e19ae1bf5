//! The input of a host, which ends when the bridge is to stop.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

pub(crate) struct UntilStopped<'a, R, F> {
    reader: R,
    /// `None` once it is ready.
    stop: Option<Pin<&'a mut F>>,
    /// What has been read already.
    ahead: VecDeque<u8>,
}

impl<'a, R, F> UntilStopped<'a, R, F> {
    pub(crate) fn new(reader: R, stop: Pin<&'a mut F>) -> Self {
        Self { reader, stop: Some(stop), ahead: VecDeque::new() }
    }
}

impl<R, F: Future<Output = ()>> UntilStopped<'_, R, F> {
    /// Has these bytes read again, before others.
    pub(crate) fn unread(&mut self, bytes: Vec<u8>) {
        let after = mem::replace(&mut self.ahead, bytes.into());
        self.ahead.extend(after);
    }

    /// Waits for the stop, while nothing is read.
    pub(crate) async fn stopped(&mut self) {
        if let Some(stop) = &mut self.stop {
            stop.as_mut().await;
            self.stop = None;
        }
    }
}

impl<R: AsyncRead + Unpin, F: Future<Output = ()>> AsyncRead for UntilStopped<'_, R, F> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let (ahead, _) = this.ahead.as_slices();
        if !ahead.is_empty() {
            let length = ahead.len().min(buf.remaining());
            buf.put_slice(ahead.get(..length).unwrap_or_default());
            this.ahead.drain(..length);
            return Poll::Ready(Ok(()));
        }
        let stops = this.stop.as_mut().is_none_or(|stop| stop.as_mut().poll(cx).is_ready());
        if stops {
            this.stop = None;
            // Nothing is read: the end.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut this.reader).poll_read(cx, buf)
    }
}
