//! How far a call has got, on one line of a terminal that is written anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use papertape::Progress;

use crate::print::text::one_line;
use crate::print::{self, Look, style};

const CLEAR_LINE: &str = "\r\u{1b}[2K";

/// The line, which goes when this does.
#[derive(Debug, Default)]
pub(crate) struct ProgressLine {
    written: Arc<AtomicBool>,
}

impl ProgressLine {
    /// What to call with each word of progress.
    pub(crate) fn teller(&self, look: Look) -> impl FnMut(Progress) + Send + 'static {
        let written = Arc::clone(&self.written);
        move |progress| {
            written.store(true, Ordering::Relaxed);
            let words: String = words(&progress).chars().take(look.width.saturating_sub(1)).collect();
            print::err(&format!("{CLEAR_LINE}{}", look.paint(style::DIM, &words)));
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
fn words(progress: &Progress) -> String {
    let mut words = progress.progress.to_string();
    if let Some(total) = progress.total.filter(|&total| total > 0.0) {
        words += &format!(" of {total} ({:.0} %)", 100.0 * progress.progress / total);
    }
    if let Some(message) = &progress.message {
        words += &format!(": {}", one_line(message));
    }
    words
}

#[cfg(test)]
mod tests {
    use papertape::Progress;

    use super::words;

    #[test]
    fn progress_in_words() {
        let of = |progress, total, message: Option<&str>| {
            words(&Progress { progress, total, message: message.map(str::to_owned) })
        };
        assert_eq!(of(3.0, Some(10.0), Some("counting\n\u{1b}[2J")), "3 of 10 (30 %): counting ⟦1b⟧[2J");
        assert_eq!(of(0.5, Some(0.0), None), "0.5");
    }
}
