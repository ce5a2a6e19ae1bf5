//! This process's stdin and stdout as asynchronous streams, out of reach of everything else in the process.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::net::AddressFamily;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream, unix::pipe};

use crate::transport::thread;

/// Moves stdin and stdout to new file descriptors, and puts `/dev/null` and stderr in their places.
pub(super) fn claim() -> io::Result<(OwnedFd, OwnedFd)> {
    let input = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let output = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    // Text that was printed before now without a line end must not appear between messages later.
    drop(io::stdout().flush());
    Ok((input, output))
}

/// A readable stream for any kind of file descriptor, without changing flags that other processes share.
///
/// Pipes are reopened, which gives them flags of their own; a socket is not shared.
/// Anything else (a terminal, a file) is read by blocking on a thread.
pub(super) fn open_input(fd: OwnedFd) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    if is_pipe(&fd)
        && let Ok(pipe) = pipe::OpenOptions::new().open_receiver(own_path(&fd))
    {
        return Ok(Box::new(pipe));
    }
    Ok(match socket_family(&fd) {
        Some(AddressFamily::UNIX) => Box::new(open_unix_socket(fd)?),
        Some(AddressFamily::INET | AddressFamily::INET6) => Box::new(open_tcp_socket(fd)?),
        _ => Box::new(open_file(fd, OpenOptions::new().read(true))?),
    })
}

/// A writable stream, likewise.
pub(super) fn open_output(fd: OwnedFd) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
    if is_pipe(&fd)
        && let Ok(pipe) = pipe::OpenOptions::new().open_sender(own_path(&fd))
    {
        return Ok(Box::new(pipe));
    }
    Ok(match socket_family(&fd) {
        Some(AddressFamily::UNIX) => Box::new(open_unix_socket(fd)?),
        Some(AddressFamily::INET | AddressFamily::INET6) => Box::new(open_tcp_socket(fd)?),
        _ => Box::new(open_file(fd, OpenOptions::new().write(true))?),
    })
}

fn own_path(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

fn open_unix_socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(fd);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

fn open_tcp_socket(fd: OwnedFd) -> io::Result<TcpStream> {
    let socket = std::net::TcpStream::from(fd);
    socket.set_nonblocking(true)?;
    TcpStream::from_std(socket)
}

/// A file for blocking reads or writes. One that another process has set to `O_NONBLOCK`, as some do with terminals, is
/// reopened.
fn open_file(fd: OwnedFd, options: &OpenOptions) -> io::Result<tokio::fs::File> {
    // tokio reads and writes files on a thread, and panics if it cannot start one.
    drop(thread::spawn("file", || {})?.join());
    let blocks = rustix::fs::fcntl_getfl(&fd).is_ok_and(|flags| !flags.contains(OFlags::NONBLOCK));
    let reopened = if blocks { None } else { options.open(own_path(&fd)).ok() };
    Ok(tokio::fs::File::from_std(reopened.unwrap_or_else(|| File::from(fd))))
}

fn socket_family(fd: &OwnedFd) -> Option<AddressFamily> {
    rustix::net::getsockname(fd).ok().map(|name| name.address_family())
}

/// Whether a file descriptor is an anonymous pipe. (A named one that is reopened does not report the end of its last
/// writer.)
fn is_pipe(fd: &OwnedFd) -> bool {
    std::fs::read_link(own_path(fd)).is_ok_and(|target| target.to_string_lossy().starts_with("pipe:"))
}
