//! Invalid responses to calls: a wrong id, shape, count, order or time.

use std::io::{self, Write};
use std::mem;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::faulty::Mode;
use crate::faulty::bytes;
use crate::faulty::message::{Message, notification, text, with, without};
use crate::faulty::server::{Server, tool};

pub(crate) const MODES: &[Mode] = &[
    Mode::new("C-17", "wrong-id", "responds with an id that no request used", |server| {
        altered(server, |answer| with(answer, "id", 987_654_321))
    }),
    Mode::new("C-18", "string-id", "responds with the id as a string", |server| {
        altered(server, |answer| {
            let id = answer["id"].to_string();
            with(answer, "id", id)
        })
    }),
    Mode::new("C-18", "fraction-id", "responds with the id as a fraction, 1.0 for 1", |server| {
        altered(server, |answer| {
            let id = answer["id"].as_f64();
            with(answer, "id", id)
        })
    }),
    Mode::new("C-19", "twice", "responds twice, the second time with another text", |server| {
        server.at_fault(|server, message| {
            server.say(message, "first")?;
            server.say(message, "second")
        })
    }),
    Mode::new(
        "C-20",
        "shuffled [COUNT=1000]",
        "keeps so many calls, then responds to all, shuffled, each with its text",
        shuffled,
    ),
    Mode::new("C-21", "null-id", "responds with an error whose id is null", |server| {
        altered(server, |answer| with(error(answer), "id", Value::Null))
    }),
    Mode::new("C-21", "no-id", "responds with an error that has no id", |server| {
        altered(server, |answer| without(error(answer), "id"))
    }),
    Mode::new("C-22", "both", "responds with a result and an error", |server| {
        altered(server, |answer| with(error(answer), "result", text("fault")))
    }),
    Mode::new("C-22", "neither", "responds with neither result nor error", |server| {
        altered(server, |answer| without(answer, "result"))
    }),
    Mode::new("", "error", "responds with a correct error, code -32000 with data", |server| {
        altered(server, error)
    }),
    Mode::new("C-22", "odd-error [JSON=\"no\"]", "responds with an invalid error", |server| {
        let odd: Value = server.argument(0, json!("no"));
        server.at_fault(|server, message| {
            let answer = with(error(server.reply(message, json!({}))), "error", odd.clone());
            server.send(&answer)
        })
    }),
    Mode::new("C-22", "no-version", "answers without the member jsonrpc", |server| {
        altered(server, |answer| without(answer, "jsonrpc"))
    }),
    Mode::new("C-06", "late", "responds to `fault` once it has been cancelled", |server| {
        let mut calls: Vec<Message> = Vec::new();
        server.serve(|server, message| {
            if message.tool() == "fault" {
                calls.push(message.clone());
                return Ok(());
            }
            for late in calls.extract_if(.., |call| *call.id() == message.params()["requestId"]) {
                server.say(&late, "too late")?;
            }
            server.usual(message)
        })
    }),
    Mode::new(
        "C-09",
        "flood [KIND=progress] [COUNT=200000]",
        "so many notifications before the answer: `progress` 1, 2, 3 ..., `list-changed` or `message`",
        |server| {
            if server.argument(0, String::new()) == "list-changed" {
                server.capabilities = json!({"tools": {"listChanged": true}});
            }
            server.at_fault(flood)
        },
    ),
    Mode::new(
        "C-24",
        "progress-forever [MILLISECONDS=10]",
        "progress in such steps, and never a result; serves other calls",
        |server| {
            server.at_fault(|server, message| {
                let pause = Duration::from_millis(server.argument(0, 10));
                let (message, mut output) = (message.clone(), server.output.try_clone()?);
                thread::spawn(move || {
                    // Lines as short as these cross a pipe in one piece.
                    for step in 1_u64.. {
                        if output.write_all(&bytes::line(&message.progress(step))).is_err() {
                            break;
                        }
                        thread::sleep(pause);
                    }
                });
                Ok(())
            })
        },
    ),
    Mode::new(
        "",
        "odd-progress",
        "progress 1, then wrong tokens, no number, none that rises; then 2 with a message, the answer, and 3",
        |server| server.at_fault(odd_progress),
    ),
    Mode::new(
        "M-17",
        "odd-kind [KIND=weird] [FROM=second]",
        "every result has that `resultType`, from the second or from `server/discover` on",
        |server| {
            let (kind, only) = (server.argument(0, "weird".to_owned()), server.argument(1, String::new()));
            let mut opened = only == "server/discover";
            server.serve(|server, message| {
                if message.id().is_null() || !std::mem::replace(&mut opened, true) {
                    return server.usual(message);
                }
                let versions = [crate::faulty::server::MODERN];
                let result = json!({"supportedVersions": versions, "capabilities": {}, "resultType": kind});
                server.answer(message, result)
            })
        },
    ),
    Mode::new(
        "M-17",
        "odd-results",
        "has one more tool for each odd result, listed with what is odd as its name",
        odd_results,
    ),
];

/// Serves as usual, but for the response to `fault`.
fn altered(server: &mut Server, alter: fn(Value) -> Value) -> io::Result<()> {
    server.at_fault(|server, message| {
        let answer = alter(server.reply(message, text("fault")));
        server.send(&answer)
    })
}

/// The same answer as an error.
fn error(answer: Value) -> Value {
    let error = json!({"code": -32000, "message": "the disk is full", "data": {"free": 0}});
    with(without(answer, "result"), "error", error)
}

