//! Servers that open a session incorrectly, or in an unusual way.

use std::io;
use std::process;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::faulty::Mode;
use crate::faulty::message::{Message, without};
use crate::faulty::server::{LEGACY, MODERN, Revisions, Server};

pub(crate) const MODES: &[Mode] = &[
    Mode::new("C-06", "well-behaved", "does nothing wrong; but see its tool `hang`", |server| {
        server.serve(Server::usual)
    }),
    Mode::new(
        "C-01",
        "banner",
        "prints a banner, ANSI escapes and invalid UTF-8 before its first response",
        |server| {
            server.write(
                b"\x1b[2J\x1b[1;32mWelcome to the server!\x1b[0m\r\n\xff\xfe caf\xe9 \x80\n\n[info] ready\n",
            )?;
            server.serve(Server::usual)
        },
    ),
    Mode::new("C-15", "never-opens", "responds to neither server/discover nor initialize", |server| {
        server.serve(|server, message| match message.method() {
            "server/discover" | "initialize" => Ok(()),
            _ => server.usual(message),
        })
    }),
    Mode::new("C-16", "probe-silent", "never responds to server/discover, only initialize", |server| {
        at_probe(server, Revisions::SessionBased, |_, _| Ok(()))
    }),
    Mode::new(
        "C-16",
        "probe-late",
        "responds to server/discover after initialize was received, both correctly",
        |server| late(server, Revisions::All),
    ),
    Mode::new(
        "C-16",
        "probe-out-of-order",
        "the same, but responds to initialize first, both in one write",
        |server| {
            server.revisions = Revisions::All;
            let mut probe = None;
            server.serve(|server, message| match (message.method(), &probe) {
                ("server/discover", None) => {
                    probe = Some(message.clone());
                    Ok(())
                }
                ("initialize", Some(probe)) => {
                    server.held = Some(Vec::new());
                    server.usual(message)?;
                    server.usual(probe)?;
                    let both = server.held.take().unwrap_or_default();
                    server.write(&both)
                }
                _ => server.usual(message),
            })
        },
    ),
    Mode::new(
        "C-16",
        "probe-too-late",
        "responds correctly to server/discover after the handshake",
        |server| {
            let mut probe = None;
            server.serve(|server, message| match (message.method(), &probe) {
                ("server/discover", None) => {
                    probe = Some(message.clone());
                    Ok(())
                }
                ("notifications/initialized", Some(probe)) => server.usual(probe),
                _ => server.usual(message),
            })
        },
    ),
    Mode::new(
        "C-16",
        "probe-breaks",
        "a legacy server that never responds to server/discover, and then refuses initialize",
        |server| {
            let mut broken = false;
            server.revisions = Revisions::SessionBased;
            server.serve(|server, message| match message.method() {
                "server/discover" => {
                    broken = true;
                    Ok(())
                }
                "initialize" if broken => {
                    server.refuse(message, -32000, "the transport has been started already", Value::Null)
                }
                _ => server.usual(message),
            })
        },
    ),
    Mode::new("C-16", "reads-late [MS=1000]", "reads nothing for so long, and serves well then", |server| {
        thread::sleep(Duration::from_millis(server.argument(0, 1000)));
        server.serve(Server::usual)
    }),
    Mode::new("C-15", "never-reads", "reads nothing at all, until it is killed", |_| {
        loop {
            thread::park();
        }
    }),
    Mode::new("C-16", "slow-start", "as probe-late, but knows nothing but 2026-07-28", |server| {
        late(server, Revisions::Stateless)
    }),
    Mode::new(
        "C-16",
        "probe-error [CODE=-32601]",
        "a legacy server that has an error for server/discover",
        |server| {
            at_probe(server, Revisions::SessionBased, |server, probe| {
                server.refuse(probe, server.argument(0, -32601), "what is that?", Value::Null)
            })
        },
    ),
    Mode::new(
        "C-16",
        "probe-garbage",
        "a legacy server that responds to server/discover with a line of text",
        |server| {
            at_probe(server, Revisions::SessionBased, |server, _| {
                server.write(b"Error: unknown method server/discover\n")
            })
        },
    ),
    Mode::new(
        "C-16",
        "probe-empty",
        "a legacy server that responds to anything unknown with an empty result",
        |server| at_probe(server, Revisions::SessionBased, |server, probe| server.answer(probe, json!({}))),
    ),
    Mode::new(
        "C-16",
        "probe-legacy-versions",
        "responds to server/discover, but supports legacy versions only",
        |server| {
            at_probe(server, Revisions::SessionBased, |server, probe| {
                let result = json!({"resultType": "complete", "supportedVersions": LEGACY, "capabilities": {"tools": {}},
                "ttlMs": 0, "cacheScope": "private"});
                server.answer(probe, result)
            })
        },
    ),
    Mode::new(
        "C-16",
        "probe-unsupported [VERSION=2099-01-01]",
        "responds to server/discover with -32022; it is known to be modern then, and initialize is odd",
        probe_unsupported,
    ),
    Mode::new(
        "C-16",
        "probe-exits [CODE=1]",
        "exits at server/discover, serves well if it sees initialize first",
        |server| at_probe(server, Revisions::SessionBased, |server, _| process::exit(server.argument(0, 1))),
    ),
    Mode::new(
        "",
        "initialize-version [VERSION=1999-01-01]",
        "a legacy server that insists on this version",
        |server| {
            let version = server.argument(0, "1999-01-01".to_owned());
            at_initialize(server, |_, mut result| {
                result["protocolVersion"] = json!(version);
                result
            })
        },
    ),
    Mode::new(
        "",
        "initialize-without [MEMBER=protocolVersion]",
        "a legacy server whose response lacks a member",
        |server| {
            at_initialize(server, |server, result| {
                without(result, &server.argument(0, "protocolVersion".to_owned()))
            })
        },
    ),
    Mode::new("", "initialize-error", "a legacy server that refuses initialize", |server| {
        server.revisions = Revisions::SessionBased;
        server.serve(|server, message| match message.method() {
            "initialize" => server.refuse(message, -32603, "the licence has expired", Value::Null),
            _ => server.usual(message),
        })
    }),
];

