//! `papertape check`: the report in each format, exit codes, and the pages of codes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use papertape_check::Code;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::http::Served;
use crate::login::{shown, terminal};
use crate::process::{End, Process, run};
use crate::{contains, document, faulty, install, papertape, scratch, shell, text};

/// The server `text`, after what a script does first. A name and a version in ANSI colours try to reach the terminal.
fn checked(arguments: &[&str], script: &str) -> Command {
    let mut command = papertape(["check"].into_iter().chain(arguments.iter().copied()));
    command.args(["--", "sh", "-c", &format!("{script} exec \"$0\" serve text")]);
    command.arg(env!("CARGO_BIN_EXE_papertape"));
    command
}

/// A server that writes a line to stdout, with text that tries to break out of each format.
const STRAY: &str = r#"printf 'Starting \033[31m]]>"<&\n';"#;

fn with_stray_output(arguments: &[&str]) -> End {
    let end = run(&mut checked(arguments, STRAY), "");
    assert_eq!(end.status.code(), Some(4), "{end:?}");
    assert_eq!(end.log, "");
    end
}

#[test]
fn the_bundled_servers_are_healthy() {
    let notes = scratch("check_notes");
    fs::write(notes.join("note.md"), "# Otters\n\nThey swim.\n").unwrap();
    let blog = format!("blog --content {}", notes.display());
    for target in ["text", "grammar", "all", &blog] {
        let end = run(&mut papertape(["check", target]), "");
        assert_eq!(end.is_clean().log, "", "{target}");
        contains(
            text(&end),
            &["healthy: ", target, "\nserver: papertape", "2026-07-28", "\nlists: ", "tool"],
        );
    }
    let document = document(&run(&mut papertape(["check", "text", "--output", "json"]), ""));
    assert_eq!((&document["healthy"], &document["counts"]["error"]), (&json!(true), &json!(0)));
}

#[test]
fn a_fault_that_breaks_a_host_is_exit_code_4() {
    let end = with_stray_output(&[]);
    let text = text(&end);
    contains(
        text,
        &[
            "unhealthy: ",
            "Go SDK",
            "(1 error",
            "error PT0101  ",
            "⟦1b⟧",
            "\n  what to do: ",
            "\n  breaks: Go SDK: ",
        ],
    );
    contains(text, &["stdout, byte 0, ", "papertape check --explain PT0101"]);
    assert!(!text.contains('\u{1b}'), "{text:?}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn a_report_as_json_is_complete() {
    let end = with_stray_output(&["--output", "json"]);
    let document = document(&end);
    for member in [
        "format",
        "papertape",
        "target",
        "healthy",
        "exitCode",
        "counts",
        "server",
        "findings",
        "steps",
        "skipped",
    ] {
        assert!(!document[member].is_null(), "{member}: {document}");
    }
    assert_eq!((&document["exitCode"], &document["server"]["name"]), (&json!(4), &json!("papertape-text")));
    let finding = finding(&document, "PT0101");
    assert_eq!((&finding["severity"], &finding["group"]), (&json!("error"), &json!("stdout")));
    for member in ["title", "message", "remedy"] {
        assert!(finding[member].as_str().is_some_and(|text| !text.is_empty()), "{member}: {finding}");
    }
    let evidence = finding["evidence"].as_array().unwrap();
    let bytes = evidence.iter().find(|evidence| evidence["stream"] == "stdout").unwrap();
    assert_eq!(bytes["offset"], 0);
    contains(bytes["text"].as_str().unwrap(), &["Starting ", "⟦1b⟧"]);
    assert!(finding["affects"].as_array().is_some_and(|affects| !affects.is_empty()), "{finding}");
}

fn finding<'a>(document: &'a Value, code: &str) -> &'a Value {
    let mut findings = document["findings"].as_array().unwrap().iter();
    findings
        .find(|finding| finding["code"] == code)
        .unwrap_or_else(|| panic!("{code} is missing: {document}"))
}