fn shuffled(server: &mut Server) -> io::Result<()> {
    let count = server.argument(0, 1000);
    let mut calls: Vec<Message> = Vec::new();
    server.at_fault(|server, message| {
        calls.push(message.clone());
        if calls.len() < count {
            return Ok(());
        }
        // The constants of the linear congruential generator MMIX.
        let mut random = 1_u64;
        while !calls.is_empty() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let choice = usize::try_from(random >> 33).unwrap_or_default() % calls.len();
            let call = calls.swap_remove(choice);
            server.say(&call, call.text())?;
        }
        Ok(())
    })
}

fn flood(server: &mut Server, message: &Message) -> io::Result<()> {
    const STEP: &str = "987654321";
    let (kind, count) = (server.argument(0, String::new()), server.argument(1, 200_000_u64));
    let pattern = match kind.as_str() {
        "list-changed" => notification("notifications/tools/list_changed", &json!({})),
        "message" => notification("notifications/message", &json!({"level": "info", "data": 987_654_321})),
        _ => message.progress(987_654_321),
    };
    let pattern = format!("{pattern}\n");
    let mut lines = String::new();
    for step in 1..=count {
        lines.push_str(&pattern.replace(STEP, &step.to_string()));
        if lines.len() > 1 << 16 || step == count {
            server.write(mem::take(&mut lines).as_bytes())?;
        }
    }
    server.say(message, count.to_string())
}

fn odd_progress(server: &mut Server, message: &Message) -> io::Result<()> {
    let after = |mut progress: Value, member: &str, value: Value| {
        progress["params"][member] = value;
        progress
    };
    server.send(&message.progress(1))?;
    server.send(&after(message.progress(50), "progressToken", json!("unknown")))?;
    server.send(&after(message.progress(51), "progressToken", Value::Null))?;
    server.send(&notification("notifications/progress", &json!({})))?;
    server.send(&message.progress("half"))?;
    server.send(&message.progress(1))?;
    server.send(&message.progress(0.5))?;
    server.send(&after(message.progress(2), "message", json!("nearly there")))?;
    server.say(message, "done")?;
    server.send(&message.progress(3))
}

/// Each odd result, and the output schema of its tool.
fn results() -> Vec<(&'static str, Value, Value)> {
    let none = Value::Null;
    let number = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let fine = json!({"content": [{"type": "text", "text": "{\"n\":1}"}], "structuredContent": {"n": 1}});
    let failed = json!({"content": [{"type": "text", "text": "it failed"}], "isError": true});
    let looped =
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
    vec![
        ("output_fine", number.clone(), fine.clone()),
        (
            "output_breaks_schema",
            number.clone(),
            with(fine.clone(), "structuredContent", json!({"n": "one"})),
        ),
        ("output_missing", number.clone(), text("no structure")),
        ("output_null", number.clone(), with(fine.clone(), "structuredContent", Value::Null)),
        ("output_missing_in_error", number, failed.clone()),
        ("output_schema_loops", looped, fine.clone()),
        ("output_not_an_object", none.clone(), with(fine.clone(), "structuredContent", json!([1, 2]))),
        ("error", none.clone(), failed),
        ("error_no_bool", none.clone(), with(text("fine?"), "isError", "false")),
        (
            "content_unknown_type",
            none.clone(),
            json!({"content": [{"type": "hologram", "angle": 5}, {"type": "text", "text": "beside it"}]}),
        ),
        (
            "content_strange_type",
            none.clone(),
            json!({"content": [{"type": "\u{1b}[31m\n".repeat(1000), "text": "red"}]}),
        ),
        ("content_no_type", none.clone(), json!({"content": [{"text": "no type"}]})),
        ("content_no_text", none.clone(), json!({"content": [{"type": "text"}]})),
        ("content_text_number", none.clone(), json!({"content": [{"type": "text", "text": 5}]})),
        (
            "content_bad_base64",
            none.clone(),
            json!({"content": [{"type": "image", "data": "%%%", "mimeType": "image/png"}]}),
        ),
        ("content_strings", none.clone(), json!({"content": ["text"]})),
        ("content_missing", none.clone(), json!({})),
        ("content_null", none.clone(), json!({"content": null})),
        ("content_object", none.clone(), json!({"content": {"type": "text", "text": "no array"}})),
        ("content_empty", none.clone(), json!({"content": []})),
        ("result_null", none.clone(), Value::Null),
        ("result_string", none.clone(), json!("text")),
        ("result_array", none.clone(), json!([])),
        ("type_weird", none.clone(), with(text("weird"), "resultType", "weird")), // M-17
        ("type_number", none.clone(), with(text("weird"), "resultType", 5)),
        ("type_null", none, with(text("null"), "resultType", Value::Null)),
        ("type_absent", Value::Null, text("absent")),
    ]
}

fn odd_results(server: &mut Server) -> io::Result<()> {
    let results = results();
    let define = |(name, schema, _): &(&str, Value, Value)| match schema {
        Value::Null => tool(name),
        schema => with(tool(name), "outputSchema", schema.clone()),
    };
    server.tools = results.iter().map(define).collect();
    server.serve(|server, message| {
        let Some((name, _, result)) = results.iter().find(|(name, ..)| *name == message.tool()) else {
            return server.usual(message);
        };
        let mut reply = server.reply(message, result.clone());
        if *name == "type_absent"
            && let Some(result) = reply["result"].as_object_mut()
        {
            result.remove("resultType");
        }
        server.send(&reply)
    })
}
