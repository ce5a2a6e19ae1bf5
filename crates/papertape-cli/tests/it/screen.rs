//! A program on a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Command;

use crate::login::terminal;
use crate::process::Process;

/// A program on a terminal.
pub(crate) struct Screen {
    terminal: File,
    shown: Vec<u8>,
    /// How much of it has been waited for.
    seen: usize,
    pub(crate) process: Process,
}

impl Screen {
    /// Without colours, so that words can be waited for.
    pub(crate) fn start(mut command: Command) -> Self {
        command.env("TERM", "xterm");
        Self::start_as_it_is(command)
    }

    pub(crate) fn start_as_it_is(mut command: Command) -> Self {
        let (ours, theirs) = terminal();
        command.env("NO_COLOR", "1").stdin(theirs.try_clone().unwrap());
        command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
        let process = Process::start_as_it_is(&mut command);
        Self { terminal: ours, shown: Vec::new(), seen: 0, process }
    }

    /// Waits until the program has shown some words, after those that were waited for before.
    #[track_caller]
    pub(crate) fn until(&mut self, words: &str) -> &mut Self {
        let mut bytes = [0; 1_024];
        loop {
            let new = &self.shown[self.seen..];
            if let Some(at) = new.windows(words.len()).position(|window| window == words.as_bytes()) {
                self.seen += at + words.len();
                return self;
            }
            match self.terminal.read(&mut bytes) {
                Ok(count @ 1..) => self.shown.extend_from_slice(&bytes[..count]),
                // A terminal without a program is an error rather than an end.
                _ => panic!("{words:?} was not shown:\n{}", String::from_utf8_lossy(&self.shown)),
            }
        }
    }

    pub(crate) fn keys(&mut self, keys: &str) -> &mut Self {
        self.terminal.write_all(keys.as_bytes()).unwrap();
        self
    }

    /// All that was shown, and the exit code.
    pub(crate) fn end(mut self) -> (String, Option<i32>) {
        let mut bytes = [0; 1_024];
        while let Ok(count @ 1..) = self.terminal.read(&mut bytes) {
            self.shown.extend_from_slice(&bytes[..count]);
        }
        (String::from_utf8_lossy(&self.shown).replace("\r\n", "\n"), self.process.wait().status.code())
    }
}
