//! Real servers with one fault each in stdout, start or shutdown: each is found, and nothing else.

use std::env;
use std::fs;

use papertape::stdio::ServerCommand;
use papertape_check::{Options, Severity, check_stdio};

use crate::fixture::{IMPATIENT, PATIENT, check, faulty, only, proof, python, says, with_code};

servers! {
    a_healthy_server_has_no_finding_above_a_note: faulty(&["well-behaved"]), PATIENT, |report| {
        assert!(report.findings.iter().all(|finding| finding.severity == Severity::Note), "{:#?}", report.findings);
        // It would end with an error if a message of ours was against the protocol.
        assert!(report.findings.iter().all(|finding| finding.code.name() != "PT0705"), "{:#?}", report.findings);
        assert_eq!(report.server.revisions, ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]);
        assert_eq!((report.server.tools, report.breaks()), (9, false));
    }
    healthy_servers_of_one_era: faulty(&["--modern", "well-behaved"]), PATIENT, |report| {
        assert_eq!((report.server.revisions.as_slice(), report.server.tools), (["2026-07-28".to_owned()].as_slice(), 9));
    }

    stray_lines: faulty(&["banner"]), PATIENT, |report| {
        let finding = only(report, "PT0101");
        says(finding, "Welcome to the server!");
        says(finding, "escape sequences");
        assert_eq!(proof(finding).0, 0);
        assert!(!finding.affects.is_empty());
    }
    a_known_banner_is_named: python(&["dotenv"]), PATIENT, |report| {
        let finding = only(report, "PT0101");
        says(finding, "dotenv 17");
        assert!(finding.remedy.contains("DOTENV_CONFIG_QUIET"));
    }
    a_warning_over_two_lines_is_one_finding: python(&["warning"]), PATIENT, |report| {
        says(only(report, "PT0101"), "a warning of Python");
    }
    text_before_a_message: python(&["glued"]), PATIENT, |report| {
        let finding = only(report, "PT0102");
        assert_eq!(proof(finding), (0, b"Loading... ".as_slice()));
        assert_eq!(report.server.tools, 1);
    }
    headers_on_stdout: faulty(&["header-answers"]), PATIENT, |report| {
        says(only(report, "PT0103"), "Content-Length");
        assert_eq!(report.server.tools, 9);
    }
    pretty_printed: faulty(&["pretty"]), PATIENT, |report| {
        assert_eq!(proof(only(report, "PT0105")).0, 0);
    }
    no_line_end: python(&["no-line-end"]), PATIENT, |report| {
        assert!(proof(only(report, "PT0106")).1.ends_with(b"}"));
        assert_eq!(report.server.tools, 1);
    }
    byte_order_mark: faulty(&["bom"]), PATIENT, |report| {
        assert_eq!(proof(only(report, "PT0108")), (0, b"\xef\xbb\xbf".as_slice()));
    }
    utf_16: faulty(&["utf-16"]), PATIENT, |report| {
        assert!(proof(only(report, "PT0109")).1.starts_with(b"\xff\xfe"));
        assert_eq!(report.server.tools, 9);
    }
    invalid_utf_8: python(&["latin-1"]), PATIENT, |report| {
        assert!(proof(only(report, "PT0110")).1.contains(&0xe9));
    }
    carriage_returns_are_harmless: faulty(&["crlf"]), PATIENT, |report| {
        assert_eq!(with_code(report, "PT0111").severity, Severity::Note);
        assert!(!report.breaks());
    }
    blank_lines: python(&["blank-lines"]), PATIENT, |report| {
        only(report, "PT0112");
    }
    half_a_surrogate_pair: python(&["half-a-pair"]), PATIENT, |report| {
        let finding = only(report, "PT0116");
        says(finding, "half a surrogate pair");
        assert_eq!((finding.severity, report.server.tools), (Severity::Warning, 1));
    }
    values_that_are_nested_very_deeply: python(&["nested"]), PATIENT, |report| {
        says(only(report, "PT0116"), "nested");
        assert_eq!(report.server.tools, 1);
    }
    not_a_number: python(&["nan"]), PATIENT, |report| {
        says(only(report, "PT0113"), "NaN");
        assert_eq!(report.server.tools, 1);
    }
    batches: faulty(&["batched"]), PATIENT, |report| {
        says(only(report, "PT0114"), "array");
    }
    text_on_stderr_is_harmless: python(&["stderr"]), PATIENT, |report| {
        says(with_code(report, "PT0115"), "Example server on stdio");
        assert!(report.findings.iter().all(|finding| finding.severity == Severity::Note), "{:#?}", report.findings);
    }

    no_such_program: ServerCommand::new("papertape-no-such-program"), PATIENT, |report| {
        says(only(report, "PT0201"), "`papertape-no-such-program`");
    }
    no_such_directory: ServerCommand::new("sh").cwd("/no/such/directory"), PATIENT, |report| {
        says(only(report, "PT0201"), "/no/such/directory");
    }
    a_variable_is_missing: python(&["variable", "PAPERTAPE_TEST_KEY"]), PATIENT, |report| {
        let finding = only(report, "PT0203");
        says(finding, "status 1");
        says(finding, "PAPERTAPE_TEST_KEY is not set");
        assert_eq!(finding.subject.as_deref(), Some("variable PAPERTAPE_TEST_KEY"));
    }
    a_variable_that_is_set_is_not_missing:
        python(&["variable", "PAPERTAPE_TEST_KEY"]).env("PAPERTAPE_TEST_KEY", "1"), PATIENT, |report| {
        assert_eq!(only(report, "PT0203").subject, None);
    }
    exits_at_once: faulty(&["exits", "3", "fatal: no licence"]), PATIENT, |report| {
        let finding = only(report, "PT0203");
        says(finding, "status 3");
        says(finding, "fatal: no licence");
        // What the sentence quotes is not printed again.
        let facts: Vec<_> = finding.evidence.iter().map(papertape_check::Evidence::text).collect();
        assert_eq!(facts, ["nothing else on stderr"]);
    }
    killed_by_a_signal: ServerCommand::new("sh").args(["-c", "kill -SEGV $$"]), PATIENT, |report| {
        says(only(report, "PT0203"), "SIGSEGV");
    }
    a_program_that_is_no_server: ServerCommand::new("echo").args(["usage: example serve"]), PATIENT, |report| {
        says(only(report, "PT0203"), "usage: example serve");
    }
    lists_that_fail: python(&["lists-fail"]), PATIENT, |report| {
        says(only(report, "PT0322"), "refuses `tools/list`: `the database is down` (-32603)");
    }
    exits_in_a_session: python(&["exits-at-list"]), PATIENT, |report| {
        let finding = only(report, "PT0208");
        says(finding, "status 4 instead of answering `tools/list`");
    }

    floods_stderr: faulty(&["noisy-start", "1000000"]), PATIENT, |report| {
        says(only(report, "PT0704"), "1000000 bytes");
    }
    ends_with_an_error: python(&["fails"]), PATIENT, |report| {
        says(with_code(report, "PT0705"), "status 7");
        assert!(!report.breaks());
    }
}

