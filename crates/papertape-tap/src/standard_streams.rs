//! This process's stdin and stdout, out of reach of everything else in it, so that closing one closes it for the peer.

use std::fs::File;
use std::io;

use rustix::stdio;

/// Takes stdin and stdout, and puts `/dev/null` and stderr in their places.
pub(crate) fn take() -> io::Result<(File, File)> {
    let input = rustix::io::fcntl_dupfd_cloexec(stdio::stdin(), 3)?;
    let output = rustix::io::fcntl_dupfd_cloexec(stdio::stdout(), 3)?;
    stdio::dup2_stdin(File::open("/dev/null")?)?;
    stdio::dup2_stdout(stdio::stderr())?;
    Ok((File::from(input), File::from(output)))
}

/// Another file descriptor of stderr.
pub(crate) fn stderr() -> io::Result<File> {
    Ok(File::from(rustix::io::fcntl_dupfd_cloexec(stdio::stderr(), 3)?))
}
