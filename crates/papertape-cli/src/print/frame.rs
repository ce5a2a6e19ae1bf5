//! A frame to a line for `--trace`: number, direction, seconds, bytes.

use std::time::Duration;

use papertape::wire::tape::Direction;

use super::{Look, json, style, text};

/// `→   3  0.012s  {"jsonrpc":...}`: the whole frame, however long it is.
pub(crate) fn line(look: Look, number: u64, direction: Direction, time: Duration, bytes: &[u8]) -> String {
    let content = json::line(&shown(bytes), look);
    let seconds = look.paint(style::DIM, &seconds(time));
    format!("{} {seconds}  {content}\n", arrow(look, number, direction))
}

/// The same over HTTP, where a frame is the body of a request or response, or an SSE event.
pub(crate) fn line_on_http(
    look: Look,
    number: u64,
    direction: Direction,
    time: Duration,
    bytes: &[u8],
) -> String {
    let data = bytes.strip_prefix(b"data: ").and_then(|data| data.strip_suffix(b"\n\n"));
    let content = json::line(&text::escaped(data.unwrap_or(bytes)), look);
    let seconds = look.paint(style::DIM, &seconds(time));
    format!("{} {seconds}  {content}\n", arrow(look, number, direction))
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

/// The bytes of a frame as text, without its line end; a missing one is noted.
pub(crate) fn shown(bytes: &[u8]) -> String {
    match bytes.strip_suffix(b"\n") {
        Some(line) => text::escaped(line),
        None if bytes.starts_with(b"Content-") => text::escaped(bytes),
        None => format!("{} (no line end)", text::escaped(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use papertape::wire::tape::Direction;

    use super::{line, line_on_http};
    use crate::print::Look;

    #[test]
    fn a_frame_is_one_line() {
        let look = Look { colour: false, width: 40, terminal: false };
        let line = |bytes| line(look, 7, Direction::ToClient, Duration::from_micros(12_345), bytes);
        assert_eq!(line(b"{\"a\":1}\r\n"), "←   7  0.012s  {\"a\":1}⟦0d⟧\n");
        assert_eq!(line(b"Content-Length: 2\r\n\r\n{}"), "←   7  0.012s  Content-Length: 2⟦0d 0a 0d 0a⟧{}\n");
        assert_eq!(line(b"\xffhalf"), "←   7  0.012s  ⟦ff⟧half (no line end)\n");
        let line = |bytes| line_on_http(look, 7, Direction::ToClient, Duration::from_micros(12_345), bytes);
        assert_eq!(line(b"{}"), "←   7  0.012s  {}\n");
        assert_eq!(line(b"data: {}\n\n"), "←   7  0.012s  {}\n");
        assert_eq!(line(b"id: 1\ndata: {}\n\n"), "←   7  0.012s  id: 1⟦0a⟧data: {}⟦0a 0a⟧\n");
    }
}
