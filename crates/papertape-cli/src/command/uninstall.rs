//! `papertape uninstall HOST NAME`: a server out of the file of a host, or the recorder off it.

use crate::args::Uninstall;
use crate::exit::Failure;
use crate::host_file::{self, Change};

pub(crate) fn run(args: &Uninstall) -> Result<(), Failure> {
    let host = host_file::host(&args.host)?;
    let file = host_file::read(host, &args.file)?;
    let plan = if args.tap { file.unwrap(&args.name) } else { file.uninstall(&args.name) };
    let plan = plan?;
    Change { host, name: &args.name, options: &args.file, notes: Vec::new() }.carry_out(&file, &plan)
}
