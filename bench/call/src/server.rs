//! The servers that are called, and what they must answer.

use std::ffi::OsString;

use anyhow::Result;
use clap::ValueEnum;

use crate::Places;

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// `papertape serve grammar`
    Grammar,
    /// bench/peers' echo on rmcp 3.8.0, the Rust SDK
    Rmcp,
    /// An echo on the TypeScript SDK
    Typescript,
    /// An echo on the Python SDK
    Python,
}

/// One call of a tool.
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    /// As both command lines write them.
    pub(crate) arguments: &'static [&'static str],
    pub(crate) answer: &'static str,
}

const ECHO: Call = Call { tool: "echo", arguments: &["text=hello there"], answer: "hello there" };
const CONJUGATE: Call = Call {
    tool: "conjugate",
    arguments: &["verb=eat", "tense=past simple", "person=3rd singular"],
    answer: "ate",
};

impl Server {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Grammar => "papertape serve grammar",
            Self::Rmcp => "rmcp 3.8.0",
            Self::Typescript => "TypeScript SDK 2.4.0",
            Self::Python => "Python SDK 2.3.0",
        }
    }

    pub(crate) fn call(self) -> &'static Call {
        if self == Self::Grammar { &CONJUGATE } else { &ECHO }
    }

    /// The command that starts it.
    pub(crate) fn words(self, places: &Places) -> Result<Vec<OsString>> {
        Ok(match self {
            Self::Grammar => vec![places.papertape.clone().into(), "serve".into(), "grammar".into()],
            Self::Rmcp => vec![places.peer("rmcp-best").into()],
            Self::Typescript => vec![places.tool("node")?.into(), places.tool("echo.mjs")?.into()],
            Self::Python => vec![places.tool("python/bin/python")?.into(), places.tool("echo.py")?.into()],
        })
    }
}
