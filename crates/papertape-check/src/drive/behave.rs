//! Drives an opened server further: what it offers, calls of its tools, subscriptions, and bad input.

use std::io;

use papertape::stdio::ServerCommand;

use crate::drive::bad_input::{self, Trial};
use crate::drive::calls::{self, Calls};
use crate::drive::client::Client;
use crate::drive::ending::Ending;
use crate::drive::offers::{self, Listen, Offer, PING};
use crate::drive::reads::{self, Read};
use crate::drive::run::{Opening, Progress, Run};
use crate::drive::{Drive, LATEST_LEGACY};
use crate::options::Options;
use crate::stdio::session::Exchange;

/// What was tried with a server that opens. Indices are those of the runs of a drive, and of exchanges in them.
#[derive(Debug, Default)]
pub(crate) struct Behaviour {
    /// The run in which features were asked for.
    pub(crate) offered: Option<usize>,
    /// The run in which tools were called.
    pub(crate) run: Option<usize>,
    /// The features.
    pub(crate) offers: Vec<Offer>,
    /// Resources that were read, and prompts that were got.
    pub(crate) reads: Vec<Read>,
    /// The calls.
    pub(crate) calls: Calls,
    /// The run and the subscription of a stateless revision.
    pub(crate) listen: Option<(usize, Listen)>,
    /// Bad input, each in a process that had no other fault before.
    pub(crate) trials: Vec<Trial>,
}

impl Behaviour {
    /// What was tried, for the report.
    pub(crate) fn steps(&self) -> Vec<String> {
        let mut steps = Vec::new();
        let features = self.offers.iter().filter(|offer| offer.capability != PING).count();
        if features > 0 {
            steps.push(format!("asked for {features} features, declared or not"));
        }
        let read: Vec<&str> = self.reads.iter().map(|read| read.subject.as_str()).collect();
        if !read.is_empty() {
            steps.push(format!("read {}", read.join(", ")));
        }
        let called: Vec<String> = self.calls.calls.iter().map(|call| format!("\"{}\"", call.tool)).collect();
        if !called.is_empty() {
            steps.push(format!("called {}", called.join(", ")));
        }
        steps.extend(
            self.calls.cancelled.iter().map(|(call, _)| format!("cancelled a call of \"{}\"", call.tool)),
        );
        steps.extend(self.listen.iter().map(|_| "subscribed with `subscriptions/listen`".to_owned()));
        if !self.trials.is_empty() {
            steps.push(format!("sent bad input, {} kinds of it", self.trials.len()));
        }
        steps
    }
}

/// Drives a server that was opened before.
///
/// # Errors
/// If it cannot be started.
pub(crate) async fn behave(
    command: &ServerCommand,
    drive: &mut Drive,
    options: &Options,
) -> io::Result<Behaviour> {
    let mut behaviour = Behaviour::default();
    let Some(run) = drive.opened().find(|run| !matches!(run.opening, Opening::Headers(_))) else {
        return Ok(behaviour);
    };
    let why = if run.exchanges.iter().any(has_unknown_id) {
        Some("its responses do not have the ids of requests")
    } else if run.failure.is_some() {
        Some("it does not answer what comes before them")
    } else {
        None
    };
    let opening = match run.opening {
        Opening::Modern => Opening::Modern,
        _ => Opening::Legacy(LATEST_LEGACY),
    };
    if let Some(why) = why {
        drive.skipped.push(format!("calls and bad input: {why}"));
        return Ok(behaviour);
    }
    let lists = drive.lists();
    let plans = calls::plan(&lists.tools, options, &mut drive.skipped);
    let Some(mut client) = Client::open(command, opening, options.timeout).await? else {
        drive.skipped.push("calls and bad input: it does not open again".to_owned());
        return Ok(behaviour);
    };
    options.step("asking for what is declared");
    behaviour.offers = offers::ask(&mut client, &lists).await;
    if behaviour.offers.iter().any(|offer| offer.failure.is_some()) {
        behaviour.offered = Some(finish(drive, client).await);
        // It may exit at what it does not know, and do what it does know.
        match Client::open(command, opening, options.timeout).await? {
            Some(again) => client = again,
            None => return Ok(behaviour),
        }
    }
    options.step("reading resources and prompts");
    let (reads, lives) = reads::run(&mut client, &lists, &mut drive.skipped).await;
    behaviour.reads = reads;
    if lives {
        behaviour.calls = calls::run(&mut client, &plans, options, &mut drive.skipped).await;
    }
    if opening == Opening::Modern {
        let listen = offers::listen(&mut client, &lists).await;
        behaviour.listen = listen.map(|listen| (drive.runs.len(), listen));
    }
    behaviour.run = Some(finish(drive, client).await);
    behaviour.offered = behaviour.offered.or(behaviour.run);
    let stateless = drive.opened().any(|run| run.opening == Opening::Modern);
    if opening != Opening::Modern
        && stateless
        && let Some(mut client) = Client::open(command, Opening::Modern, options.timeout).await?
    {
        options.step("subscribing");
        let listen = offers::listen(&mut client, &lists).await;
        let run = finish(drive, client).await;
        behaviour.listen = listen.map(|listen| (run, listen));
    }
    let exits = behaviour.calls.exits();
    if exits {
        drive.skipped.push("bad calls: it exits at good ones".to_owned());
    }
    let plans = if exits { Vec::new() } else { plans };
    let tools = !lists.tools.is_empty() && !exits;
    behaviour.trials = bad_input::run(command, opening, &plans, tools, options, &mut drive.skipped).await?;
    Ok(behaviour)
}

/// Ends a session in which nothing is wrong so far, and keeps it: its index.
async fn finish(drive: &mut Drive, client: Client) -> usize {
    let Client { session, opening, revision, .. } = client;
    let progress = Progress { opened: Some(revision), ..Progress::default() };
    let ending = if drive.ends_well() { Ending::EndOfInput } else { Ending::Kill };
    drive.push(Run::finish(opening, session, progress, ending).await)
}

/// Whether a response has an id from which it cannot be seen what it responds to, if there are several requests.
fn has_unknown_id(exchange: &Exchange) -> bool {
    let id = exchange.request.get("id").map(ToString::to_string);
    exchange.response.as_ref().is_some_and(|response| {
        let said = response.value.get("id").map(|id| id.as_str().map_or(id.to_string(), str::to_owned));
        response.odd_id && said != id
    })
}
