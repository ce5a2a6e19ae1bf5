//! Progress notifications of a call, on one line of a terminal that is overwritten.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use papertape::client::Progress;

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
        let written = Arc::clone(&self.written);
        move |progress| {
            written.store(true, Ordering::Relaxed);
            let text: String = describe(&progress).chars().take(look.width.saturating_sub(1)).collect();
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

#[cfg(test)]
mod tests {
    use papertape::client::Progress;

    use super::describe;

    #[test]
    fn progress_as_text() {
        let of = |progress, total, message: Option<&str>| {
            describe(&Progress { progress, total, message: message.map(str::to_owned) })
        };
        assert_eq!(of(3.0, Some(10.0), Some("counting\n\u{1b}[2J")), "3 of 10 (30 %): counting ⟦1b⟧[2J");
        assert_eq!(of(0.5, Some(0.0), None), "0.5");
    }
}
