//! `papertape tape redact`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use papertape_testing::process::run;

use crate::tape_tools::{HTTP, STDIO, assert_code, tape, tool, tool_of};
use crate::{papertape, text};

#[test]
fn a_copy_has_no_secrets_and_is_a_tape() {
    let path = tape("tape_redact", HTTP);
    let out = path.with_file_name("shared.tape");
    let end = tool(&["redact", "--out", out.to_str().unwrap()], &path);
    assert_code(&end, 0);
    assert_eq!(end.log, "papertape: 1 secret was replaced: 1 authorization\n");
    assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o600);
    let copy = fs::read_to_string(&out).unwrap();
    assert!(copy.starts_with("papertape 1\n# A copy without secrets, made by papertape "), "{copy}");
    assert!(!copy.contains("abcdef") && copy.contains("Authorization: Bearer [redacted authorization]"));
    assert_eq!(tool(&["cat"], &out).is_clean().output.iter().filter(|byte| **byte == b'\n').count(), 16);
    // All else is the same.
    let other: Vec<&str> = copy.lines().filter(|line| !line.contains("redacted")).collect();
    let expected: Vec<&str> = HTTP.lines().filter(|line| !line.contains("abcdef")).collect();
    assert_eq!(other, expected);
}

#[test]
fn a_tape_without_secrets_stays_as_it_is() {
    let end = tool_of(&["redact"], STDIO);
    assert_code(&end, 0);
    assert!(end.log.contains("no secrets were found"), "{}", end.log);
    let lines: Vec<&str> = text(&end).lines().filter(|line| !line.contains("A copy without")).collect();
    assert_eq!(lines, STDIO.lines().collect::<Vec<_>>());
}

#[test]
fn what_the_user_names_is_replaced() {
    let end = tool_of(&["redact", "--also", "add(er)?", "--also", "3$"], STDIO);
    assert_code(&end, 0);
    assert!(
        !text(&end).contains("adder") && text(&end).contains(r#""text":"[redacted text]""#),
        "{}",
        text(&end)
    );
    assert_code(&tool_of(&["redact", "--also", "("], STDIO), 2);
}

#[test]
fn the_tape_itself_is_not_overwritten() {
    let path = tape("tape_redact_same", STDIO);
    let end = tool(&["redact", "--out", path.to_str().unwrap()], &path);
    assert_code(&end, 2);
    assert_eq!(fs::read_to_string(&path).unwrap(), STDIO);
}

#[test]
fn what_is_not_a_tape_leaves_no_file() {
    let path = tape("tape_redact_other", "{}\n");
    let out = path.with_file_name("out.tape");
    assert_code(&tool(&["redact", "--out", out.to_str().unwrap()], &path), 2);
    assert!(!out.exists());
}

#[test]
fn a_copy_of_a_golden_tape_has_the_same_records() {
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../papertape/tests/tapes/server/2025-11-25/open.tape");
    let end = run(papertape(["tape", "redact"]).arg(&golden), "");
    let records = |text: &str| {
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(records(text(&end)), records(&fs::read_to_string(golden).unwrap()));
}
