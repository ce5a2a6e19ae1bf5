//! The mode of the terminal that stdin is.

use std::io;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::exit;

/// The mode, which is restored on drop: a signal may end the process while a line is edited.
pub(crate) struct TerminalMode(Option<Termios>);

impl TerminalMode {
    /// The mode as it is; nothing is restored if stdin is not a terminal.
    pub(crate) fn save() -> Self {
        Self(tcgetattr(io::stdin()).ok())
    }

    /// Does not show what is typed, except the end of the line.
    pub(crate) fn hide_typing(&self) -> io::Result<()> {
        let Some(mut mode) = self.0.clone() else { return Ok(()) };
        mode.local_modes.remove(LocalModes::ECHO);
        mode.local_modes.insert(LocalModes::ECHONL);
        // What was typed before has been shown already, and is not the answer.
        Ok(tcsetattr(io::stdin(), OptionalActions::Flush, &mode)?)
    }
}

impl Drop for TerminalMode {
    fn drop(&mut self) {
        if let Some(mode) = &self.0
            && let Err(error) = tcsetattr(io::stdin(), OptionalActions::Drain, mode)
        {
            exit::note(&format!("warning: the mode of the terminal cannot be restored: {error}"));
        }
    }
}
