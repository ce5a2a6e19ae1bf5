//! `papertape serve NAME`: a bundled server on stdio.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::Context;
use papertape::{Limits, stdio};
use papertape_servers::Bundled;

use crate::args::Serve;

pub(crate) fn run(args: Serve) -> anyhow::Result<()> {
    let found = papertape_servers::ALL.into_iter().find(|server| server.name == args.server);
    let Bundled { name, make, .. } =
        found.with_context(|| format!("there is no server \"{}\"", args.server))?;
    let limits = Limits { grace: Duration::from_secs_f64(args.grace), ..Limits::default() };
    let mut options = stdio::Options::default();
    options.tape = args.tape;
    options.outlive_parent = args.outlive_parent;
    if std::io::stdin().is_terminal() {
        let hint = "serving on stdin and stdout: type a JSON-RPC message per line, Ctrl-D to end";
        drop(writeln!(std::io::stderr(), "papertape: {name} is {hint}"));
    }
    // Fast handlers run on the wire's own thread; these are for the slow ones.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(stdio::serve_with(make().limits(limits), options));
    // A blocking tool that has outlived the grace period must not keep the process.
    runtime.shutdown_background();
    result.with_context(|| format!("cannot serve {name}"))
}
