//! The palette: what each colour means. Only the sixteen colours that every terminal theme defines.

use anstyle::{AnsiColor, Style};

const PLAIN: Style = Style::new();

/// A name that one types: a tool, an argument, a prompt.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default().bold();
/// A heading.
pub(crate) const HEADING: Style = PLAIN.bold();
/// What is there for completeness.
pub(crate) const DIM: Style = PLAIN.dimmed();
/// What one must not overlook.
pub(crate) const STRONG: Style = PLAIN.bold();
/// Something is wrong.
pub(crate) const WRONG: Style = AnsiColor::Red.on_default().bold();
/// Something must be given.
pub(crate) const REQUIRED: Style = AnsiColor::Yellow.on_default();

/// A frame to the server.
pub(crate) const TO_SERVER: Style = AnsiColor::Blue.on_default().bold();
/// A frame to the client.
pub(crate) const TO_CLIENT: Style = AnsiColor::Magenta.on_default().bold();

/// A member's name in JSON.
pub(crate) const KEY: Style = AnsiColor::Cyan.on_default();
/// Text in JSON.
pub(crate) const STRING: Style = AnsiColor::Green.on_default();
/// A number in JSON.
pub(crate) const NUMBER: Style = AnsiColor::Yellow.on_default();
/// `true`, `false` and `null` in JSON.
pub(crate) const LITERAL: Style = AnsiColor::Magenta.on_default();
/// What a message is about: its method, the text it brings.
pub(crate) const SUBJECT: Style = AnsiColor::Green.on_default().bold();
/// Bytes that are no text.
pub(crate) const BYTES: Style = AnsiColor::Red.on_default();
