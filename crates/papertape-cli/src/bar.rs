//! How far an index has got, on one line of a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use papertape_servers::blog::ingest::Progress;

/// How often the line moves while nothing is told.
const TICK: Duration = Duration::from_millis(100);

/// The line, which goes when this does. On anything but a terminal there is none.
#[derive(Debug)]
pub(crate) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    pub(crate) fn new(is_wanted: bool) -> Self {
        // Draws nothing where stderr is no terminal.
        let target = if is_wanted { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if is_wanted {
            bar.enable_steady_tick(TICK);
        }
        Self { bar }
    }

    pub(crate) fn show(&self, progress: &Progress) {
        let (message, counted) = match progress {
            Progress::Scanning => ("looking through the folder", None),
            Progress::Reading { done, of } => ("reading files", Some((*done, *of))),
            Progress::Embedding { done, of } => ("making vectors", Some((*done, *of))),
            Progress::Calibrating => ("finding out what vectors are worth here", None),
            Progress::Writing => ("writing", None),
        };
        if self.bar.message() != message {
            self.bar.reset();
            self.bar.set_style(style(counted.is_some()));
            self.bar.set_message(message);
        }
        match counted {
            Some((done, of)) => {
                self.bar.set_length(of);
                self.bar.set_position(done);
            }
            None => self.bar.unset_length(),
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(counted: bool) -> ProgressStyle {
    let template = if counted {
        "{spinner} {msg} [{wide_bar}] {human_pos} of {human_len} (still {eta})"
    } else {
        "{spinner} {msg}"
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_can_be_shown() {
        let bar = Bar::new(false);
        for progress in [
            Progress::Scanning,
            Progress::Reading { done: 0, of: 0 },
            Progress::Reading { done: 3, of: 2 },
            Progress::Embedding { done: 1, of: u64::MAX },
            Progress::Calibrating,
            Progress::Writing,
        ] {
            bar.show(&progress);
        }
        for counted in [true, false] {
            drop(style(counted));
        }
    }
}
