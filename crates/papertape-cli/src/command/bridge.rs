//! `papertape bridge`: a server for a host of another revision, framing or transport.

use anyhow::Context;
use papertape::stdio;
use papertape_bridge::{BridgeError, Filter};

use crate::args::Bridge;
use crate::connect::{Way, unopened, with_options};
use crate::exit::Failure;
use crate::runtime;
use crate::signals::Signals;
use crate::target::{self, Target};

pub(crate) fn run(args: &Bridge) -> Result<(), Failure> {
    if !args.connect.root.is_empty() {
        return Err(Failure::usage("--root: the roots are those of the host"));
    }
    let words = args.target.iter().cloned().collect();
    let (target, _) = target::split(words, args.connect.command.clone(), &args.connect.from_file)?;
    let runtime = runtime::build(2, 0)?;
    let result = runtime.block_on(serve(args, &target));
    // A thread that waits for stdin must not keep the process.
    runtime.shutdown_background();
    result
}

async fn serve(args: &Bridge, target: &Target) -> Result<(), Failure> {
    let way = Way::new(&args.connect, target)?;
    let connect = args.connect.clone();
    let bridge = papertape_bridge::Bridge::new(move |options| {
        let options = with_options(options, &connect, way.content());
        way.clone().connect(options)
    });
    let bridge = bridge.filter(filter(args));
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let mut number = None;
    let stop = async { number = Some(signals.next().await) };
    let (input, output) = stdio::claim().context("cannot use stdin and stdout")?;
    let served = bridge.serve_until(input, output, stop).await;
    match (served, number) {
        (Ok(()), None) => Ok(()),
        (Ok(()), Some(number)) => Err(Failure::Signal(number)),
        (Err(BridgeError::Server(error)), _) => {
            let failure = unopened(error, || target.hint());
            Err(match target.http_url() {
                Some(url) => failure.at_url(url),
                None => failure,
            })
        }
        (Err(error), _) => Err(Failure::Output(error.to_string())),
    }
}

fn filter(args: &Bridge) -> Filter {
    let filter = Filter::new().only(&args.only).hide(&args.hide);
    if args.read_only { filter.read_only() } else { filter }
}
