//! How far an index has got, on one line of a terminal.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use papertape_servers::blog::ingest::Progress;

/// How often the line moves while nothing is told.
const TICK: Duration = Duration::from_millis(100);

/// The line, which goes when this does. On anything but a terminal there is none.
#[derive(Debug)]
pub(crate) struct Bar {
    is_wanted: bool,
    step: Mutex<Option<Step>>,
}

/// What is done now. Each step has a line of its own, made before it is shown: a line that is turned into another one shows
/// what neither of them says.
#[derive(Debug)]
struct Step {
    message: &'static str,
    of: Option<u64>,
    line: ProgressBar,
}

impl Bar {
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self { is_wanted, step: Mutex::new(None) }
    }

    pub(crate) fn show(&self, progress: &Progress) {
        let (message, counted) = match progress {
            Progress::Scanning => ("looking through the folder", None),
            Progress::Reading { done, of } => ("reading files", Some((*done, *of))),
            Progress::Embedding { done, of } => ("making vectors", Some((*done, *of))),
            Progress::Calibrating => ("finding out what vectors are worth here", None),
            Progress::Writing => ("writing", None),
        };
        let (done, of) = counted.unzip();
        let done = done.unwrap_or_default();
        let mut step = self.step.lock().unwrap_or_else(PoisonError::into_inner);
        match &*step {
            Some(step) if (step.message, step.of) == (message, of) => step.line.set_position(done),
            _ => {
                // The old line goes before the new one comes.
                drop(step.take());
                *step = Some(Step::new(message, done, of, self.is_wanted));
            }
        }
    }
}

impl Step {
    fn new(message: &'static str, done: u64, of: Option<u64>, is_wanted: bool) -> Self {
        // Draws nothing where stderr is no terminal.
        let target = if is_wanted { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let line = ProgressBar::with_draw_target(of, target)
            .with_style(style(of.is_some()))
            .with_message(message)
            .with_position(done);
        if is_wanted {
            // Now, and not when a thread gets its turn: a step may be over by then.
            line.tick();
            line.enable_steady_tick(TICK);
        }
        Self { message, of, line }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}

fn style(counted: bool) -> ProgressStyle {
    let template = if counted {
        "{spinner} {msg} [{wide_bar}] {human_pos} of {human_len}{left}"
    } else {
        "{spinner} {msg}"
    };
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .with_key("left", left)
}

/// How long it will still take, once there is something to tell it from.
fn left(state: &ProgressState, text: &mut dyn Write) {
    let time = state.eta();
    if !time.is_zero() {
        let _ = write!(text, " (still {:#})", HumanDuration(time));
    }
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
