//! What the blog server finds in a directory of Markdown (`search`), and how fast it finds it (`scale`).

mod process;
mod random;
mod scale;
mod search;

use std::io::Write;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// What the blog server finds, and how fast
#[derive(Debug, Parser)]
#[command(name = "bench")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// How often search finds what was meant in a directory of Markdown: queries are made of its own links and headings
    Search(search::Search),
    /// How fast it is with 1,000 to 1,000,000 made-up chunks, beside others
    Scale(scale::Scale),
    /// One measurement of `scale`
    #[command(hide = true)]
    Step {
        step: scale::Step,
        #[command(flatten)]
        setting: scale::StepSetting,
    },
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut say = |text: &str| -> Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    };
    match Arguments::parse().command {
        Command::Search(search) => search::run(&search, &mut say).await,
        Command::Scale(scale) => scale::run(&scale, &mut say),
        Command::Step { step, setting } => scale::step(step, &setting).await,
    }
}
