//! Command-line errors as JSON.

use serde_json::{Value, json};

use crate::process::run;
use crate::{contains, document, papertape};

/// The error on stdout; nothing else is anywhere.
#[track_caller]
fn error(arguments: &[&str]) -> Value {
    let end = run(&mut papertape(arguments.iter().copied()), "");
    assert_eq!((end.status.code(), end.log.as_str()), (Some(2), ""), "{arguments:?}: {end:?}");
    let error = document(&end)["error"].take();
    assert_eq!(error["kind"], "usage", "{arguments:?}: {error}");
    let message = error["message"].as_str().unwrap();
    assert!(
        !message.contains('\n') && !message.contains('\u{1b}') && !message.contains("error:"),
        "{message:?}"
    );
    error
}

#[test]
fn a_wrong_option_is_a_json_document_with_output_json() {
    for (arguments, message, hint) in [
        (
            &["call", "text", "nosuch", "--output", "json", "--bogus"][..],
            "unexpected argument '--bogus' found",
            "papertape call",
        ),
        (&["--output=json", "list", "text"], "unexpected argument '--output' found", "papertape"),
        (&["index", "--output", "json"], "required arguments were not provided: <DIR>", "papertape index"),
        (
            &["list", "text", "--timeout", "soon", "--output", "json"],
            "invalid value 'soon' for '--timeout <SECONDS>'",
            "",
        ),
        (&["list", "--output", "json", "text", "--revision", "1"], "invalid value '1'", "2025-06-18"),
        (&["list", "text", "--output=json", "--trcae"], "'--trcae'", "'--trace'"),
        (&["call", "text", "--output", "json", "--outptu", "--", "sh"], "'--outptu'", "'--output'"),
        (&["nonsense", "--output", "json"], "'nonsense'", ""),
    ] {
        let error = error(arguments);
        contains(error["message"].as_str().unwrap(), &[message]);
        contains(&error.to_string(), &[hint]);
    }
}

#[test]
fn a_hint_has_the_usage() {
    let error = error(&["call", "text", "nosuch", "--output", "json", "--bogus"]);
    assert_eq!(
        error["hint"],
        json!(
            "tip: to pass '--bogus' as a value, use '-- --bogus'\n\nUsage: papertape call [OPTIONS] TARGET TOOL \
             [NAME=VALUE]...\n       papertape call [OPTIONS] TOOL [NAME=VALUE]... -- COMMAND [ARGUMENT]..."
        )
    );
}

#[test]
fn without_output_json_errors_are_text() {
    for arguments in [
        &["call", "text", "nosuch", "--bogus"][..],
        &["call", "text", "nosuch", "--output", "text", "--bogus"],
        &["call", "text", "nosuch", "--output", "jsno"],
        // What stands after -- is for the server that is started.
        &["list", "--bogus", "--", "server", "--output", "json"],
        &["list", "--bogus", "--", "--output=json"],
        // A value is not an option.
        &["list", "--bogus", "server --output json"],
        &["list", "--bogus", "output", "json"],
    ] {
        let end = run(&mut papertape(arguments.iter().copied()), "");
        assert_eq!((end.status.code(), &end.output[..]), (Some(2), &b""[..]), "{arguments:?}: {end:?}");
        contains(&end.log, &["error: ", "try '--help'"]);
    }
}

#[test]
fn help_wins_over_other_options() {
    for option in ["--help", "--version"] {
        let end = run(&mut papertape(["list", "--output", "json", option]), "");
        contains(std::str::from_utf8(&end.is_clean().output).unwrap(), &["papertape"]);
        assert!(!end.output.starts_with(b"{"), "{end:?}");
    }
}
