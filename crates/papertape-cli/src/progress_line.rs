//! Progress notifications of a call, on one line of a terminal that is overwritten.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use papertape::client::{Progress, TaskState};

use crate::print::text::one_line;
use crate::print::{self, Look, style};

const CLEAR_LINE: &str = "\r\u{1b}[2K";

/// The line, which is cleared on drop.
#[derive(Debug, Default)]
pub(crate) struct ProgressLine {
    written: Arc<AtomicBool>,
}

impl ProgressLine {
    /// The callback for progress notifications.
    pub(crate) fn callback(&self, look: Look) -> impl FnMut(Progress) + Send + 'static {
        let write = self.write(look);
        move |progress| write(&describe(&progress))
    }

    /// The callback for the states of a task.
    pub(crate) fn status_callback(&self, look: Look) -> impl FnMut(&TaskState) + Send + 'static {
        let write = self.write(look);
        move |task| write(&describe_task(task.status.as_str(), task.message.as_deref()))
    }

    /// Replaces the line with a text.
    pub(crate) fn write(&self, look: Look) -> impl Fn(&str) + Send + 'static {
        let written = Arc::clone(&self.written);
        move |text| {
            written.store(true, Ordering::Relaxed);
            let text: String = text.chars().take(look.width.saturating_sub(1)).collect();
            print::err(&format!("{CLEAR_LINE}{}", look.paint(style::DIM, &text)));
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.written.load(Ordering::Relaxed) {
            print::err(CLEAR_LINE);
        }
    }
}

/// "3 of 10 (30 %): counting".
fn describe(progress: &Progress) -> String {
    let mut text = progress.progress.to_string();
    if let Some(total) = progress.total.filter(|&total| total > 0.0) {
        text += &format!(" of {total} ({:.0} %)", 100.0 * progress.progress / total);
    }
    if let Some(message) = &progress.message {
        text += &format!(": {}", one_line(message));
    }
    text
}

/// "the task is working: reading 3 of 10 files".
fn describe_task(status: &str, message: Option<&str>) -> String {
    let message = message.map(|message| format!(": {}", one_line(message))).unwrap_or_default();
    format!("the task is {}{message}", status.replace('_', " "))
}

#[cfg(test)]
mod tests {
    use papertape::client::Progress;

    use super::{describe, describe_task};

    #[test]
    fn states_of_tasks_as_text() {
        assert_eq!(describe_task("input_required", None), "the task is input required");
        assert_eq!(describe_task("working", Some("1\n2\u{1b}[2J")), "the task is working: 1 2⟦1b⟧[2J");
    }

    #[test]
    fn progress_as_text() {
        let of = |progress, total, message: Option<&str>| {
            describe(&Progress { progress, total, message: message.map(str::to_owned) })
        };
        assert_eq!(of(3.0, Some(10.0), Some("counting\n\u{1b}[2J")), "3 of 10 (30 %): counting ⟦1b⟧[2J");
        assert_eq!(of(0.5, Some(0.0), None), "0.5");
    }
}
