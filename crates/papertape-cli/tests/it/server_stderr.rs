//! What a server process writes to stderr: all of it with `--trace`, and the part that matters in errors.

use crate::process::run;
use crate::{contains, papertape};

/// A server of one tool that fails, after it has written something to stderr: a panic, if an argument is `loud`.
const SERVER: &str = r#"respond() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
failed='"error":{"code":-32603,"message":"internal error"}'
while read -r line; do
    id=${line##*'"id":'}; id=${id%%[,\}]*}
    case $line in
        *'"initialize"'*) respond '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
        *tools/list*) respond '"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}' ;;
        *loud*)
            printf "\nthread 'main' panicked at src/main.rs:2:5:\nthe basket is gone\nstack backtrace:\n" >&2
            for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do echo "  $n: core::panicking::panic_fmt" >&2; done
            respond "$failed" ;;
        *tools/call*) printf 'quiet \033[2J\n' >&2; respond "$failed" ;;
    esac
done"#;

fn server(arguments: &[&str]) -> std::process::Command {
    let mut command = papertape(arguments.iter().copied());
    command.args(["--revision", "2025-11-25", "--", "sh", "-c", SERVER]);
    command
}

#[test]
fn trace_shows_stderr_line_by_line() {
    let end = run(&mut server(&["call", "--trace", "t", "a=1"]), "");
    contains(&end.log, &["stderr  quiet ⟦1b⟧[2J\n"]);
    assert_eq!(end.log.matches("quiet").count(), 1, "{}", end.log);
}

#[test]
fn the_reason_of_a_panic_is_shown_above_its_backtrace() {
    let end = run(&mut server(&["call", "t", "a=loud"]), "");
    contains(
        &end.log,
        &[
            "its stderr says: thread 'main' panicked at src/main.rs:2:5: the basket is gone\n",
            "the last 20 lines",
        ],
    );
}

#[test]
fn an_error_in_the_shell_has_only_the_stderr_of_its_command() {
    let end = run(&mut server(&["shell"]), "t a=loud\nt a=1\n");
    let (first, second) = end.log.split_once("line 2: ").unwrap();
    contains(first, &["line 1: ", "the basket is gone"]);
    contains(second, &["quiet"]);
    assert!(!second.contains("basket") && !second.contains("panicking"), "{second}");
}