/// Serves as usual, but for `server/discover`.
fn at_probe(
    server: &mut Server,
    revisions: Revisions,
    mut answer: impl FnMut(&mut Server, &Message) -> io::Result<()>,
) -> io::Result<()> {
    server.revisions = revisions;
    server.serve(|server, message| match message.method() {
        "server/discover" => answer(server, message),
        _ => server.usual(message),
    })
}

/// Serves as usual, but answers `server/discover` only when `initialize` has come.
fn late(server: &mut Server, revisions: Revisions) -> io::Result<()> {
    server.revisions = revisions;
    let (mut probes, mut awake) = (Vec::new(), false);
    server.serve(|server, message| {
        if message.method() == "initialize" {
            awake = true;
            for probe in probes.drain(..) {
                server.usual(&probe)?;
            }
        } else if message.method() == "server/discover" && !awake {
            probes.push(message.clone());
            return Ok(());
        }
        server.usual(message)
    })
}

fn probe_unsupported(server: &mut Server) -> io::Result<()> {
    let version = server.argument(0, "2099-01-01".to_owned());
    server.revisions = Revisions::Stateless;
    server.serve(|server, message| {
        if message.method() == "initialize" {
            server.judge.garbage(b"initialize", "the server is known to be modern");
        }
        // With an unknown version, nothing else is served either.
        if message.modern && (message.method() == "server/discover" || version != MODERN) {
            let data = json!({"supported": [version], "requested": MODERN});
            return server.refuse(message, -32022, "unsupported protocol version", data);
        }
        server.usual(message)
    })
}

/// Serves as a legacy server does, but for the result of `initialize`.
fn at_initialize(server: &mut Server, mut alter: impl FnMut(&Server, Value) -> Value) -> io::Result<()> {
    server.revisions = Revisions::SessionBased;
    server.serve(|server, message| {
        if message.method() == "initialize" {
            let result = alter(server, server.initialize_result(message));
            return server.answer(message, result);
        }
        server.usual(message)
    })
}
