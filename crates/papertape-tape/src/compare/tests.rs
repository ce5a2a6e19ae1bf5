use std::io::{self, Cursor};

use super::{Mismatch, Recorded, compare};
use crate::{Reader, Recording, Volatile};

fn recorded(lines: &str) -> Recorded<Cursor<Vec<u8>>> {
    let tape = format!("papertape 1\n{lines}").into_bytes();
    let mut recording = Recording::new();
    for line in Reader::new(&tape[..]) {
        let line = line.unwrap();
        if let Some(record) = line.record() {
            recording.push(line.offset, record);
        }
    }
    recording.finish();
    Recorded { recording, tape: Cursor::new(tape) }
}

fn differences(old: &str, new: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut old, mut new) = (recorded(old), recorded(new));
    let result: Result<(), io::Error> = compare(&mut old, &mut new, &Volatile::new(), |mismatch| {
        let Mismatch { method, name, old, new, outcomes, differences, .. } = mismatch;
        let name = name.as_deref().unwrap_or_default();
        let differences: Vec<_> = differences.iter().map(ToString::to_string).collect();
        found.push(format!("{method} {name} {old:?} {new:?} {outcomes:?} {}", differences.join("; ")));
        Ok(())
    });
    result.unwrap();
    found
}

const OLD: &str = "\
1 > - line {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"arguments\":{\"x\":1}}}
2 < - line {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1}}
3 < - raw {\"jsonrpc\":\"2.0\",\"id\":1,
4 < - line \"result\":{\"content\":[]}}
5 > - line [{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"b\"}},{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}]
6 < - line [{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":1,\"message\":\"x\"}}]
";

#[test]
fn a_recording_is_equal_to_itself_with_other_ids_and_times() {
    assert_eq!(differences(OLD, OLD), [""; 0]);
    let new = OLD.replace("\"id\":1,", "\"id\":\"seven\",").replace("1 > -", "# x\n1 > 0.000001");
    assert_eq!(differences(OLD, &new), [""; 0]);
}

#[test]
fn differences_are_named() {
    let new = OLD.replace("\"x\":1", "\"x\":2").replace("\"content\":[]", "\"content\":[{}]");
    assert_eq!(
        differences(OLD, &new),
        ["tools/call a Some(1) Some(1) None /params/arguments/x: 1 -> 2; /result/content/0: {} is new"]
    );
    let new = OLD.replace("\"error\":{\"code\":1,\"message\":\"x\"}", "\"result\":{\"isError\":true}");
    assert_eq!(
        differences(OLD, &new),
        ["tools/call b Some(5) Some(5) Some((Error(1), ToolError)) /result: {\"isError\":true} is new; \
          /error: {\"code\":1,\"message\":\"x\"} is missing"]
    );
}

#[test]
fn what_only_one_has_is_named() {
    let more = format!(
        "{OLD}7 < - line {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}}\n\
         8 > - line {{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}}\n"
    );
    assert_eq!(
        differences(OLD, &more),
        ["notifications/tools/list_changed  None Some(7) None ", "ping  None Some(8) None "]
    );
    assert_eq!(
        differences(&more, OLD),
        ["notifications/tools/list_changed  Some(7) None None ", "ping  Some(8) None None "]
    );
}
