//! `papertape`: serves the bundled MCP servers, calls any MCP server, records frames, and indexes Markdown.

mod args;
mod arguments;
mod command;
mod completion;
mod connect;
mod credentials;
mod directories;
mod elicitation;
mod env_file;
mod exact_json;
mod exit;
mod host_file;
mod http_refusal;
mod index_progress;
mod log;
mod output_dir;
mod print;
mod progress_line;
mod runtime;
mod schema;
mod server_inputs;
mod server_log;
mod servers_file;
mod signals;
mod sync;
mod target;
#[cfg(feature = "otel")]
mod telemetry;
#[cfg(not(feature = "otel"))]
#[path = "telemetry_off.rs"]
mod telemetry;
mod terminal_mode;

use std::process::ExitCode;

use args::{Command, Output};
use telemetry::Telemetry;

fn main() -> ExitCode {
    let args = match args::Args::from_command_line() {
        Ok(args) => args,
        Err(failure) => return exit::code(Err(failure), Output::Json),
    };
    let telemetry = match Telemetry::start(&args) {
        Ok(telemetry) => telemetry,
        Err(failure) => return exit::code(Err(failure), Output::Text),
    };
    if let Err(failure) = log::start(&args.log, &telemetry) {
        return exit::code(Err(failure.into()), Output::Text);
    }
    let output = match &args.command {
        Command::List(list) => list.connect.output,
        Command::Call(call) => call.connect.output,
        Command::Read(read) => read.connect.output,
        Command::Prompt(prompt) => prompt.connect.output,
        Command::Request(request) => request.connect.output,
        Command::Shell(shell) => shell.connect.output,
        Command::Task(task) => task.output(),
        Command::Search(search) => search.output,
        Command::Index(index) => index.output,
        Command::Check(check) => check.output.of_errors(),
        Command::Install(install) => install.file.output,
        Command::Uninstall(uninstall) => uninstall.file.output,
        Command::Hosts(hosts) => hosts.output,
        Command::New(new) => new.output,
        Command::Replay(replay) => replay.output_of_errors(),
        Command::Tape(tape) => tape.command.output(),
        Command::Bridge(_)
        | Command::Page(_)
        | Command::Demo(_)
        | Command::Login(_)
        | Command::Logout(_)
        | Command::Serve(_)
        | Command::Tap(_)
        | Command::Key(_)
        | Command::Completions(_)
        | Command::Complete(_) => Output::Text,
    };
    let result = telemetry.within(args.command, |command| match command {
        Command::Demo(demo) => command::demo::run(&demo),
        Command::List(list) => command::list::run(list),
        Command::Call(call) => command::call::run(call),
        Command::Read(read) => command::read::run(read),
        Command::Prompt(prompt) => command::prompt::run(prompt),
        Command::Request(request) => command::request::run(request),
        Command::Shell(shell) => command::shell::run(&shell),
        Command::Task(task) => command::task::run(task),
        Command::Check(check) => command::check::run(check),
        Command::Login(login) => command::login::run(login),
        Command::Logout(logout) => command::logout::run(&logout),
        Command::Serve(serve) => command::serve::run(serve),
        Command::Bridge(bridge) => command::bridge::run(&bridge),
        Command::Tap(tap) => command::tap::run(&tap),
        Command::Replay(replay) => command::replay::run(&replay),
        Command::Page(page) => command::page::run(&page),
        Command::Tape(tape) => command::tape::run(tape.command),
        Command::Search(search) => command::search::run(&search),
        Command::Index(index) => command::index::run(&index),
        Command::Key(key) => command::key::run(&key),
        Command::Install(install) => command::install::run(&install),
        Command::Uninstall(uninstall) => command::uninstall::run(&uninstall),
        Command::Hosts(hosts) => command::hosts::run(&hosts),
        Command::New(new) => command::new::run(&new),
        Command::Completions(completions) => command::completions::run(&completions),
        Command::Complete(complete) => command::complete::run(complete),
    });
    telemetry.end();
    log::flush();
    exit::code(result, output)
}