servers_together! { servers_that_never_answer
    endless_text: ServerCommand::new("yes"), IMPATIENT, |report| {
        with_code(report, "PT0101");
        says(with_code(report, "PT0204"), "per second, and no response to `initialize` among them; they begin with `y");
    }
    endless_bytes: python(&["flood"]), IMPATIENT, |report| {
        let finding = only(report, "PT0204");
        says(finding, "floods stdout");
        says(finding, "without a line end");
        assert_eq!(proof(finding), (0, [b'z'; 60].as_slice()));
        assert!(report.skipped.iter().any(|why| why.contains("does not stop writing")), "{:?}", report.skipped);
    }
    never_reads: faulty(&["never-reads"]), IMPATIENT, |report| {
        says(only(report, "PT0204"), "never reads its stdin");
    }
    never_answers: python(&["silent"]), IMPATIENT, |report| {
        says(only(report, "PT0204"), "never answers");
    }
    answers_nothing_but_what_is_not_json: python(&["refuses-headers"]), IMPATIENT, |report| {
        says(only(report, "PT0204"), "never answers");
    }
    listens_on_a_port: python(&["port"]), IMPATIENT, |report| {
        says(only(report, "PT0205"), "TCP port");
    }
}

servers_together! { servers_that_answer_too_late
    headers_awaited_on_stdin: faulty(&["headers-only"]), IMPATIENT, |report| {
        says(only(report, "PT0104"), "Content-Length");
        assert_eq!(report.server.tools, 9);
    }
    not_flushed: faulty(&["unflushed"]), IMPATIENT, |report| {
        says(only(report, "PT0107"), "when stdin was closed");
    }
    answers_after_the_time_out: python(&["late"]), IMPATIENT, |report| {
        let finding = only(report, "PT0206");
        says(finding, "waits 4.0 s for it");
        assert_eq!(finding.severity, Severity::Breaks);
        assert!(report.steps.concat().contains("answered too late"), "{:?}", report.steps);
    }
    answers_after_the_time_out_and_the_end_of_input: python(&["late-at-the-end"]), IMPATIENT, |report| {
        assert_eq!(only(report, "PT0206").severity, Severity::Breaks);
    }
    an_error_after_the_time_out_is_no_refusal_in_all_revisions: python(&["late", "refuses"]), IMPATIENT, |report| {
        says(only(report, "PT0206"), "waits 4.0 s for it");
    }
    never_answers_a_list: python(&["unanswered"]), IMPATIENT, |report| {
        says(only(report, "PT0209"), "`tools/list`");
    }
}

