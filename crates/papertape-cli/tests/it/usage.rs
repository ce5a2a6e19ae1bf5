//! `--help`, and errors of the command line.

use std::process::Stdio;

use crate::process::{End, Process, run};
use crate::{contains, install, papertape, scratch};

fn say<'a>(arguments: impl IntoIterator<Item = &'a str>) -> End {
    run(&mut papertape(arguments), "")
}

/// The help of a command, which goes to stdout and fits on a screen.
fn help(arguments: &[&str]) -> String {
    let end = say(arguments.iter().copied());
    assert_eq!(end.is_clean().log, "");
    let text = String::from_utf8(end.output).unwrap();
    let longest = text.lines().map(|line| line.chars().count()).max();
    assert!(longest.is_some_and(|longest| (40..=100).contains(&longest)), "{longest:?}:\n{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    text
}

#[test]
fn help_names_every_command() {
    let long = help(&["--help"]);
    contains(
        &long,
        &[
            "Usage: papertape",
            "demo",
            "Show a client, a server, and every byte between them",
            "list",
            "call",
            "read",
            "prompt",
            "serve",
            "Run a bundled server over stdio",
            "bridge",
            "Connect a host to a server of another revision",
            "page",
            "Show a tape, or a server and its frames, in a browser",
            "key",
            "Make an API key for a server over HTTP",
            "completions",
            "Exit codes:",
            "3  the server could not be started",
            "--log-level",
            "--log-format",
            "RUST_LOG",
        ],
    );
    contains(&help(&["-h"]), &["Usage: papertape", "serve"]);
}

#[test]
fn help_for_serve_lists_the_servers() {
    let long = help(&["serve", "--help"]);
    contains(
        &long,
        &[
            "Usage: papertape serve [OPTIONS] <SERVER>",
            "Servers:\n  blog",
            "grammar  A tutor for twenty English verbs",
            "text     Echo and word count",
            "Secure by default: Host and Origin are restricted to loopback",
            "Examples:\n  papertape serve grammar",
        ],
    );
    contains(&help(&["serve", "-h"]), &["grammar", "text"]);
    for option in ["--tape", "--http", "--content"] {
        assert!(!long.contains(&format!("  {option}")), "{option}:\n{long}");
    }
}

#[test]
fn help_for_a_server_shows_its_own_options_only() {
    let common = ["--tape <FILE>", "FILE.old", "--grace <SECONDS>", "[default: 10]", "--outlive-parent"];
    let http = [
        "--http <[ADDRESS:]PORT>",
        "mean loopback, 127.0.0.1",
        "--allow-host <NAME>",
        "Expose Prometheus metrics at /metrics",
    ];
    let blog = ["--content <DIR>", "--index <PATH>", "--store <URL>", "--embed <MODEL>", "--watch"];
    for server in ["grammar", "text", "all", "blog"] {
        let long = help(&["serve", server, "--help"]);
        contains(&long, &[&format!("Usage: papertape serve {server} [OPTIONS]"), "Examples:"]);
        contains(&long, &common);
        contains(&long, &http);
        for option in blog {
            assert_eq!(long.contains(option), server == "blog", "{option}:\n{long}");
        }
    }
}

#[test]
fn help_for_clients_has_usage_examples_and_exit_codes() {
    for (command, words) in [
        ("list", ["papertape list [OPTIONS] TARGET\n", "-- COMMAND [ARGUMENT]...", "papertape list grammar"]),
        ("call", ["TARGET TOOL [NAME=VALUE]...", "--json <JSON|@FILE|->", "NAME:=JSON is sent unchanged"]),
        ("read", ["TARGET URI", "--out <DIR>", "> image.png"]),
        ("prompt", ["TARGET PROMPT [NAME=VALUE]...", "--output <FORMAT>", "review language=rust"]),
    ] {
        let long = help(&[command, "--help"]);
        contains(&long, &words);
        let common = [
            "--trace",
            "--tape <FILE>",
            "--revision <REVISION>",
            "2026-07-28",
            "--framing <FRAMING>",
            "--timeout",
        ];
        contains(&long, &common);
        contains(&long, &["--probe <SECONDS>", "--env <NAME=VALUE>", "--cwd <DIR>", "Exit codes:", "  4  "]);
    }
    contains(&help(&["demo", "--help"]), &["--framing", "--tape", "papertape demo --tape demo.tape"]);
}

#[test]
fn every_shell_gets_its_completions() {
    // Those of bash, zsh and fish ask papertape; these have all words.
    for shell in ["elvish", "powershell"] {
        let end = say(["completions", shell]);
        let script = std::str::from_utf8(&end.is_clean().output).unwrap();
        contains(script, &["papertape", "demo", "revision", "grammar", "allow-host", "embed-url"]);
    }
    wrong(&["completions", "csh"], &["'csh'", "bash"]);
}

#[test]
fn the_version_is_one_line() {
    for arguments in [["--version"].as_slice(), &["serve", "--version"]] {
        let end = say(arguments.iter().copied());
        let text = String::from_utf8(end.is_clean().output.clone()).unwrap();
        assert!(
            text.ends_with(&format!(" {}\n", env!("CARGO_PKG_VERSION"))) && text.lines().count() == 1,
            "{text}"
        );
    }
}

/// Wrong usage: code 2, words on stderr, nothing on stdout.
#[track_caller]
fn wrong(arguments: &[&str], words: &[&str]) {
    let end = say(arguments.iter().copied());
    assert_eq!((end.status.code(), &end.output[..]), (Some(2), &b""[..]), "{arguments:?}: {end:?}");
    contains(&end.log, words);
}

#[test]
fn an_unknown_server_gets_the_known_names() {
    let servers = "the servers: blog, grammar, text, all";
    wrong(&["serve", "grammer"], &["'grammer'", servers, "a similar subcommand exists: 'grammar'"]);
    wrong(&["serve", "no-such"], &["'no-such'", servers]);
    wrong(&["serve", ""], &[servers]);
    wrong(&["serve"], &["<SERVER>", "grammar"]);
}

#[test]
fn no_arguments_print_the_usage() {
    wrong(&[], &["Usage: papertape", "serve", "papertape demo"]);
    for command in ["list", "call", "read", "prompt", "completions"] {
        wrong(&[command], &[&format!("Usage: papertape {command}")]);
    }
}

#[test]
fn an_invalid_target_is_explained() {
    let kinds = "give a bundled name (blog, grammar, text, all), a URL, unix:SOCKET, a quoted command line";
    wrong(&["list", ""], &["which server?", kinds]);
    wrong(&["list", "--trace"], &["which server?", kinds]);
    wrong(&["list", "sh 'x"], &["not a command line: missing closing quote"]);
    let url = "http://localhost:1/mcp";
    for (option, value) in [("--env", "A=b"), ("--cwd", "/"), ("--framing", "line"), ("--env-file", "x")] {
        wrong(&["list", url, option, value], &[option, "for servers that are started as a process", url]);
    }
    for (option, value) in [("--header", "A: b"), ("--bearer-file", "x"), ("--ca", "x")] {
        wrong(
            &["list", "grammar", option, value],
            &[option, "for servers at a URL", "grammar is started as a process"],
        );
    }
    wrong(&["list", "text", "--env-file", "/nowhere"], &["--env-file /nowhere: cannot read the file"]);
    wrong(&["list", "text", "--root", "/nowhere"], &["--root /nowhere: cannot be used: No such file"]);
    wrong(&["list", "text", "--root", "/dev/null"], &["--root /dev/null: not a directory"]);
    wrong(&["list", url, "--header", "A"], &["write NAME: VALUE"]);
    wrong(&["list", url, "--bearer-file", "/nowhere"], &["--bearer-file /nowhere: cannot read the file"]);
    wrong(&["call", "grammar"], &["which tool? `papertape list grammar` lists them"]);
    wrong(&["call", "conjugate", "verb=eat"], &["expected the name of the tool, found \"verb=eat\""]);
    wrong(&["read", "grammar"], &["which resource?"]);
    wrong(&["read", "grammar", "a:b", "c:d"], &["unexpected argument \"c:d\""]);
    wrong(&["prompt", "grammar"], &["which prompt?"]);
}

#[test]
fn a_target_that_is_not_a_server_gets_a_remedy() {
    for (target, url) in [
        ("localhost:8080/mcp", "did you mean http://localhost:8080/mcp?"),
        ("127.0.0.1:8080", "did you mean http://127.0.0.1:8080/mcp?"),
        ("tools.example.com/mcp", "did you mean https://tools.example.com/mcp?"),
    ] {
        wrong(&["list", target], &[target, "begins with http:// or https://", url]);
        wrong(&["call", target, "echo"], &[url]);
    }
    let npm = "@modelcontextprotocol/server-everything is the name of an npm package, not of a program; \
               to run it: -- npx -y @modelcontextprotocol/server-everything";
    wrong(&["list", "@modelcontextprotocol/server-everything"], &[npm]);
    wrong(&["list", "@a/b@1.2 /tmp"], &["to run it: -- npx -y @a/b@1.2 /tmp"]);
    for target in ["no-such-mcp-server", "no-such-mcp-server /tmp"] {
        let end = say(["list", target]);
        assert_eq!(end.status.code(), Some(3), "{end:?}");
        contains(&end.log, &["if it is a package: -- npx -y no-such-mcp-server (npm), or -- uvx"]);
    }
}

#[test]
fn a_script_that_is_not_executable_gets_its_interpreter() {
    let folder = scratch("usage_scripts");
    for (name, interpreter) in [("server.py", "python3"), ("server.js", "node"), ("server.ts", "node")] {
        std::fs::write(folder.join(name), "").unwrap();
        let end = run(papertape(["list", &format!("./{name} --fast")]).current_dir(&folder), "");
        assert_eq!((end.status.code(), &end.output[..]), (Some(2), &b""[..]), "{end:?}");
        let right = format!("./{name} is not executable; to run it: '{interpreter} ./{name} --fast'");
        contains(&end.log, &[&right]);
    }
    // An executable one is not in PATH.
    let path = folder.join("server.py");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path, executable).unwrap();
    let end = run(papertape(["list", "server.py"]).current_dir(&folder), "");
    contains(&end.log, &["not searched for in the current directory", "'python3 server.py'"]);
    for (first_line, problem) in [
        ("import mcp", "./server.py does not name its interpreter in its first line (#!)"),
        ("#! /no/such/python -u", "./server.py names the interpreter /no/such/python, which does not exist"),
        ("#!/bin/sh\r", "names the interpreter /bin/sh⟦0d⟧, which does not exist"),
    ] {
        install(&folder.join("server.py"), format!("{first_line}\n"));
        let end = run(papertape(["list", "./server.py"]).current_dir(&folder), "");
        assert_eq!(end.status.code(), Some(2), "{end:?}");
        contains(&end.log, &[problem, "to run it: 'python3 ./server.py'"]);
    }
    for (first_line, remedy) in [
        ("import mcp", "a script must name its interpreter in its first line"),
        ("#!/no/such/python", "the interpreter that it names in its first line (#!) does not"),
    ] {
        install(&folder.join("server"), format!("{first_line}\n"));
        let end = run(papertape(["list", "./server"]).current_dir(&folder), "");
        assert_eq!(end.status.code(), Some(3), "{end:?}");
        contains(&end.log, &[remedy]);
    }
    std::fs::create_dir(folder.join("dir.py")).unwrap();
    for directory in ["dir.py", "./dir.py", "."] {
        let end = run(papertape(["list", directory]).current_dir(&folder), "");
        assert_eq!(end.status.code(), Some(2), "{end:?}");
        contains(&end.log, &[&format!("{directory} is a directory, not a program")]);
        assert!(!end.log.contains("python3"), "{end:?}");
    }
}