#[test]
fn a_report_as_sarif_has_what_code_scanning_requires() {
    let log = document(&with_stray_output(&["--output", "sarif"]));
    assert_eq!((&log["version"], log["runs"].as_array().unwrap().len()), (&json!("2.1.0"), 1));
    let run = &log["runs"][0];
    assert_eq!(run["invocations"][0]["exitCode"], 4);
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "papertape check");
    let rules = driver["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert!(!results.is_empty());
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert!(uri.as_str().is_some_and(|uri| !uri.is_empty() && !uri.contains(' ')), "{uri}");
        assert!(result["partialFingerprints"]["primaryLocationLineHash"].is_string());
    }
    assert_eq!((&results[0]["ruleId"], &results[0]["level"]), (&json!("PT0101"), &json!("error")));
}

/// The file that code scanning shows findings at.
#[test]
fn a_report_as_sarif_names_the_script() {
    let folder = scratch("check_script");
    fs::create_dir(folder.join("my src")).unwrap();
    fs::write(folder.join("my src/server.sh"), "echo Starting...; exec \"$1\" serve text").unwrap();
    let mut command = papertape(["check", "--output", "sarif", "--", "sh", "./my src/server.sh"]);
    command.arg(env!("CARGO_BIN_EXE_papertape")).current_dir(&folder);
    let log = document(&run(&mut command, ""));
    let location = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"];
    assert_eq!(location["uri"], "my%20src/server.sh");
}

/// Reads JUnit XML with Python's parser: the failures, and whether the counts are right.
const READ_JUNIT: &str = r#"
import sys, xml.etree.ElementTree as tree
root = tree.fromstring(sys.stdin.buffer.read())
assert root.tag == "testsuites", root.tag
def count(element, path): return len(element.findall(path))
for element, cases in [(root, "testsuite/testcase")] + [(suite, "testcase") for suite in root]:
    assert int(element.get("tests")) == count(element, cases) > 0
    assert int(element.get("failures")) == count(element, cases + "/failure")
    assert int(element.get("skipped")) == count(element, cases + "/skipped")
for case in root.iter("testcase"):
    assert case.get("classname").startswith("papertape.check."), case.attrib
    for failure in case.iter("failure"):
        print(case.get("name"), failure.get("type"), failure.text, sep="|")
"#;

fn failures(report: &[u8]) -> String {
    let end = run(Command::new("python3").args(["-c", READ_JUNIT]), report);
    text(end.is_clean()).to_owned()
}

#[test]
fn a_report_as_junit_is_well_formed() {
    let failed = failures(&with_stray_output(&["--output", "junit"]).output);
    contains(&failed, &["PT0101 ", "|PT0101|error: ", "⟦1b⟧[31m]]>\"<&"]);
    let end = run(&mut papertape(["check", "text", "--output", "junit"]), "");
    assert_eq!(failures(&end.is_clean().output), "");
}

/// The same, with exit code 0 in place of 4.
fn failing(command: &Command) -> Command {
    shell("\"$@\"; test $? = 4", command)
}

