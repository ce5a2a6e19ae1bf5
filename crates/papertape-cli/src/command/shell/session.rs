//! The session of the shell, and what its commands do in it.

use std::sync::Arc;

use papertape::Client;
use papertape::client::ErrorKind;
use papertape::guess;
use papertape::protocol::Reference;
use serde_json::json;

use super::completer::Known;
use super::instruction::{self, Instruction};
use super::subscriptions::Subscriptions;
use crate::args::Output;
use crate::command::call::{call, unknown};
use crate::command::list::list;
use crate::command::{prompt, read, request};
use crate::completion::server_values::known_arguments;
use crate::connect::Connection;
use crate::exit::{self, Failure};
use crate::print::text::{counted, one_line};
use crate::print::{self, Look, Printing, listing, style};
use crate::server_log;

/// How long a call that has become a task is waited for, in seconds: Ctrl-C ends it earlier.
const TASK_TIMEOUT: f64 = 3600.0;

/// An open session.
pub(super) struct Session<'a> {
    connection: &'a Connection<'a>,
    printing: Printing<'a>,
    client: Client,
    subscriptions: Subscriptions,
    known: Arc<Known>,
}

impl<'a> Session<'a> {
    pub(super) async fn open(
        connection: &'a Connection<'a>,
        printing: Printing<'a>,
        known: Arc<Known>,
    ) -> Result<Self, Failure> {
        let client = connection.open().await.map_err(|failure| connection.explained(failure))?;
        let mut session =
            Self { connection, printing, client, subscriptions: Subscriptions::default(), known };
        session.begin();
        connection.warn_of_stray_output(&session.client);
        Ok(session)
    }

    /// What each session begins with.
    fn begin(&mut self) {
        self.known.set_client(Some(self.client.clone()));
        self.subscriptions = Subscriptions::default();
        self.subscriptions.follow_lists(&self.client, Arc::clone(&self.known));
    }

    /// Ends the session, and waits for the server process to exit.
    pub(super) async fn close(self) {
        self.known.set_client(None);
        drop(self.subscriptions);
        self.client.close().await;
    }

    /// Who the server is, and where to find help.
    pub(super) fn greeting(&self) -> String {
        let look = Look::of_stderr();
        let server = self.client.server();
        let name = one_line(&format!("{} {}", server.name, server.version));
        let name = if name.is_empty() { one_line(&self.connection.target.to_string()) } else { name };
        let hint = format!("revision {}; help lists the commands, Ctrl-D exits", self.client.revision());
        format!("{} {}\n", look.paint(style::HEADING, &name), look.paint(style::DIM, &format!("({hint})")))
    }

    /// The target as the user typed it, as far as it fits.
    pub(super) fn prompt(&self) -> String {
        const WIDEST: usize = 30;
        let target = one_line(&self.connection.target.to_string());
        match target.chars().count() {
            0..=WIDEST => format!("{target}> "),
            _ => format!("{}..> ", target.chars().take(WIDEST).collect::<String>()),
        }
    }

    /// Prints a failure, and what to do if the session is over.
    pub(super) fn show(&self, failure: &Failure, line: Option<usize>) {
        exit::show_at(failure, line, self.printing.output);
        if let Failure::Server { error, .. } = failure
            && matches!(error.kind(), ErrorKind::Closed)
        {
            exit::note("the session is over: `reconnect` opens another one");
        }
    }

    pub(super) async fn execute(&mut self, instruction: Instruction) -> Result<(), Failure> {
        // What the server wrote during earlier commands is not about this one.
        self.client.forget_stderr();
        let result = self.carry_out(instruction).await;
        self.connection.warn_of_stray_output(&self.client);
        result.map_err(|failure| self.connection.explained(failure))
    }

