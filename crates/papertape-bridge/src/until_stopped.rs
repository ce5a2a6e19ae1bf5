//! The input of a host, which ends when the bridge is to stop.

use std::collections::VecDeque;
use std::future::{Future, pending};
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::time::{Instant, sleep_until};

/// How long a server may take to get ready after the end of the input of its host.
const GRACE: Duration = Duration::from_secs(10);

/// How much is read while the server is getting ready.
const MOST_AHEAD: usize = 1024 * 1024;

pub(crate) struct UntilStopped<'a, R, F> {
    reader: R,
    /// `None` if something else waits for it.
    stop: Option<Pin<&'a mut F>>,
    stopped: bool,
    /// What has been read already.
    ahead: VecDeque<u8>,
    /// When it ended, if that was seen while the server was getting ready.
    ended: Option<Instant>,
}

impl<'a, R, F> UntilStopped<'a, R, F> {
    pub(crate) fn new(reader: R, stop: Pin<&'a mut F>) -> Self {
        Self { reader, stop: Some(stop), stopped: false, ahead: VecDeque::new(), ended: None }
    }
}

impl<R: AsyncRead + Unpin, F: Future<Output = ()>> UntilStopped<'_, R, F> {
    /// Waits for the end of the input, or the stop. What arrives before is kept to be read.
    pub(crate) async fn ended(&mut self) {
        while self.ended.is_none()
            && !self.stopped
            && let Some(stop) = &mut self.stop
        {
            let mut more = Vec::with_capacity(8 * 1024);
            tokio::select! {
                biased;
                () = stop.as_mut() => self.stopped = true,
                read = self.reader.read_buf(&mut more), if self.ahead.len() < MOST_AHEAD => match read {
                    Ok(1..) => self.ahead.extend(more),
                    _ => self.ended = Some(Instant::now()),
                },
            }
        }
    }

    /// Waits until the server need not get ready any more: for the stop, or the end of the input and a while for a server that
    /// is starting.
    pub(crate) async fn given_up(&mut self) {
        self.ended().await;
        if let (false, Some(stop), Some(ended)) = (self.stopped, &mut self.stop, self.ended) {
            tokio::select! {
                () = stop.as_mut() => self.stopped = true,
                () = sleep_until(ended + GRACE) => {}
            }
        }
    }
}

impl<'a, R, F: Future<Output = ()>> UntilStopped<'a, R, F> {
    /// Ends it, as the stop does.
    pub(crate) fn give_up(&mut self) {
        self.stopped = true;
    }

    /// The stop, for what waits for it in place of this.
    pub(crate) fn take_stop(&mut self) -> impl Future<Output = ()> + use<'a, R, F> {
        let stop = self.stop.take();
        async move {
            match stop {
                Some(stop) => stop.await,
                None => pending().await,
            }
        }
    }

    /// Whether nothing has been read that is to be read again.
    pub(crate) fn is_read(&self) -> bool {
        self.ahead.is_empty()
    }

    /// Has these bytes read again, before others.
    pub(crate) fn unread(&mut self, bytes: Vec<u8>) {
        let after = mem::replace(&mut self.ahead, bytes.into());
        self.ahead.extend(after);
    }

    /// Waits for the stop, while nothing is read.
    pub(crate) async fn stopped(&mut self) {
        if let (false, Some(stop)) = (self.stopped, &mut self.stop) {
            stop.as_mut().await;
            self.stopped = true;
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
        if let (false, Some(stop)) = (this.stopped, &mut this.stop) {
            this.stopped = stop.as_mut().poll(cx).is_ready();
        }
        if this.stopped || this.ended.is_some() {
            // Nothing is read: the end.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut this.reader).poll_read(cx, buf)
    }
}
