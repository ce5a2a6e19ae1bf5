//! `papertape call`: arguments and results.

use std::fs;

use serde_json::json;

use crate::process::run;
use crate::{against, canned, contains, document, opening, papertape, scratch, text};

#[test]
fn a_tool_is_called_with_name_value_arguments() {
    let eat = ["call", "grammar", "conjugate", "verb=eat", "tense=past simple", "person=3sg"];
    let end = run(&mut papertape(eat), "");
    assert_eq!((text(end.is_clean()), end.log.as_str()), ("ate\n", ""));
    let end = run(&mut papertape(["call", "text", "echo", "text= 5 \"ñ\" = \\n"]), "");
    assert_eq!(text(end.is_clean()), " 5 \"ñ\" = \\n\n");
}

#[test]
fn a_target_is_a_name_a_command_line_or_a_command_after_two_hyphens() {
    let this = env!("CARGO_BIN_EXE_papertape");
    let quoted = format!("'{this}' serve text");
    let end = run(&mut papertape(["call", &quoted, "word_count", "text=one two"]), "");
    assert_eq!(text(end.is_clean()), "2\n");
    let words = ["call", "word_count", "text=one two", "--", this, "serve", "text"];
    assert_eq!(text(run(&mut papertape(words), "").is_clean()), "2\n");
}

#[test]
fn every_revision_and_framing_has_the_same_result() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        for framing in ["line", "content-length"] {
            let words = ["call", "text", "echo", "text=ñ", "--revision", revision, "--framing", framing];
            let end = run(papertape(words).args(["--output", "json"]), "");
            let document = document(end.is_clean());
            assert_eq!(document["revision"], revision);
            assert_eq!(document["result"]["content"], json!([{"type": "text", "text": "ñ"}]), "{framing}");
        }
    }
}

#[test]
fn arguments_can_be_a_document() {
    let folder = scratch("call_json");
    let path = folder.join("arguments.json");
    fs::write(&path, "{\"text\": \"from a file\"}").unwrap();
    for (given, input, right) in [
        ("{\"text\": \"typed\"}".to_owned(), "", "typed\n"),
        (format!("@{}", path.display()), "", "from a file\n"),
        ("-".to_owned(), "{\"text\": \"from stdin\"}\n", "from stdin\n"),
    ] {
        let end = run(&mut papertape(["call", "text", "echo", "--json", &given]), input);
        assert_eq!(text(end.is_clean()), right);
    }
    let both = ["call", "text", "echo", "text=goes before", "--json", "{\"text\": \"this\"}"];
    assert_eq!(text(run(&mut papertape(both), "").is_clean()), "goes before\n");
}

#[test]
fn an_invalid_json_document_is_a_usage_error() {
    for (given, words) in [
        ("[1]", "--json must be an object such as {\"a\": 1}, not [1]"),
        ("{", "--json is not JSON: EOF"),
        ("@/no/such/file", "--json: cannot read /no/such/file: No such file"),
    ] {
        let end = run(&mut papertape(["call", "text", "echo", "--json", given]), "");
        assert_eq!((end.status.code(), &end.output[..]), (Some(2), &b""[..]), "{end:?}");
        contains(&end.log, &[words]);
    }
}

/// Wrong usage that only the server can detect: exit code 2, a message on stderr, nothing on stdout.
#[track_caller]
fn wrong(arguments: &[&str], words: &[&str]) {
    let end = run(&mut papertape(arguments.iter().copied()), "");
    assert_eq!((end.status.code(), &end.output[..]), (Some(2), &b""[..]), "{arguments:?}: {end:?}");
    contains(&end.log, words);
}

#[test]
fn a_mistyped_tool_or_argument_is_reported_with_the_known_ones() {
    wrong(
        &["call", "grammar", "conjugat", "verb=eat"],
        &[
            "papertape: there is no tool \"conjugat\": did you mean \"conjugate\"?\n",
            "  its tools: conjugate, lookup_irregular_verb, lookup_spanish, check_subject_verb_agreement, drill\n",
        ],
    );
    wrong(&["call", "text", "count"], &["did you mean \"word_count\"?"]);
    wrong(
        &["call", "grammar", "conjugate", "verv=eat"],
        &[
            "conjugate: there is no argument \"verv\": did you mean \"verb\"?\n",
            "  its arguments: verb, tense, person\n",
        ],
    );
    wrong(
        &["call", "grammar", "conjugate", "verb=eat", "tense=past", "person=3sg"],
        &["conjugate: tense=past does not fit", "tense: one of: infinitive, present simple,"],
    );
    wrong(
        &["call", "grammar", "conjugate", "verb=eat", "tense=past_simpel"],
        &["did you mean \"past_simple\"?"],
    );
    wrong(
        &["call", "grammar", "conjugate", "verb=eat"],
        &[
            "2 arguments are missing:\n  tense: one of: ",
            "\n    The tense.\n  person: one of: 1st singular, 1sg,",
        ],
    );
}