servers_together! { servers_that_do_not_end
    ignores_the_end_of_input: faulty(&["ignores-end"]), PATIENT, |report| {
        says(only(report, "PT0701"), "SIGTERM ended it");
    }
    half_a_message_of_a_server_that_was_ended: python(&["half-a-message"]), PATIENT, |report| {
        only(report, "PT0701");
    }
    busy_at_the_end: python(&["busy-at-the-end"]), PATIENT, |report| {
        assert!(report.findings.iter().all(|finding| finding.severity == Severity::Note), "{:#?}", report.findings);
    }
    ignores_everything: faulty(&["ignores-term"]), PATIENT, |report| {
        with_code(report, "PT0701");
        says(with_code(report, "PT0702"), "SIGKILL ended it");
    }
}

#[tokio::test]
async fn slow_start() {
    let file = env::temp_dir().join(format!("papertape-check-{}-started", std::process::id()));
    let report = Box::pin(check(python(&["late-once", file.to_str().unwrap()]), PATIENT)).await;
    fs::remove_file(&file).unwrap();
    says(with_code(&report, "PT0206"), " s after the start");
}

#[tokio::test]
async fn a_script_whose_interpreter_is_missing_and_one_that_is_not_executable() {
    use std::os::unix::fs::PermissionsExt;
    let script = env::temp_dir().join(format!("papertape-check-{}-script", std::process::id()));
    fs::write(&script, "#!/no/such/interpreter -x\n").unwrap();
    let report = Box::pin(check(ServerCommand::new(&script), PATIENT)).await;
    says(only(&report, "PT0202"), "is not executable");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let report = Box::pin(check(ServerCommand::new(&script), PATIENT)).await;
    fs::remove_file(&script).unwrap();
    says(only(&report, "PT0202"), "/no/such/interpreter");
}

#[tokio::test]
async fn nothing_is_left_even_of_what_a_server_leaves_behind() {
    let file = env::temp_dir().join(format!("papertape-check-{}-pids", std::process::id()));
    let report = Box::pin(check(python(&["child", file.to_str().unwrap()]), PATIENT)).await;
    says(only(&report, "PT0703"), "sleep 600");
    let pids = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    assert!(pids.split_whitespace().count() >= 4, "{pids}");
    for pid in pids.split_whitespace() {
        let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!command.contains("600") && !command.contains("server.py"), "{pid} runs: {command}");
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_check_that_is_dropped() {
    let file = env::temp_dir().join(format!("papertape-check-{}-dropped", std::process::id()));
    let options = Options::default().timeout(PATIENT);
    let command = faulty(&["--pids", file.to_str().unwrap(), "never-reads"]);
    let checked = Box::pin(check_stdio(&command, &options));
    let started = async {
        while !fs::read_to_string(&file).is_ok_and(|pids| pids.ends_with('\n')) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = checked => panic!("it cannot have ended"),
        () = started => {}
    }
    let pid = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    // A process that was killed ends soon; the test hangs if it was not.
    while fs::read_to_string(format!("/proc/{}/cmdline", pid.trim()))
        .is_ok_and(|command| command.contains("never-reads"))
    {
        tokio::task::yield_now().await;
    }
}
