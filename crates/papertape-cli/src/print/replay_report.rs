//! What differs from a tape, as text.

use papertape_replay::{DiffLine, Replayed, Report, Verdict, lines};

use super::text::safe;
use super::{Look, style};

/// The requests whose responses differ, what else is wrong, and a summary.
pub(crate) fn as_text(report: &Report, look: Look) -> String {
    let mut text = String::new();
    for replayed in &report.requests {
        let problem = match &replayed.verdict {
            Verdict::Different(_) => "the response differs",
            Verdict::NoResponse => "no response",
            Verdict::Same | Verdict::NotCompared | Verdict::NotSent => continue,
        };
        text += &heading(replayed, problem, look);
        if let Verdict::Different(differences) = &replayed.verdict {
            for line in differences.iter().flat_map(lines) {
                text += &format!("  {}\n", painted(&line, look));
            }
        }
        text.push('\n');
    }
    for other in &report.others {
        text += &format!("{}\n", safe(other));
    }
    for violation in &report.violations {
        text += &format!("{} {}\n", look.paint(style::WRONG, "violation:"), safe(violation));
    }
    if !report.others.is_empty() || !report.violations.is_empty() {
        text.push('\n');
    }
    text += &report.summary();
    text.push('\n');
    text
}

fn heading(replayed: &Replayed, problem: &str, look: Look) -> String {
    let call = look.paint(style::HEADING, &replayed.call.to_string());
    format!("request {}, {call}: {}\n", replayed.number, look.paint(style::WRONG, problem))
}

fn painted(line: &DiffLine, look: Look) -> String {
    let text = line.to_string();
    match line {
        DiffLine::Place(_) => look.paint(style::KEY, &text),
        DiffLine::Recorded(_) => look.paint(style::RECORDED, &text),
        DiffLine::New(_) => look.paint(style::NEW, &text),
        DiffLine::Both(_) => text,
    }
}
