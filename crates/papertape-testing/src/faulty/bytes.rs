//! Correct responses in invalid bytes, and too many of them.

use std::io::{self, Read};
use std::process;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::faulty::Mode;
use crate::faulty::message::{Message, text};
use crate::faulty::server::Server;

pub(crate) const MODES: &[Mode] = &[
    Mode::new(
        "C-02",
        "garbage [COUNT=50000]",
        "lines that are not messages before the response to `fault`",
        |server| {
            server.at_fault(|server, message| {
                let count = server.argument(0, 50_000);
                let lines: Vec<u8> = GARBAGE.iter().cycle().take(count).copied().flatten().copied().collect();
                server.write(&lines)?;
                server.say(message, "after the garbage")
            })
        },
    ),
    Mode::new(
        "",
        "header-answers",
        "reads lines or headers, answers with Content-Length headers",
        |server| serve_as(server, headers),
    ),
    Mode::new("", "headers-only", "the same, but does not understand lines", |server| {
        server.encode = headers;
        server.serve(|server, message| if message.headers { server.usual(message) } else { Ok(()) })
    }),
    Mode::new("", "pretty", "every response takes several lines", |server| {
        serve_as(server, |message| format!("{message:#}\n").into_bytes())
    }),
    Mode::new("", "crlf", "lines end in CR LF, with blank lines between them", |server| {
        serve_as(server, |message| format!("{message}\r\n\r\n").into_bytes())
    }),
    Mode::new("", "bom", "every line begins with a byte order mark", |server| {
        serve_as(server, |message| format!("\u{feff}{message}\n").into_bytes())
    }),
    Mode::new("", "utf-16", "writes UTF-16, little end first", |server| {
        server.write(b"\xff\xfe")?;
        serve_as(server, |message| format!("{message}\n").encode_utf16().flat_map(u16::to_le_bytes).collect())
    }),
    Mode::new("", "batched", "every message is an array of one, a batch", |server| {
        serve_as(server, |message| format!("[{message}]\n").into_bytes())
    }),
    Mode::new(
        "",
        "glued [HOW=before]",
        "the response to `fault` shares its line with text `before` or `after` it, or with itself `twice`",
        |server| {
            server.at_fault(|server, message| {
                let answer = server.reply(message, text("glued"));
                let line = match server.argument(0, String::new()).as_str() {
                    "after" => format!("{answer} done in 3 ms\n"),
                    "twice" => format!("{answer}{answer}\n"),
                    _ => format!("Working ... {answer}\n"),
                };
                server.write(line.as_bytes())
            })
        },
    ),
    Mode::new(
        "",
        "unfinished",
        "the response to `fault` has no line end, and is the last: it exits with code 0",
        |server| {
            server.at_fault(|server, message| {
                let answer = server.reply(message, text("unfinished"));
                server.write(answer.to_string().as_bytes())?;
                process::exit(0)
            })
        },
    ),
    Mode::new("", "cut-off", "half of the response to `fault`, then it exits with code 3", |server| {
        server.at_fault(|server, message| {
            let answer = line(&server.reply(message, text("cut off")));
            server.write(answer.get(..answer.len() / 2).unwrap_or_default())?;
            process::exit(3)
        })
    }),
    Mode::new("", "unflushed", "keeps all output in a buffer until the end of input", |server| {
        server.held = Some(Vec::new());
        server.serve(Server::usual)
    }),
    Mode::new("C-25", "dribble [MILLISECONDS=1]", "writes one byte at a time", |server| {
        server.pause = Some(Duration::from_millis(server.argument(0, 1)));
        server.serve(Server::usual)
    }),
    Mode::new(
        "C-23",
        "huge [BYTES=200000000] [id-last]",
        "the response to `fault` is one line of that length",
        |server| {
            server.at_fault(|server, message| {
                let [before, after] =
                    around(server, message, r#""content":[{"type":"text","text":""#, r#""}]"#);
                let (chunk, mut left) = (vec![b'x'; 1 << 16], server.argument(0, 200_000_000_usize));
                server.write(before.as_bytes())?;
                while left > 0 {
                    let now = left.min(chunk.len());
                    server.write(chunk.get(..now).unwrap_or_default())?;
                    left -= now;
                }
                server.write(after.as_bytes())
            })
        },
    ),
    Mode::new(
        "C-23",
        "endless [id-last]",
        "the response to `fault` is a line that never ends, until the input does",
        |server| {
            server.at_fault(|server, message| {
                let [before, _] = around(server, message, r#""content":[{"type":"text","text":""#, "");
                server.write(before.as_bytes())?;
                exit_with_input(server)?;
                loop {
                    server.write(&[b'x'; 1 << 16])?;
                }
            })
        },
    ),
    Mode::new(
        "C-23 S-54",
        "deep [DEPTH=100000] [id-last]",
        "the response to `fault` is so deeply nested",
        |server| {
            server.at_fault(|server, message| {
                let depth = server.argument(0, 100_000_usize);
                let content = r#""content":[],"structuredContent":"#;
                let [before, after] = around(server, message, content, "");
                let deep = format!("{}0{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
                server.write(format!("{before}{deep}{after}").as_bytes())
            })
        },
    ),
];

/// Lines that are not messages; those that look like one have an id that no request used.
const GARBAGE: &[&[u8]] = &[
    b"2026-08-23T10:00:00Z INFO handling request\n",
    b"{\"level\":\"info\",\"msg\":\"handling request\"}\n",
    b"\n",
    b"\x1b[33mwarning\x1b[0m: \xff\xfe\x80\n",
    b"[]\n",
    b"42\n",
    b"null\n",
    b"\"text\"\n",
    b"{\"jsonrpc\":\"2.0\"\n",
    b"{\"jsonrpc\":\"2.0\"}\n",
    b"{\"jsonrpc\":\"2.0\",\"method\":5}\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":987654321}\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}\n",
    b"{\"jsonrpc\":\"1.0\",\"id\":987654321,\"method\":\"ping\"}\n",
    b"{\"id\":987654321,\"method\":\"ping\"}\n",
    b"[{\"level\":\"info\"}]\n",
];

/// One message per line, as it should be.
pub(crate) fn line(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

fn headers(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn serve_as(server: &mut Server, encode: fn(&Value) -> Vec<u8>) -> io::Result<()> {
    server.encode = encode;
    server.serve(Server::usual)
}

/// The text before and after the content of a result that is too long or too deep for a `Value`.
fn around(server: &Server, message: &Message, before: &str, after: &str) -> [String; 2] {
    let kind = if message.modern { r#""resultType":"complete","# } else { "" };
    let id = message.id();
    if server.has("id-last") {
        [format!(r#"{{"result":{{{kind}{before}"#), format!("{after}}},\"id\":{id},\"jsonrpc\":\"2.0\"}}\n")]
    } else {
        [format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{kind}{before}"#), format!("{after}}}}}\n")]
    }
}

/// Reads on in a thread, and exits at the end of input.
fn exit_with_input(server: &Server) -> io::Result<()> {
    let mut input = server.input.get_ref().try_clone()?;
    thread::spawn(move || {
        let mut chunk = [0; 4096];
        while input.read(&mut chunk).is_ok_and(|count| count > 0) {}
        process::exit(0)
    });
    Ok(())
}