    async fn carry_out(&mut self, instruction: Instruction) -> Result<(), Failure> {
        match instruction {
            Instruction::List => list(&self.client, self.printing.output).await,
            Instruction::Call { tool, arguments } => self.call(&tool, &arguments).await,
            Instruction::Read(uri) => read::read(&self.client, &uri, self.printing).await,
            Instruction::Prompt { name, arguments } => {
                prompt::get(&self.client, &name, &arguments, self.printing).await
            }
            Instruction::Request { method, params } => {
                request::request(&self.client, &method, (&params, None), self.printing).await
            }
            Instruction::Complete { of, argument, value, known } => {
                self.complete(of, &argument, &value, &known).await
            }
            Instruction::Subscribe(Some(uri)) => self.subscribe(&uri).await,
            Instruction::Subscribe(None) => {
                let uris: Vec<&str> = self.subscriptions.uris().collect();
                let text = uris.iter().map(|uri| format!("{}\n", one_line(uri))).collect::<String>();
                self.print(&text, &json!({"subscriptions": uris}))
            }
            Instruction::Unsubscribe(uri) => match self.subscriptions.remove(&uri) {
                true => self.print("", &json!({"unsubscribed": uri})),
                false => Err(Failure::usage(format!(
                    "there is no subscription to {uri}: `subscribe` lists the subscriptions"
                ))),
            },
            Instruction::LogLevel(level) => self.set_log_level(&level).await,
            Instruction::Ping => {
                self.client.ping().await?;
                self.print("the server responds\n", &json!({}))
            }
            Instruction::Reconnect => self.reconnect().await,
            Instruction::Help(None) => {
                let help = instruction::help();
                self.print(&help, &json!({"help": help}))
            }
            Instruction::Help(Some(tool)) => self.describe(&tool).await,
            Instruction::Exit => Ok(()),
        }
    }

    async fn call(&self, tool: &str, arguments: &[String]) -> Result<(), Failure> {
        let result = call(&self.client, tool, (arguments, None), TASK_TIMEOUT, self.printing).await;
        match result {
            // The first word of a line may have been meant as a command.
            Err(Failure::Usage(problem)) if problem.starts_with("there is no tool") => {
                Err(Failure::Usage(problem + &instruction::hint(tool)))
            }
            result => result,
        }
    }

    async fn complete(
        &self,
        of: String,
        argument: &str,
        value: &str,
        known: &[String],
    ) -> Result<(), Failure> {
        let reference =
            if of.contains('{') { Reference::Resource { uri: of } } else { Reference::Prompt { name: of } };
        let completion = self.client.complete(reference, argument, value, known_arguments(known)).await?;
        let mut text: String =
            completion.values.iter().map(|value| format!("{}\n", one_line(value))).collect();
        if completion.has_more {
            text += &completion
                .total
                .map_or("..\n".to_owned(), |total| format!("of {}\n", counted(total, "value")));
        }
        self.print(&text, &json!({"completion": completion}))
    }

    async fn subscribe(&mut self, uri: &str) -> Result<(), Failure> {
        let declared = &self.client.capabilities().resources;
        if !declared.as_ref().is_some_and(|resources| resources.subscribe) {
            exit::note("warning: the server does not declare that it announces changes of resources");
        }
        self.subscriptions.add(&self.client, uri).await?;
        self.print("", &json!({"subscribed": uri}))
    }

    async fn set_log_level(&self, name: &str) -> Result<(), Failure> {
        let level = server_log::parse(name).ok_or_else(|| {
            let names = server_log::names();
            let meant = guess::hint(name, names.iter().map(String::as_str));
            Failure::usage(format!(
                "there is no log level \"{name}\"{meant}\n  the levels: {}",
                names.join(", ")
            ))
        })?;
        self.client.set_log_level(level).await?;
        self.connection.server_log.request(level);
        self.print("", &json!({"logLevel": level}))
    }

    async fn reconnect(&mut self) -> Result<(), Failure> {
        let uris: Vec<String> = self.subscriptions.uris().map(str::to_owned).collect();
        self.client = self.connection.open().await?;
        // The old session ends in the background, as its last client is dropped.
        self.begin();
        for uri in uris {
            self.subscriptions.add(&self.client, &uri).await?;
        }
        print::err(&self.greeting());
        self.print("", &json!({"reconnected": self.client.revision().as_str()}))
    }

    async fn describe(&self, tool: &str) -> Result<(), Failure> {
        let tools = self.client.tools().await?;
        let Some(found) = tools.iter().find(|listed| listed.item.name == tool) else {
            let names = tools.iter().map(|listed| listed.item.name.as_str());
            return Err(unknown("tool", tool, names));
        };
        self.print(&listing::tool(Look::of_stdout(), &found.item), &json!({"tool": found.item}))
    }

    /// Prints the result of a command that has no content.
    fn print(&self, text: &str, document: &serde_json::Value) -> Result<(), Failure> {
        match self.printing.output {
            Output::Text => print::out(text)?,
            Output::Json => print::document(document)?,
        }
        Ok(())
    }
}
