//! `papertape tape check`: what a recording proves about its server.

use crate::args::CheckTape;
use crate::exit::Failure;

pub(crate) fn run(_: &CheckTape) -> Result<(), Failure> {
    Err(Failure::usage("not yet"))
}
