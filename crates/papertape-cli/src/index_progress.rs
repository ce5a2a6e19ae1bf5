//! The progress bar of `papertape index`, on one line of a terminal.

use std::fmt::Write;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use papertape_search::index::Progress;

use crate::sync::lock;

/// How often the spinner moves between two reports.
const TICK: Duration = Duration::from_millis(100);

/// The progress bar, which is cleared on drop. It is only drawn on a terminal.
#[derive(Debug)]
pub(crate) struct IndexProgress {
    is_wanted: bool,
    step: Mutex<Option<Step>>,
}

/// The current step. Each step has its own bar, complete before it is drawn: changing the style of a visible bar would draw
/// mixtures of both.
#[derive(Debug)]
struct Step {
    message: &'static str,
    of: Option<u64>,
    line: ProgressBar,
}

impl IndexProgress {
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self { is_wanted, step: Mutex::new(None) }
    }

    pub(crate) fn show(&self, progress: &Progress) {
        let (message, counted) = match progress {
            Progress::Scanning => ("scanning the directory", None),
            Progress::Reading { done, of } => ("reading files", Some((*done, *of))),
            Progress::Embedding { done, of } => ("computing embeddings", Some((*done, *of))),
            Progress::Judging => ("testing the embeddings", None),
            Progress::Writing => ("writing", None),
        };
        let (done, of) = counted.unzip();
        let done = done.unwrap_or_default();
        let mut step = lock(&self.step);
        match &*step {
            Some(step) if (step.message, step.of) == (message, of) => step.line.set_position(done),
            _ => {
                // Clears the old bar before the new one is drawn.
                drop(step.take());
                *step = Some(Step::new(message, done, of, self.is_wanted));
            }
        }
    }
}

impl Step {
    fn new(message: &'static str, done: u64, of: Option<u64>, is_wanted: bool) -> Self {
        // Draws nothing where stderr is not a terminal.
        let target = if is_wanted { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let line = ProgressBar::with_draw_target(of, target)
            .with_style(style(of.is_some()))
            .with_message(message)
            .with_position(done);
        if is_wanted {
            // Draws at once: a short step may be over before the ticker's first turn.
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

/// The remaining time, once there is something to estimate it from.
fn left(state: &ProgressState, text: &mut dyn Write) {
    let time = state.eta();
    if !time.is_zero() {
        let _ = write!(text, " ({:#} left)", HumanDuration(time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_can_be_shown() {
        let bar = IndexProgress::new(false);
        for progress in [
            Progress::Scanning,
            Progress::Reading { done: 0, of: 0 },
            Progress::Reading { done: 3, of: 2 },
            Progress::Embedding { done: 1, of: u64::MAX },
            Progress::Judging,
            Progress::Writing,
        ] {
            bar.show(&progress);
        }
        for counted in [true, false] {
            drop(style(counted));
        }
    }
}
