//! The palette: what each colour means. Only the sixteen colours that every terminal theme defines.

use anstyle::{AnsiColor, Style};

const PLAIN: Style = Style::new();

/// A name to type: a tool, an argument, a prompt.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default().bold();
/// A heading.
pub(crate) const HEADING: Style = PLAIN.bold();
/// Secondary text.
pub(crate) const DIM: Style = PLAIN.dimmed();
/// Important text.
pub(crate) const STRONG: Style = PLAIN.bold();
/// Errors and warnings.
pub(crate) const WRONG: Style = AnsiColor::Red.on_default().bold();
/// A required argument.
pub(crate) const REQUIRED: Style = AnsiColor::Yellow.on_default();

/// A frame to the server.
pub(crate) const TO_SERVER: Style = AnsiColor::Blue.on_default().bold();
/// A frame to the client.
pub(crate) const TO_CLIENT: Style = AnsiColor::Magenta.on_default().bold();

/// A member's name in JSON.
pub(crate) const KEY: Style = AnsiColor::Cyan.on_default();
/// A string in JSON.
pub(crate) const STRING: Style = AnsiColor::Green.on_default();
/// A number in JSON.
pub(crate) const NUMBER: Style = AnsiColor::Yellow.on_default();
/// `true`, `false` and `null` in JSON.
pub(crate) const LITERAL: Style = AnsiColor::Magenta.on_default();
/// The subject of a message: its method, its text.
pub(crate) const SUBJECT: Style = AnsiColor::Green.on_default().bold();
/// What a tape has, where a response differs.
pub(crate) const RECORDED: Style = AnsiColor::Red.on_default();
/// What a server has responded there.
pub(crate) const NEW: Style = AnsiColor::Green.on_default();
/// Bytes that are not text.
pub(crate) const BYTES: Style = AnsiColor::Red.on_default();
