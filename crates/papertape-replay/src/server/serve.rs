//! A recorded server on two byte streams.

use std::io;
use std::time::Duration;

use papertape::wire::frame::PieceKind;
use papertape::wire::{Decoder, Framing};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep_until};

use super::player::Player;
use super::sequence::LONGEST_DELAY;
use crate::script::write_frame;

/// The longest frame of a host.
const LONGEST: usize = 64 * 1024 * 1024;

/// What is done wrong, to test a host.
#[derive(Debug, Clone, Copy, Default)]
#[must_use]
pub struct Faults {
    /// The output ends after so many bytes.
    pub cut: Option<u64>,
    /// Messages have no line end.
    pub drop_newline: bool,
}

/// Why serving has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The host has closed its end.
    Input,
    /// The output was cut, as it was asked for.
    Cut,
    /// What the host sends is not in any framing.
    Framing,
}

/// Plays a recorded server until the input ends, or the output is cut. `note` is called with what a user should know.
///
/// # Errors
/// If the host cannot be read from or written to.
pub async fn serve(
    mut player: Player,
    mut input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    faults: Faults,
    mut note: impl FnMut(&str),
) -> io::Result<Ended> {
    let started = Instant::now();
    let mut output = Writer { output, faults, framing: Framing::Line, written: 0 };
    let mut decoder = Decoder::new(LONGEST);
    let mut ends = None;
    loop {
        while let Some(text) = player.poll(started.elapsed()) {
            if !output.write(&text).await? {
                return Ok(Ended::Cut);
            }
        }
        player.take_notes().iter().for_each(|text| note(text));
        let due = player.next_due().map(|due| started + due);
        if let Some(ends) = ends {
            // What was asked for before the input ended is still sent, as far as nothing is missing for it.
            match due {
                Some(due) if due <= ends => sleep_until(due).await,
                _ => return Ok(Ended::Input),
            }
            continue;
        }
        tokio::select! {
            read = input.read_buf(decoder.space()) => match read? {
                0 => {
                    ends = Some(Instant::now() + LONGEST_DELAY);
                    take(&mut decoder, &mut player, &mut output.framing, started.elapsed());
                    if let Some(piece) = decoder.finish()
                        && let PieceKind::Unfinished(body) = piece.kind
                    {
                        player.receive(body, started.elapsed());
                    }
                }
                _ if take(&mut decoder, &mut player, &mut output.framing, started.elapsed()) => {}
                _ => return Ok(Ended::Framing),
            },
            () = sleep_until(due.unwrap_or_else(far)), if due.is_some() => {}
        }
    }
}

/// Takes all complete frames; false if no more can be found.
fn take(decoder: &mut Decoder, player: &mut Player, framing: &mut Framing, now: Duration) -> bool {
    while let Some(piece) = decoder.next_piece() {
        *framing = piece.framing;
        match piece.kind {
            PieceKind::Frame(body) => player.receive(body, now),
            PieceKind::Broken(error) => {
                player.refuse(&error.to_string());
                if error.is_fatal() {
                    return false;
                }
            }
            PieceKind::Unfinished(_) | PieceKind::Blank | PieceKind::Skipped => {}
        }
    }
    true
}

fn far() -> Instant {
    Instant::now() + LONGEST_DELAY
}

struct Writer<W> {
    output: W,
    faults: Faults,
    framing: Framing,
    written: u64,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    /// Writes a message; false if the output is cut in it.
    async fn write(&mut self, text: &str) -> io::Result<bool> {
        let mut frame = Vec::with_capacity(text.len() + 1);
        write_frame(&mut frame, text, self.framing);
        if self.faults.drop_newline && self.framing == Framing::Line {
            frame.pop();
        }
        let size = u64::try_from(frame.len()).unwrap_or(u64::MAX);
        let left = self.faults.cut.map_or(u64::MAX, |cut| cut.saturating_sub(self.written));
        let is_cut = left <= size && self.faults.cut.is_some();
        let sent = frame.get(..usize::try_from(left).unwrap_or(usize::MAX)).unwrap_or(&frame);
        self.output.write_all(sent).await?;
        self.output.flush().await?;
        self.written += size;
        Ok(!is_cut)
    }
}
