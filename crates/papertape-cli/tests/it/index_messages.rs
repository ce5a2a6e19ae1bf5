//! Messages of `papertape index`: the cause and the remedy.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::Signal;

use crate::blog::{beside, index};
use crate::process::{Process, run};
use crate::{contains, document, scratch, text};

/// A directory with one file, called `docs`.
fn docs(test: &str) -> PathBuf {
    let folder = scratch(test).join("docs");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("fine.md"), "# Fine\n\nabout lanterns\n").unwrap();
    folder
}

/// Where a service may be asked for.
fn address(listener: &TcpListener) -> String {
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn an_unavailable_model_leaves_lexical_search() {
    let folder = docs("index_model_away");
    let url = address(&TcpListener::bind("127.0.0.1:0").unwrap());
    let end = index(&folder, &["--embed", "ollama", "--embed-url", &url]);
    contains(
        text(end.is_clean()),
        &[
            "  full-text search only until the model responds: index again then, or serve it, to compute the embeddings\n",
            "  the index is in docs/.papertape\n",
            "papertape serve blog --content docs --embed ollama",
        ],
    );
    assert!(!text(&end).contains("with --embed also"), "{end:?}");
    contains(
        text(index(&folder, &[]).is_clean()),
        &["full-text search; with --embed also semantic search\n"],
    );
}

#[test]
fn the_embedding_timeout_can_be_set() {
    let folder = docs("index_embed_timeout");
    // An endpoint that accepts the request and never responds.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = address(&listener);
    let end = index(&folder, &["--embed", "ollama", "--embed-url", &url, "--embed-timeout", "1.5"]);
    let serve = format!("serve blog --content docs --embed ollama --embed-url {url} --embed-timeout 1.5\n");
    contains(text(end.is_clean()), &["full-text search only", &serve]);
    contains(&end.log, &["did not respond within 1500 ms (--embed-timeout gives it more)"]);
}

#[test]
fn an_api_key_is_sent_to_other_machines_over_https_only() {
    let folder = docs("index_key_in_plain");
    let with = |key: &str, more: &[&str]| {
        let there = ["index", "docs", "--embed", "openai:m", "--embed-url", "http://box.invalid:1/v1"];
        run(beside(&folder, there).args(more).env("OPENAI_API_KEY", key), "")
    };
    let end = with("sk-secret", &[]);
    contains(
        &end.log,
        &[
            "OPENAI_API_KEY would go to the service at box.invalid:1 by plain http",
            "https",
            "unset",
            "--embed-insecure-http",
        ],
    );
    assert!(!end.status.success() && !end.log.contains("sk-secret"), "{end:?}");
    // An endpoint without a key needs none, and the check can be overridden.
    for end in [with("", &[]), with("sk-secret", &["--embed-insecure-http"])] {
        contains(&end.is_clean().log, &["box.invalid:1 cannot be reached"]);
    }
    contains(text(&with("x", &["--embed-insecure-http"])), &["--embed-insecure-http\n"]);
}

#[test]
fn an_invalid_embedding_timeout_is_refused() {
    let folder = docs("index_embed_timeout_wrong");
    for typed in ["0", "0.9", "-1", "3601", "1e9", "nan", "inf", "30s", ""] {
        let timeout = format!("--embed-timeout={typed}");
        let end = index(&folder, &["--embed", "ollama", &timeout]);
        assert_eq!((end.status.code(), text(&end)), (Some(2), ""), "{typed}: {end:?}");
        contains(&end.log, &["--embed-timeout <SECONDS>", "from 1 to 3600"]);
        let serve = ["serve", "blog", "--content", "docs", "--embed", "ollama", &timeout];
        let end = run(&mut beside(&folder, serve), "");
        assert_eq!((end.status.code(), text(&end)), (Some(2), ""), "{typed}: {end:?}");
        contains(&end.log, &["from 1 to 3600"]);
    }
    let end = index(&folder, &["--embed-timeout", "60"]);
    assert_eq!((end.status.code(), text(&end)), (Some(2), ""), "{end:?}");
    contains(&end.log, &["--embed <MODEL>"]);
    assert!(!folder.join(".papertape").exists());
}

#[test]
fn reembed_requires_a_model() {
    let folder = docs("index_reembed");
    let end = index(&folder, &["--reembed"]);
    assert_eq!((end.status.code(), text(&end)), (Some(2), ""), "{end:?}");
    contains(&end.log, &["--embed <MODEL>"]);
    assert!(!folder.join(".papertape").exists());
}

#[test]
fn a_folder_without_texts_gets_a_hint() {
    let folder = scratch("index_no_markdown").join("docs");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("notes.docx"), "about lanterns\n").unwrap();
    let end = index(&folder, &[]);
    contains(
        text(end.is_clean()),
        &["skipped 1 .docx\n", "docs: nothing to index\n", ".md, .markdown, .mdown", ".gitignore"],
    );
    for invitation in ["full-text", "papertape call", "papertape serve"] {
        assert!(!text(&end).contains(invitation), "{end:?}");
    }
    // What was there before and is gone is still counted.
    fs::write(folder.join("a.md"), "# A\n").unwrap();
    contains(
        text(index(&folder, &[]).is_clean()),
        &["1 added", "skipped 1 .docx", "full-text search", "papertape call"],
    );
    fs::remove_file(folder.join("a.md")).unwrap();
    contains(text(index(&folder, &[]).is_clean()), &["  1 removed\n", ".md, .markdown, .mdown"]);
}

