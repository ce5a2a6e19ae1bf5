//! `papertape`: serves the bundled MCP servers, calls any MCP server, records frames, and indexes Markdown.

mod args;
mod arguments;
mod command;
mod connect;
mod credentials;
mod elicitation;
mod env_file;
mod exact_json;
mod exit;
mod http_refusal;
mod index_progress;
mod log;
mod output_dir;
mod print;
mod progress_line;
mod runtime;
mod schema;
mod servers_file;
mod signals;
mod sync;
mod target;

use std::process::ExitCode;

use args::{Command, Output};

fn main() -> ExitCode {
    let args = match args::Args::from_command_line() {
        Ok(args) => args,
        Err(failure) => return exit::code(Err(failure), Output::Json),
    };
    if let Err(failure) = log::start(&args.log) {
        return exit::code(Err(failure.into()), Output::Text);
    }
    let output = match &args.command {
        Command::List(list) => list.connect.output,
        Command::Call(call) => call.connect.output,
        Command::Read(read) => read.connect.output,
        Command::Prompt(prompt) => prompt.connect.output,
        Command::Index(index) => index.output,
        Command::Demo(_)
        | Command::Login(_)
        | Command::Logout(_)
        | Command::Serve(_)
        | Command::Key(_)
        | Command::Completions(_) => Output::Text,
    };
    let result = match args.command {
        Command::Demo(demo) => command::demo::run(&demo),
        Command::List(list) => command::list::run(list),
        Command::Call(call) => command::call::run(call),
        Command::Read(read) => command::read::run(read),
        Command::Prompt(prompt) => command::prompt::run(prompt),
        Command::Login(login) => command::login::run(login),
        Command::Logout(logout) => command::logout::run(&logout),
        Command::Serve(serve) => command::serve::run(serve),
        Command::Index(index) => command::index::run(&index),
        Command::Key(key) => command::key::run(&key),
        Command::Completions(completions) => command::completions::run(&completions),
    };
    log::flush();
    exit::code(result, output)
}
