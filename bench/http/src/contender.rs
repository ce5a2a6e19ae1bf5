//! Who takes part, and the commands that start them.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::load::Dialect;

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    /// `papertape serve text --http`, revision 2026-07-28
    Papertape,
    /// The same in a session of 2025-11-25
    PapertapeSession,
    /// rmcp 3.8.0 without sessions and with JSON answers, revision 2026-07-28
    RmcpStateless,
    /// rmcp 3.8.0 as it is by default, in a session of 2025-11-25
    RmcpSession,
    /// TypeScript SDK 2.x on `node:http`, revision 2026-07-28
    Typescript,
    /// Python SDK 2.x on uvicorn, revision 2026-07-28
    Python,
    /// hyper alone: reads the request, answers with as many bytes as papertape
    HyperHello,
}

impl Contender {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Papertape => "papertape",
            Self::PapertapeSession => "papertape-session",
            Self::RmcpStateless => "rmcp-stateless",
            Self::RmcpSession => "rmcp-session",
            Self::Typescript => "typescript",
            Self::Python => "python",
            Self::HyperHello => "hyper-hello",
        }
    }

    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Self::PapertapeSession | Self::RmcpSession => Dialect::Session,
            Self::HyperHello => Dialect::Hello,
            _ => Dialect::Modern,
        }
    }

    pub(crate) fn is_foreign(self) -> bool {
        matches!(self, Self::Typescript | Self::Python)
    }
}

/// Where the programs are.
pub(crate) struct Programs {
    papertape: PathBuf,
    beside: PathBuf,
    foreign: HashMap<String, Vec<String>>,
}

impl Programs {
    /// Finds all that these need. The peers' binaries lie beside this one, in the shared target directory.
    pub(crate) fn find(papertape: Option<PathBuf>, contenders: &[Contender]) -> Result<Self> {
        let beside = std::env::current_exe()?.parent().context("no parent directory")?.to_owned();
        let papertape = papertape.unwrap_or_else(|| beside.join("papertape"));
        let root = "`cargo build --profile dist` in the root workspace";
        ensure!(papertape.is_file(), "no papertape at {}; {root} builds it", papertape.display());
        for name in ["rmcp-http", "hyper-hello"] {
            let here = "`cargo build --profile dist -p peers` in bench/";
            ensure!(beside.join(name).is_file(), "no {name} in {}; {here} builds it", beside.display());
        }
        let foreign = if contenders.iter().any(|it| it.is_foreign()) { sdks()? } else { HashMap::new() };
        Ok(Self { papertape, beside, foreign })
    }

    /// The command that starts a server.
    pub(crate) fn command(&self, contender: Contender, hello: usize) -> Command {
        let peer = |name: &str, argument: &str| {
            let mut command = Command::new(self.beside.join(name));
            command.arg(argument);
            command
        };
        match contender {
            Contender::Papertape | Contender::PapertapeSession => {
                let mut command = Command::new(&self.papertape);
                command.args(["serve", "text", "--http", "127.0.0.1:0"]);
                command
            }
            Contender::RmcpStateless => peer("rmcp-http", "stateless"),
            Contender::RmcpSession => peer("rmcp-http", "session"),
            Contender::HyperHello => peer("hyper-hello", &hello.to_string()),
            Contender::Typescript | Contender::Python => {
                let words = self.foreign.get(contender.name()).map(Vec::as_slice).unwrap_or_default();
                let (program, arguments) = words.split_first().map_or(("", words), |(p, a)| (p.as_str(), a));
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
        }
    }
}

/// The servers on the other SDKs, installed if they are not there.
fn sdks() -> Result<HashMap<String, Vec<String>>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("sdks");
    let said = Command::new(&script).stderr(Stdio::inherit()).output().context("bench/http/sdks")?;
    ensure!(said.status.success(), "bench/http/sdks failed; --no-sdks leaves these servers out");
    Ok(serde_json::from_slice(&said.stdout)?)
}