#[test]
fn a_wrong_option_is_explained() {
    wrong(&["sevre", "text"], &["'sevre'", "serve"]);
    wrong(&["serve", "text", "--tap", "x"], &["--tap", "--tape"]);
    wrong(&["serve", "text", "--tape"], &["--tape <FILE>"]);
    #[cfg(not(feature = "otel"))]
    for otlp in [&["--otlp", "http://localhost:4318"][..], &["--otlp=http://localhost:4318"]] {
        let words = [&["list", "text"], otlp].concat();
        wrong(&words, &["'--otlp'", "build it with the feature `otel`"]);
        assert!(!say(words).log.contains("--output"));
    }
    wrong(&["serve", "text", "more"], &["'more'"]);
    wrong(&["list", "text", "more"], &["'more'"]);
    wrong(&["list", "text", "--revision", "2025-01-01"], &["'2025-01-01'", "2025-06-18"]);
    wrong(&["list", "text", "--env", "X"], &["write NAME=VALUE"]);
    wrong(&["list", "text", "--timeout", "soon"], &["from 0 to 86400"]);
    wrong(&["demo", "--framing", "xml"], &["'xml'", "content-length"]);
    wrong(&["serve", "text", "--log-level", "loud"], &["'loud'", "debug"]);
    wrong(&["serve", "text", "--log-format", "xml"], &["'xml'", "json"]);
    for (address, words) in [
        ("", "write PORT, :PORT, localhost:PORT or ADDRESS:PORT"),
        ("127.0.0.1", "the port is missing"),
        ("[::1]", "the port is missing"),
        (":99999", "\"99999\" is not a port, which is a number from 0 to 65535"),
        ("localhost:", "\"\" is not a port"),
        ("http://localhost:8080/mcp", "leave out http:// and the path"),
        ("tools.example.com:8080", "\"tools.example.com\" is not an IP address"),
        ("*:8080", "write 0.0.0.0:8080"),
    ] {
        wrong(&["serve", "text", "--http", address], &["--http", words]);
    }
    for grace in ["-1", "soon", "nan", "1e9", "inf"] {
        wrong(&["serve", "text", &format!("--grace={grace}")], &["--grace", "from 0 to 86400"]);
    }
}

#[test]
fn closed_stdout_and_stderr_do_not_cause_a_crash() {
    for arguments in [
        ["--help"].as_slice(),
        &["serve", "--help"],
        &["--version"],
        &[],
        &["serve", "no-such"],
        &["list", "grammar"],
        &["list", "grammar", "--trace", "--output", "json"],
        &["call", "text", "echo", "text=x"],
        &["call", "text", "ecoh"],
        &["demo"],
        &["completions", "bash"],
    ] {
        let [stdout, stderr] = [(); 2].map(|()| std::io::pipe().unwrap().1);
        let mut command = papertape(arguments.iter().copied());
        let end = Process::start_as_it_is(command.stdin(Stdio::null()).stdout(stdout).stderr(stderr)).wait();
        assert!(matches!(end.status.code(), Some(0 | 2)), "{arguments:?}: {end:?}");
    }
}