#[test]
fn colours_and_progress_are_for_terminals() {
    let (ours, theirs) = terminal();
    let mut command = failing(&checked(&[], STRAY));
    command.stdin(Stdio::null()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let screen = shown(ours, command);
    // The first is of the progress line.
    contains(&screen, &["\r\u{1b}[2K", " s: ", "\u{1b}[1m\u{1b}[31merror\u{1b}[0m", "⟦1b⟧"]);
    let (ours, theirs) = terminal();
    let mut command = failing(&checked(&[], STRAY));
    command.env("NO_COLOR", "1").stdin(Stdio::null()).stdout(theirs).stderr(Stdio::null());
    let screen = shown(ours, command);
    assert!(screen.contains("error PT0101") && !screen.contains('\u{1b}'), "{screen:?}");
}

#[test]
fn a_signal_ends_the_check_and_the_server() {
    let script = "echo it is $$ > \"$0\"; exec cat > /dev/null";
    let file = scratch("check_signal").join("pid");
    let mut command = papertape(["check", "--", "sh", "-c", script]);
    command.arg(&file);
    let process = Process::start(&mut command);
    let id = loop {
        let said = fs::read_to_string(&file).unwrap_or_default();
        match said.strip_prefix("it is ").and_then(|id| id.strip_suffix('\n')) {
            Some(id) => break id.to_owned(),
            None => std::thread::yield_now(),
        }
    };
    process.signal(Signal::INT);
    let end = process.wait();
    assert_eq!((end.status.code(), &end.output[..]), (Some(130), &b""[..]), "{end:?}");
    // One that was killed may need a moment, and its new parent may not have reaped it yet.
    loop {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        if status.is_empty() || status.contains("State:\tZ") || status.contains("State:\tX") {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn wrong_usage_is_exit_code_2() {
    for (arguments, words) in [
        (&["check"][..], &["Usage: papertape check"][..]),
        (&["check", "unix:/tmp/socket"], &["only servers that are started as a process, or at a URL"]),
        (&["check", "http://127.0.0.1:1/mcp", "--env", "A=b"], &["--env is for servers that are started"]),
        (&["check", "text", "--header", "A: b"], &["--header is for servers at a URL"]),
        (&["check", "text", "--output", "xml"], &["'xml'", "sarif", "junit"]),
        (&["check", "text", "--timeout", "0"], &["from 0.1 to 86400"]),
        (&["check", "--explain", "PT9999"], &["there is no code \"PT9999\"", "--explain` lists all codes"]),
        (&["check", "--explain", "PT0101", "--output", "sarif"], &["as text or as JSON"]),
        (&["check", "grammer.py"], &[]),
    ] {
        let end = run(&mut papertape(arguments.iter().copied()), "");
        let code = if words.is_empty() { 4 } else { 2 };
        assert_eq!(end.status.code(), Some(code), "{arguments:?}: {end:?}");
        contains(&end.log, words);
    }
    let end = run(&mut papertape(["check", "unix:/tmp/socket", "--output", "json"]), "");
    assert_eq!(document(&end)["error"]["kind"], "usage");
}

#[test]
fn a_code_is_explained() {
    let end = run(&mut papertape(["check", "--explain", "pt0101"]), "");
    let page = text(end.is_clean());
    assert!(page.starts_with(Code::find("PT0101").unwrap().page().trim_end()), "{page}");
    contains(page, &["**What to do.**", "- Go SDK: "]);
    let end = run(&mut papertape(["check", "--explain"]), "");
    let list = text(end.is_clean());
    for (_, codes) in Code::groups() {
        for code in codes {
            contains(list, &[&format!("  {code}  ")]);
        }
    }
    let end = run(&mut papertape(["check", "--explain", "PT0101", "--output", "json"]), "");
    let document = document(end.is_clean());
    assert_eq!((&document["code"], &document["severity"]), (&json!("PT0101"), &json!("error")));
    let (ours, theirs) = terminal();
    let mut command = papertape(["check", "--explain", "PT0101"]);
    command.stdin(Stdio::null()).stdout(theirs).stderr(Stdio::null());
    let screen = shown(ours, command);
    contains(&screen, &["\u{1b}[1mPT0101: ", "\u{1b}[1mWhat to do."]);
    assert!(!screen.contains("**"), "{screen:?}");
}

#[test]
fn codes_are_completed() {
    let complete = |line: &str, word: &str| {
        let end = run(&mut papertape(["complete", "bash", "--", line, "", word]), "");
        text(end.is_clean()).to_owned()
    };
    assert_eq!(complete("papertape check --explain PT0101", "PT0101"), "PT0101 \n");
    assert!(complete("papertape check --explain pt", "pt").contains("PT0501 \n"));
    assert_eq!(complete("papertape check gram", "gram"), "grammar \n");
}

#[test]
fn servers_at_a_url_are_checked() {
    let served = Served::start(&mut papertape(["serve", "text", "--http", "127.0.0.1:0"]));
    let url = format!("http://{}/mcp", served.address);
    let end = run(&mut papertape(["check", &url, "--call-all"]), "");
    let report = text(end.is_clean());
    contains(report, &["healthy: ", &url, "papertape-text", "2026-07-28", "2 tools", "called \"echo\""]);
    // A path at which there is nothing, with a token that is in no output.
    let token = scratch("check_token").join("token");
    fs::write(&token, "secret-token-of-mine\n").unwrap();
    let nothing = url.replace("/mcp", "/sse");
    let mut command =
        papertape(["check", &nothing, "--output", "json", "--header", "X-Key: my-secret", "--bearer-file"]);
    let end = run(command.arg(&token), "");
    assert_eq!(end.status.code(), Some(4), "{end:?}");
    let document = document(&end);
    let finding = finding(&document, "PT0807");
    contains(finding["remedy"].as_str().unwrap(), &[&url]);
    contains(&finding["evidence"].to_string(), &["authorization: [redacted]", "x-key: [redacted]"]);
    let output = format!("{document}{}", end.log);
    assert!(!output.contains("secret-token") && !output.contains("my-secret"), "{output}");
}

/// A server that does not respond at all is a finding, within the timeout.
#[test]
fn a_target_that_is_no_program_gets_a_remedy() {
    for url in ["ftp://x.example/mcp", "ws://127.0.0.1:8080/mcp"] {
        let end = run(&mut papertape(["check", url]), "");
        assert_eq!(end.status.code(), Some(2), "{end:?}");
        contains(&end.log, &["which is not supported: a server at a URL begins with http:// or https://"]);
    }
    let folder = scratch("check_names");
    fs::write(folder.join(".mcp.json"), r#"{"mcpServers": {"notes": {"command": "notes"}}}"#).unwrap();
    for (typed, hint) in [
        ("noted", "did you mean the server \"notes\" of .mcp.json?"),
        ("gramar", "did you mean the bundled server \"grammar\"?"),
    ] {
        let end = run(papertape(["check", typed]).current_dir(&folder), "");
        assert_eq!(end.status.code(), Some(4), "{end:?}");
        let text = text(&end).split_whitespace().collect::<Vec<_>>().join(" ");
        contains(&text, &["error PT0201", hint]);
    }
}

#[test]
fn a_server_that_never_opens_is_exit_code_4() {
    let mut command =
        papertape(["check", "--timeout", "0.5", "--output", "junit", "--", &faulty(), "never-opens"]);
    let end = run(&mut command, "");
    assert_eq!(end.status.code(), Some(4), "{end:?}");
    assert!(!failures(&end.output).is_empty());
}

/// What docs/check.md shows of a server that prints is the beginning of its report, but for the time, and it lists every code.
#[test]
fn the_guide_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/check.md");
    let guide = fs::read_to_string(&file).unwrap();
    let (before, rest) = guide.split_once(REPORT).unwrap();
    let (report, rest) = rest.split_once("```").unwrap();
    let (middle, rest) = rest.split_once(CODES).unwrap();
    let (introduction, table) = rest.split_at(rest.find("\n### ").unwrap_or(rest.len()));
    let (new_report, new_table) = (report_of_a_server_that_prints(), table_of_codes());
    if std::env::var_os("UPDATE").is_some() {
        let new = [before, REPORT, &new_report, "```", middle, CODES, introduction, &new_table].concat();
        fs::write(&file, new).unwrap();
        return;
    }
    let help = "UPDATE=1 cargo test -p papertape-cli --test it checking rewrites docs/check.md";
    assert_eq!(without_times(report), without_times(&new_report), "{help}");
    assert_eq!(table, new_table, "{help}");
}

/// What stands before the report.
const REPORT: &str = "```text\n$ papertape check ./my-server\n";

/// What stands before the table of codes.
const CODES: &str = "\n## Codes\n";

/// The verdict and the first finding.
fn report_of_a_server_that_prints() -> String {
    let folder = scratch("check_guide");
    let binary = env!("CARGO_BIN_EXE_papertape");
    let script = format!("#!/bin/sh\necho Starting server...\nexec '{binary}' serve text\n");
    install(&folder.join("my-server"), script);
    let end = run(papertape(["check", "./my-server"]).current_dir(&folder), "");
    text(&end).splitn(3, "\n\n").take(2).collect::<Vec<_>>().join("\n\n") + "\n"
}

/// Its words, without times: they differ, and so does where lines are wrapped.
fn without_times(text: &str) -> Vec<&str> {
    let is_number = |word: &str| word.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.split_whitespace().filter(|word| !is_number(word) && !["ms", "s"].contains(word)).collect()
}

fn table_of_codes() -> String {
    let mut table = String::new();
    for (number, (group, codes)) in (1..).zip(Code::groups()).filter(|(_, (_, codes))| !codes.is_empty()) {
        table += &format!("\n### PT{number:02}: {group}\n\n| code | severity | what |\n|---|---|---|\n");
        for code in codes {
            let title = code.title().replace('|', "\\|");
            let page = format!("../crates/papertape-check/pages/{code}.md");
            table += &format!("| [{code}]({page}) | {} | {title} |\n", code.severity());
        }
    }
    table
}