#[test]
fn a_tool_error_is_code_1_and_goes_to_stderr() {
    let run_away = "{\"verb\": \"run\", \"tense\": \"infinitive\", \"person\": \"1sg\"}";
    let words = ["call", "grammar", "conjugate", "--json", run_away];
    let end = run(&mut papertape(words), "");
    assert_eq!((end.status.code(), text(&end)), (Some(1), ""), "{end:?}");
    assert!(
        end.log.starts_with("invalid arguments for tool \"conjugate\": \"run\" is out of scope"),
        "{end:?}"
    );
    let end = run(papertape(words).args(["--output", "json"]), "");
    assert_eq!((end.status.code(), end.log.as_str()), (Some(1), ""), "{end:?}");
    assert_eq!(document(&end)["result"]["isError"], true);
}

#[test]
fn an_error_of_the_server_is_code_1_with_its_data() {
    let end = run(&mut against(&["call", "fault"], &["error"]), "");
    assert_eq!((end.status.code(), text(&end)), (Some(1), ""), "{end:?}");
    contains(&end.log, &["the disk is full (-32000)", "  its data: {\"free\":0}"]);
    let end = run(&mut against(&["call", "fault", "--output", "json"], &["error"]), "");
    assert_eq!((end.status.code(), end.log.as_str()), (Some(1), ""), "{end:?}");
    let error = &document(&end)["error"];
    assert_eq!(
        (&error["kind"], &error["code"], &error["data"]),
        (&json!("rpc"), &json!(-32000), &json!({"free": 0}))
    );
}

#[test]
fn members_of_optional_and_tagged_objects_are_arguments() {
    let schema = json!({"type": "object", "properties": {
        "at": {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]},
        "shape": {"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "circle"}, "size": {"type": "number"}}},
            {"type": "object", "properties": {"kind": {"const": "label"}, "size": {"type": "string"}}},
        ]},
    }, "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "integer"}}}}});
    let tools = json!({"tools": [{"name": "t", "inputSchema": schema}]});
    let result = json!({"content": []});
    let server = canned(&[opening(&json!({"tools": {}})), tools, result]);
    let words =
        ["call", "t", "at.x=1", "shape.size=3", "shape.kind=label", "--trace", "--revision", "2025-11-25"];
    let end = run(papertape(words).arg("--").args(&server), "");
    contains(&end.is_clean().log, &[r#""arguments":{"at":{"x":1},"shape":{"kind":"label","size":"3"}}"#]);
}

#[test]
fn structured_content_is_printed_if_there_is_no_text() {
    let tools = json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]});
    let call = |result| {
        let server = canned(&[opening(&json!({"tools": {}})), tools.clone(), result]);
        run(papertape(["call", "t", "--revision", "2025-11-25", "--"]).args(server), "")
    };
    let end = call(json!({"content": [], "structuredContent": {"a": [1, "x"]}}));
    assert_eq!(text(end.is_clean()), "{\n  \"a\": [\n    1,\n    \"x\"\n  ]\n}\n");
    let end =
        call(json!({"content": [{"type": "text", "text": "as text\n"}], "structuredContent": {"a": 1}}));
    assert_eq!(text(end.is_clean()), "as text\n");
    let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a"});
    let embedded = json!({"type": "resource", "resource": {"uri": "x:y", "text": "within"}});
    let end = call(json!({"content": [link, embedded]}));
    assert_eq!(text(end.is_clean()), "a: file:///a\nwithin\n");
}

#[test]
fn numbers_of_any_size_pass_digit_for_digit() {
    const LARGE: &str = "340282366920938463463374607431768211455";
    const LONG: &str = "3.14159265358979323846264338327950288";
    let numbers = format!("[{LARGE},{LONG},1e400,0.10]");
    let schema =
        json!({"type": "object", "properties": {"whole": {"type": "integer"}, "list": {"examples": "#"}}});
    let tools = json!({"tools": [{"name": "t", "inputSchema": schema}]});
    let result = json!({"content": [], "structuredContent": {"n": "@"}, "_meta": {"n": "#"}});
    let server: Vec<String> = canned(&[opening(&json!({"tools": {}})), tools, result])
        .into_iter()
        .map(|word| word.replace("\"@\"", &numbers).replace("\"#\"", &format!("[{LARGE},{LONG}]")))
        .collect();
    let tape = scratch("call_numbers").join("session.tape");
    let mut command = papertape(["call", "t", "--revision", "2025-11-25", "--tape"]);
    command.arg(&tape).args([&format!("whole={LARGE}"), &format!("raw:={numbers}")]);
    command.args(["--json", &format!("{{\"document\": {{\"n\": {numbers}}}}}"), "--"]).args(&server);
    let end = run(&mut command, "");
    assert_eq!(text(end.is_clean()).split_whitespace().collect::<String>(), format!("{{\"n\":{numbers}}}"));
    let tape = fs::read_to_string(tape).unwrap();
    let sent =
        format!("\"arguments\":{{\"document\":{{\"n\": {numbers}}},\"raw\":{numbers},\"whole\":{LARGE}}}");
    contains(&tape, &[&sent]);

    let mut command = papertape(["call", "t", "--revision", "2025-11-25", "--output", "json", "--"]);
    let end = run(command.args(&server), "");
    let document: String = text(end.is_clean()).split_whitespace().collect();
    contains(
        &document,
        &[
            &format!("\"structuredContent\":{{\"n\":{numbers}}}"),
            &format!("\"_meta\":{{\"n\":[{LARGE},{LONG}]}}"),
        ],
    );

    let mut command = papertape(["list", "--revision", "2025-11-25", "--output", "json", "--"]);
    let end = run(command.args(&server), "");
    let document: String = text(&end).split_whitespace().collect();
    contains(&document, &[&format!("\"examples\":[{LARGE},{LONG}]")]);
}

