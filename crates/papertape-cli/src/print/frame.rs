//! A frame to a line for `--trace`: number, direction, seconds, bytes.

use std::time::Duration;

use papertape::tape::Frame;
use papertape::wire::tape::{Direction, escaped};

use super::{Look, json, style, text};

/// `→   3  0.012s  {"jsonrpc":...}`: the whole frame, however long it is; `content` is one of the two functions below.
pub(crate) fn line(look: Look, frame: &Frame<'_>, content: fn(&[u8]) -> String) -> String {
    let content = json::line(&content(frame.bytes), look);
    let seconds = look.paint(style::DIM, &seconds(frame.time));
    format!("{} {seconds}  {content}\n", arrow(look, frame.number, frame.direction))
}

/// A record of a tape: the same, with the number of its HTTP exchange in brackets, and any text.
pub(crate) fn record_line(
    look: Look,
    (number, exchange): (u64, Option<u64>),
    direction: Option<Direction>,
    time: Option<Duration>,
    text: &str,
) -> String {
    let number = match direction {
        Some(direction) => arrow(look, number, direction),
        None => look.paint(style::DIM, &format!("· {number:>3}")),
    };
    let exchange =
        exchange.map(|exchange| look.paint(style::DIM, &format!(" [{exchange}]"))).unwrap_or_default();
    let seconds = look.paint(style::DIM, &time.map_or_else(|| format!("{:>7}", "-"), seconds));
    format!("{number}{exchange} {seconds}  {text}\n")
}

/// `stderr  text`: a line of the server's stderr.
pub(crate) fn stderr_line(look: Look, line: &str) -> String {
    format!("{}  {}\n", look.paint(style::DIM, "stderr"), text::safe(line))
}

/// A frame over HTTP: the body of a request or response, or an SSE event.
pub(crate) fn http_content(bytes: &[u8]) -> String {
    let data = bytes.strip_prefix(b"data: ").and_then(|data| data.strip_suffix(b"\n\n"));
    escaped(data.unwrap_or(bytes))
}

/// `→   3`.
pub(crate) fn arrow(look: Look, number: u64, direction: Direction) -> String {
    let (arrow, style) = match direction {
        Direction::ToServer => ("→", style::TO_SERVER),
        Direction::ToClient => ("←", style::TO_CLIENT),
    };
    look.paint(style, &format!("{arrow} {number:>3}"))
}

/// ` 0.012s`.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{:>7}", format!("{:.3}s", time.as_secs_f64()))
}

/// A frame over stdio, without its line end; a missing one is noted.
pub(crate) fn stdio_content(bytes: &[u8]) -> String {
    match bytes.strip_suffix(b"\n") {
        Some(line) => escaped(line),
        None if bytes.starts_with(b"Content-") => escaped(bytes),
        None => format!("{} (no line end)", escaped(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::{http_content, stdio_content};

    #[test]
    fn a_frame_is_one_line() {
        assert_eq!(stdio_content(b"{\"a\":1}\r\n"), "{\"a\":1}⟦0d⟧");
        assert_eq!(stdio_content(b"Content-Length: 2\r\n\r\n{}"), "Content-Length: 2⟦0d 0a 0d 0a⟧{}");
        assert_eq!(stdio_content(b"\xffhalf"), "⟦ff⟧half (no line end)");
        assert_eq!(http_content(b"{}"), "{}");
        assert_eq!(http_content(b"data: {}\n\n"), "{}");
        assert_eq!(http_content(b"id: 1\ndata: {}\n\n"), "id: 1⟦0a⟧data: {}⟦0a 0a⟧");
    }
}
