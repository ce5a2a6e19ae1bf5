//! Text for a terminal on which a line is being edited: it is printed above that line, which is then drawn again.
//!
//! The editor has such a function too, but with it, it no longer sees keys that arrive together, such as those of a paste, before
//! the next one. What is drawn here leaves the cursor where the editor has put it.

use std::io::{self, Write};
use std::sync::Mutex;

use unicode_width::UnicodeWidthChar;

use super::{Look, style};
use crate::sync::lock;

/// The line that is being edited, if one is.
static EDITED: Mutex<Option<EditedLine>> = Mutex::new(None);

struct EditedLine {
    prompt: String,
    line: String,
    /// The cursor, in bytes of the line.
    cursor: usize,
}

/// The editor begins with a line.
pub(crate) fn begin(prompt: &str) {
    *lock(&EDITED) = Some(EditedLine { prompt: prompt.to_owned(), line: String::new(), cursor: 0 });
}

/// The line or its cursor has changed.
pub(crate) fn update(line: &str, cursor: usize) {
    if let Some(edited) = lock(&EDITED).as_mut() {
        line.clone_into(&mut edited.line);
        edited.cursor = cursor;
    }
}

/// The line is complete.
pub(crate) fn end() {
    *lock(&EDITED) = None;
}

/// Prints a text above the line; `None` if no line is being edited on a terminal that can draw it again.
pub(super) fn print(text: &str) -> Option<io::Result<()>> {
    // Locked while it is written: two texts must not mix.
    let edited = lock(&EDITED);
    let look = Look::of_stderr();
    let edited = edited.as_ref().filter(|_| look.redraws())?;
    let width = terminal_size::terminal_size_of(io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
    let drawn = edited.drawn_below(text, width, look);
    Some(io::stderr().lock().write_all(drawn.as_bytes()))
}

impl EditedLine {
    /// What moves to the beginning of the line, clears it, and draws it again below the text.
    fn drawn_below(&self, text: &str, width: usize, look: Look) -> String {
        let Self { prompt, line, cursor } = self;
        let start = position((0, 0), prompt, width);
        let at = position(start, line.get(..*cursor).unwrap_or(line), width);
        let end = position(start, line, width);
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        let prompt = look.paint(style::NAME, prompt);
        let mut drawn = format!("\r{}\u{1b}[J{text}{newline}{prompt}{line}", moved(at.0, 'A'));
        // A terminal wraps only before the next character.
        if end.1 == 0 && end.0 > 0 && !line.ends_with('\n') {
            drawn.push('\n');
        }
        drawn + &format!("{}\r{}", moved(end.0 - at.0, 'A'), moved(at.1, 'C'))
    }
}

/// Row and column after a text that begins at another position.
fn position((mut row, mut column): (usize, usize), text: &str, width: usize) -> (usize, usize) {
    for c in text.chars() {
        let cells = c.width().unwrap_or_default();
        if c == '\n' {
            (row, column) = (row + 1, 0);
        } else if column + cells > width {
            (row, column) = (row + 1, cells);
        } else {
            column += cells;
        }
        if column == width {
            (row, column) = (row + 1, 0);
        }
    }
    (row, column)
}

/// The sequence that moves the cursor by some rows or columns.
fn moved(count: usize, direction: char) -> String {
    if count == 0 { String::new() } else { format!("\u{1b}[{count}{direction}") }
}

#[cfg(test)]
mod tests {
    use super::{EditedLine, position};
    use crate::print::Look;

    fn drawn(line: &str, cursor: usize) -> String {
        let edited = EditedLine { prompt: "> ".to_owned(), line: line.to_owned(), cursor };
        let look = Look { colour: false, width: 10, terminal: true };
        edited.drawn_below("news", 10, look).replace('\u{1b}', "^")
    }

    #[test]
    fn the_line_is_drawn_again_below_the_text() {
        assert_eq!(drawn("", 0), "\r^[Jnews\n> \r^[2C");
        assert_eq!(drawn("abc", 1), "\r^[Jnews\n> abc\r^[3C");
        assert_eq!(drawn("é日", 5), "\r^[Jnews\n> é日\r^[5C");
        // Two rows, with the cursor in the first, at the end of the second, and where the second begins.
        assert_eq!(drawn("abcdefghij", 3), "\r^[Jnews\n> abcdefghij^[1A\r^[5C");
        assert_eq!(drawn("abcdefghij", 10), "\r^[1A^[Jnews\n> abcdefghij\r^[2C");
        assert_eq!(drawn("abcdefgh", 8), "\r^[1A^[Jnews\n> abcdefgh\n\r");
    }

    #[test]
    fn a_wide_character_is_not_split() {
        assert_eq!(position((0, 0), "123456789", 10), (0, 9));
        assert_eq!(position((0, 9), "日", 10), (1, 2));
        assert_eq!(position((0, 8), "日", 10), (1, 0));
        assert_eq!(position((0, 3), "a\nb", 10), (1, 1));
    }
}