#[test]
fn a_content_block_of_unknown_type_is_reported() {
    let end = run(&mut against(&["call", "content_unknown_type"], &["odd-results"]), "");
    assert_eq!(text(end.is_clean()), "beside it\n");
    contains(&end.log, &["[content of the unknown type \"hologram\", 29 bytes: --output json shows it]"]);
    let end = run(&mut against(&["call", "content_unknown_type", "--output", "json"], &["odd-results"]), "");
    assert_eq!(document(&end)["result"]["content"][0], json!({"type": "hologram", "angle": 5}));
}

#[test]
fn bytes_are_kept_only_in_the_given_directory() {
    let folder = scratch("call_out");
    let content = json!([
        {"type": "text", "text": "look:"},
        {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
        {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
        {"type": "audio", "data": "AAE", "mimeType": "audio/x-wav"},
        {"type": "resource", "resource": {"uri": "file:///../../x/evil.bin", "blob": "AAEC"}},
        {"type": "image", "data": "not base64!", "mimeType": "image/png"},
    ]);
    let tools = json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]});
    let server = canned(&[opening(&json!({"tools": {}})), tools, json!({"content": &content})]);
    let mut command = papertape(["call", "t", "--revision", "2025-11-25"]);
    let end = run(command.arg("--").args(&server), "");
    assert_eq!(text(end.is_clean()), "look:\n");
    let notes = [
        "[image/png, 4 bytes: give --out DIR to save it]\n",
        "[audio/x-wav, 2 bytes: give --out DIR to save it]\n",
        "[application/octet-stream, 3 bytes: give --out DIR to save it]\n",
        "[image/png, 11 characters of invalid base64: not saved]\n",
    ];
    contains(&end.log, &notes);

    let out = folder.join("new/folder");
    let mut command = papertape(["call", "t", "--revision", "2025-11-25", "--out"]);
    let end = run(command.arg(&out).arg("--").args(&server), "");
    assert_eq!(text(end.is_clean()), "look:\n");
    let mut names: Vec<_> =
        fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["audio.wav", "evil.bin", "image-2.png", "image.png"]);
    assert_eq!(fs::read(out.join("image.png")).unwrap(), b"\x89PNG");
    contains(&end.log, &[&format!("[image/png, 4 bytes: {}]", out.join("image-2.png").display())]);

    // A program that wants a document may want the files as well.
    let mut command = papertape(["call", "t", "--revision", "2025-11-25", "--output", "json", "--out"]);
    let end = run(command.arg(&out).arg("--").args(&server), "");
    assert_eq!(document(end.is_clean())["result"]["content"], content);
    contains(&end.log, &[&format!("[image/png, 4 bytes: {}]", out.join("image-3.png").display())]);
}

#[test]
fn a_tool_can_be_called_if_the_list_fails() {
    let end = run(&mut against(&["call", "echo", "text=here"], &["odd-list"]), "");
    assert_eq!((end.status.code(), text(&end)), (Some(0), "here\n"), "{end:?}");
    contains(
        &end.log,
        &["the result has no array `tools`", "arguments that look like JSON are sent as JSON"],
    );
}

#[test]
fn an_invalid_tool_is_called_with_a_warning() {
    let end = run(&mut against(&["call", "schema_missing", "a=1"], &["odd-tools", "schema_missing"]), "");
    contains(&end.log, &["the definition of \"schema_missing\" is invalid: `inputSchema` is missing"]);
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    for format in ["text", "json"] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = papertape(["call", "text", "echo", "text=x", "--output", format]);
        command.stdin(std::process::Stdio::null()).stdout(full).stderr(std::process::Stdio::piped());
        let end = crate::process::Process::start_as_it_is(&mut command).wait();
        assert_eq!(end.status.code(), Some(1), "{end:?}");
        contains(&end.log, &["papertape: cannot write to stdout: No space left on device"]);
    }
}
