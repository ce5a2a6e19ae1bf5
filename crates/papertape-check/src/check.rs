//! The check of a server on stdio: drives it, and inspects what was recorded.

use papertape::stdio::ServerCommand;
use serde_json::Value;

use crate::definitions::{self, Lists};
use crate::drive::behave::behave;
use crate::drive::run::{Opening, Run};
use crate::drive::{self, Drive};
use crate::inspect::{
    behaviour, capabilities, count, messages, missing, newer_fields, opening, reads, shutdown, start, stdout,
    time,
};
use crate::options::Options;
use crate::report::{Report, ServerSummary};

/// Starts a server several times, drives it through what hosts do, and reports what is wrong with it.
///
/// Nothing that was started is left when this returns, or when it is dropped. It must be called in a tokio runtime with I/O
/// and time.
pub async fn check_stdio(command: &ServerCommand, options: &Options) -> Report {
    let mut drive = match drive::drive(command, options).await {
        Ok(drive) => drive,
        Err(error) => {
            let mut report =
                Report::new(vec![missing::not_started(command, &error).await], ServerSummary::default());
            report.skipped.push("everything: the server could not be started".to_owned());
            return report;
        }
    };
    // The server was started before, so that this would be a lack of processes or files.
    let behaviour = behave(command, &mut drive, options).await.unwrap_or_default();
    let lists = drive.lists();
    let mut findings = stdout::inspect(&drive);
    findings.extend(start::inspect(command, &drive));
    findings.extend(missing::short_path(command));
    findings.extend(opening::inspect(&drive));
    findings.extend(messages::inspect(&drive));
    findings.extend(newer_fields::inspect(&drive));
    findings.extend(capabilities::inspect(&drive, &behaviour));
    findings.extend(definitions::inspect_both(&lists, drive.session_based_lists()));
    findings.extend(reads::inspect(&drive, &behaviour));
    findings.extend(behaviour::inspect(&drive, &behaviour));
    findings.extend(shutdown::inspect(&drive));
    let mut report = Report::new(findings, summary(&drive, &lists));
    report.steps = drive.runs.iter().map(step).collect();
    report.steps.extend(behaviour.steps());
    report.skipped = drive.skipped;
    let mut cut: Vec<&String> = drive.runs.iter().flat_map(|run| &run.lists.cut).collect();
    cut.sort();
    cut.dedup();
    report.skipped.extend(cut.into_iter().map(|what| format!("inspection of {what}")));
    report
}

/// What the server is.
pub(crate) fn summary(drive: &Drive, lists: &Lists) -> ServerSummary {
    let info = drive.opened().find_map(Run::server_info);
    let text =
        |member: &str| info.and_then(|info| info.get(member)).and_then(Value::as_str).map(str::to_owned);
    let mut revisions: Vec<String> = drive.opened().filter_map(|run| run.opened.clone()).collect();
    revisions.sort();
    revisions.dedup();
    let first = drive.runs.first().and_then(|run| run.exchanges.first());
    ServerSummary {
        name: text("name"),
        version: text("version"),
        revisions,
        tools: lists.tools.len(),
        resources: lists.resources.len(),
        templates: lists.templates.len(),
        prompts: lists.prompts.len(),
        list_bytes: lists.bytes,
        first_response: first.and_then(|exchange| Some(exchange.sent + exchange.response.as_ref()?.elapsed)),
    }
}

/// What was tried in a run.
fn step(run: &Run) -> String {
    let tried = match run.opening {
        Opening::Legacy(revision) | Opening::Older(revision) => format!("`initialize` in {revision}"),
        Opening::Headers(revision) => format!("`initialize` in {revision}, in Content-Length framing"),
        Opening::Modern => format!("`server/discover` in {}", drive::MODERN),
    };
    let listed: Vec<String> = [
        (&*run.lists.tools, "tool"),
        (&run.lists.resources, "resource"),
        (&run.lists.templates, "resource template"),
        (&run.lists.prompts, "prompt"),
    ]
    .iter()
    .filter(|(list, _)| !list.is_empty())
    .map(|(list, what)| count(u64::try_from(list.len()).unwrap_or(u64::MAX), what))
    .collect();
    let listed = if listed.is_empty() { String::new() } else { format!(", listed {}", listed.join(", ")) };
    if let Some(took) = run.answered_late() {
        return format!("{tried}: answered too late, after {}", time(took));
    }
    if run.flushed_at_end() {
        return format!("{tried}: answered only at the end of input");
    }
    match (&run.opened, run.answered()) {
        (Some(revision), _) => format!("{tried}: opened in {revision}{listed}"),
        (None, true) if run.first_response().is_some() => format!("{tried}: refused"),
        (None, _) => format!("{tried}: not answered"),
    }
}