#[test]
fn a_path_is_reported_as_typed() {
    let folder = docs("index_place");
    // Within a file no directory can be.
    let within = folder.join("fine.md").join("deep").join("index");
    let within = within.to_str().unwrap();
    for options in [&["--out", within][..], &["--out", within, "--verify"]] {
        let end = index(&folder, options);
        assert_eq!((end.status.code(), text(&end)), (Some(1), ""), "{end:?}");
        contains(&end.log, &[&format!(" {within}: Not a directory")]);
    }
    let nowhere = folder.with_file_name("nowhere").join("index");
    let nowhere = nowhere.to_str().unwrap();
    let end = index(&folder, &["--out", nowhere, "--verify", "--output", "json"]);
    let error = &document(&end)["error"]["message"];
    contains(error.as_str().unwrap(), &[&format!("there is no index yet at {nowhere}: ")]);
}

#[test]
fn a_warning_has_the_effect_on_the_file_and_the_remedy() {
    let folder = docs("index_warnings");
    fs::write(folder.join("binary.md"), b"\x7fELF\0\0").unwrap();
    fs::write(folder.join("gbk.md"), b"# \xc4\xe3\xba\xc3\n").unwrap();
    fs::create_dir(folder.join("dir.md")).unwrap();
    fs::write(folder.join("dir.md/inside.md"), "# Inside\n").unwrap();
    fs::create_dir(folder.with_file_name("elsewhere")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", folder.join("posts")).unwrap();
    std::os::unix::fs::symlink("fine.md", folder.join("link.md")).unwrap();
    let end = index(&folder, &[]);
    let mut lines: Vec<&str> = end.is_clean().log.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "warning: binary.md: left out: it is not text (there is a NUL byte near its beginning)",
            "warning: dir.md: a directory that is named like a file; what is in it is indexed",
            "warning: gbk.md: it is not all UTF-8: invalid bytes were replaced; save it as UTF-8",
            "warning: link.md: left out: a link, and links are not followed; put a copy in its place",
            "warning: posts: left out: a link, and links are not followed; index that directory itself, or put a copy in its place",
        ]
    );
    contains(text(&end), &["docs: 4 files"]);
}

#[test]
fn an_interrupted_index_reports_that_the_old_one_is_unchanged() {
    let folder = docs("index_interrupted");
    // An endpoint that accepts the request and never responds: progress stops there.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = address(&listener);
    for (quiet, signal, code) in
        [(false, Signal::INT, 130), (false, Signal::TERM, 143), (true, Signal::INT, 130)]
    {
        let mut command = beside(&folder, ["index", "docs", "--embed", "ollama", "--embed-url", &url]);
        command.args(quiet.then_some("--quiet")).stdin(Stdio::null());
        let process = Process::start(&mut command);
        let _question = listener.accept().unwrap();
        process.signal(signal);
        let end = process.wait();
        assert_eq!((end.status.code(), text(&end)), (Some(code), ""), "{end:?}");
        let said = "papertape: interrupted: the previous index is unchanged and can be searched\n";
        assert_eq!(end.log, if quiet { "" } else { said }, "{end:?}");
    }
    let words = ["call", "blog --index docs/.papertape", "search_blog", "query=lanterns"];
    contains(text(run(&mut beside(&folder, words), "").is_clean()), &["fine.md"]);
}
