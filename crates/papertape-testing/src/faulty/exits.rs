//! Servers that exit early, do not exit, or leave child processes behind.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{self, Command};
use std::thread;

use crate::faulty::Mode;
use crate::faulty::server::{Revisions, Server};

pub(crate) const MODES: &[Mode] = &[
    Mode::new(
        "C-03",
        "exits [CODE=1] [TEXT] [BYTES=0]",
        "exits at once with a text on stderr, after so many bytes of other lines",
        |server| exit(server, 1),
    ),
    Mode::new(
        "C-04",
        "exits-in-call [CODE=3] [TEXT] [BYTES=0]",
        "the same, but in the tool `fault`, which is not answered",
        |server| server.at_fault(|server, _| exit(server, 3)),
    ),
    Mode::new(
        "C-05",
        "closes-output",
        "closes stdout in the tool `fault`, and lives on until the end of input",
        |server| {
            server.at_fault(|server, _| {
                let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
                rustix::stdio::dup2_stdout(&nowhere)?;
                server.output = nowhere;
                Ok(())
            })
        },
    ),
    Mode::new(
        "C-07",
        "noisy-start [BYTES=1000000]",
        "writes lines on stderr before it reads anything",
        |server| {
            chatter(server.argument(0, 1_000_000))?;
            server.serve(Server::usual)
        },
    ),
    Mode::new(
        "C-08",
        "noisy-call [BYTES=8000000]",
        "writes one endless line on stderr before the response to `fault`",
        |server| {
            server.at_fault(|server, message| {
                io::stderr().write_all(&vec![b'e'; server.argument(0, 8_000_000)])?;
                server.say(message, "said on stderr")
            })
        },
    ),
    Mode::new("C-10", "ignores-end", "ignores the end of input", |server| {
        server.serve(Server::usual)?;
        forever()
    }),
    Mode::new("C-11", "ignores-term", "ignores the end of input and SIGTERM", ignores_term),
    Mode::new(
        "C-12",
        "grandchild [WHEN=at-end] [apart]",
        "starts `sleep 3600` on its pipes, and ends `at-end` of input, `never`, `in-call` or `at-once`; \
         `apart`: in a process group of its own",
        grandchild,
    ),
    Mode::new("C-26", "deaf", "stops reading in the tool `fault`, which it answers", |server| {
        server.at_fault(|server, message| {
            server.say(message, "reading no more")?;
            forever()
        })
    }),
    Mode::new(
        "C-26",
        "closes-input",
        "closes stdin in the tool `fault`, which it answers, and lives on",
        |server| {
            server.at_fault(|server, message| {
                let nothing = OpenOptions::new().read(true).open("/dev/null")?;
                rustix::stdio::dup2_stdin(&nothing)?;
                server.input = io::BufReader::new(nothing);
                server.say(message, "reading no more")?;
                forever()
            })
        },
    ),
];

fn forever() -> ! {
    loop {
        thread::park();
    }
}

/// So many bytes of lines on stderr.
fn chatter(bytes: usize) -> io::Result<()> {
    let line = b"a line of no importance on standard error: all is well, nothing happens\n";
    io::stderr().write_all(&line.iter().copied().cycle().take(bytes).collect::<Vec<u8>>())
}

fn exit(server: &Server, code: i32) -> ! {
    let text = server.argument(1, "fatal: no configuration found".to_owned());
    // The client may have gone.
    drop(chatter(server.argument(2, 0)).and_then(|()| writeln!(io::stderr(), "{text}")));
    process::exit(server.argument(0, code))
}

/// Signals cannot be ignored without `unsafe`, but a shell can do it, and what is ignored stays so across `exec`.
fn ignores_term(server: &mut Server) -> io::Result<()> {
    const READY: &str = "term-is-ignored";
    if !server.has(READY) {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' TERM; exec \"$0\" \"$@\""]).arg(env::current_exe()?);
        let option: &[&str] = match server.revisions {
            Revisions::All => &[],
            Revisions::SessionBased => &["--legacy"],
            Revisions::Stateless => &["--modern"],
        };
        // Its process id has been written, and stays the same.
        return Err(command.args(option).args([&server.mode, READY]).exec());
    }
    server.serve(Server::usual)?;
    forever()
}

fn grandchild(server: &mut Server) -> io::Result<()> {
    let mut sleep = Command::new("sleep");
    sleep.arg("3600");
    if server.has("apart") {
        sleep.process_group(0);
    }
    server.note_pid(sleep.spawn()?.id())?;
    if server.has("at-once") {
        process::exit(1);
    }
    if server.has("in-call") {
        return server.at_fault(|_, _| process::exit(3));
    }
    server.serve(Server::usual)?;
    if server.has("never") { forever() } else { Ok(()) }
}
