//! Tapes that are cut, broken, or not tapes.

use std::path::Path;

use crate::tape_tools::{STDIO, assert_code, tape, tool, tool_of};
use crate::text;

const READERS: [&[&str]; 8] = [
    &["cat"],
    &["stats"],
    &["grep", "ping"],
    &["raw", "--direction", "to-server"],
    &["check"],
    &["to-har"],
    &["to-jsonl"],
    &["redact"],
];

#[test]
fn a_cut_tape_is_read_up_to_its_last_line() {
    let cut = STDIO.strip_suffix("end {}\n").unwrap();
    for words in READERS {
        let end = tool_of(words, cut);
        assert_code(&end, 0);
        assert!(end.log.contains("is cut, or still being written"), "{words:?}: {}", end.log);
        assert!(!end.output.is_empty());
    }
}

#[test]
fn broken_lines_are_named_and_the_others_read() {
    let broken = STDIO.replace("5 > 0.300000 line", "5 > soon line") + "nonsense\n";
    for words in READERS {
        let end = tool_of(words, &broken);
        assert_code(&end, 2);
        assert!(
            end.log.contains("the tape on stdin: line 7: \"soon\" is not a time")
                && end.log.contains("line 16: "),
            "{words:?}: {}",
            end.log
        );
        assert!(text(&end).contains("ping") || words[0] == "check", "{words:?}: {}", text(&end));
    }
}

#[test]
fn what_is_not_a_tape_is_named() {
    for words in READERS {
        for (text, reason) in [
            ("{\"log\":{}}\n", "is not a tape: a tape begins with the line \"papertape 1\""),
            ("", "is empty"),
            ("papertape", "is cut in its first line"),
        ] {
            let end = tool_of(words, text);
            assert_code(&end, 2);
            assert!(end.log.contains(reason), "{words:?}: {}", end.log);
        }
        let end = tool(words, Path::new("/nowhere/session.tape"));
        assert_code(&end, 2);
        assert!(end.log.contains("cannot read /nowhere/session.tape"), "{}", end.log);
        let folder = tape("tape_broken_folder", "").parent().unwrap().to_owned();
        let end = tool(words, &folder);
        assert_code(&end, 2);
        assert!(end.log.contains("is a directory"), "{}", end.log);
    }
}

#[test]
fn what_was_lost_is_said() {
    let lost = STDIO.replace("13 * 1.000100 end {}", "13 * 1.0 lost {}");
    assert_code(&tool_of(&["cat"], &lost), 2);
    let lost = STDIO.replace("13 * 1.000100 end {}", "13 * 1.000100 lost {\"frames\":3,\"bytes\":70}");
    let end = tool_of(&["cat"], &lost);
    assert_code(&end, 0);
    assert!(end.log.contains("3 frames, 70 bytes, were lost in recording"), "{}", end.log);
}
