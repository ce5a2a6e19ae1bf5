//! `papertape index`, and the blog server from the shell.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::http::HANG;
use crate::process::{End, OPEN, Process, call, run};
use crate::{contains, document, papertape, scratch, text};

/// This project's docs, which are in three languages.
const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// A directory with copies of them.
fn docs(test: &str) -> PathBuf {
    let folder = scratch(test).join("docs");
    copy(Path::new(DOCS), &folder);
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && name != ".papertape" {
            copy(&path, &to.join(name));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

fn count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { count(&path) } else { 1 }).sum()
}

/// A command that is run where the directory is called `docs`.
pub(crate) fn beside<'a>(folder: &Path, words: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = papertape(words);
    command.current_dir(folder.parent().unwrap());
    command
}

pub(crate) fn index(folder: &Path, options: &[&str]) -> End {
    run(beside(folder, ["index", "docs"]).args(options), "")
}

/// The sources that a search finds, best first.
#[track_caller]
fn sources(folder: &Path, query: &str) -> Vec<String> {
    let words = ["call", "blog --content docs", "search_blog", &format!("query={query}")];
    let end = run(&mut beside(folder, words), "");
    let found: Value = serde_json::from_str(text(end.is_clean())).unwrap();
    found["hits"].as_array().unwrap().iter().map(|hit| hit["source"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_folder_in_three_languages_is_indexed_and_searched() {
    let folder = docs("blog_languages");
    let files = count(&folder);
    let end = index(&folder, &[]);
    let said = text(end.is_clean());
    contains(
        said,
        &[
            &format!("docs: {files} files, "),
            &format!("  {files} added, in "),
            "full-text search",
            "the index is in docs/.papertape\n",
            "papertape call 'blog --content docs' search_blog query=",
            "papertape serve blog --content docs\n",
        ],
    );
    assert_eq!(end.log, "", "no bar where there is no terminal");
    for (query, source) in [
        ("how do I close a client", "client.md"),
        ("¿funciona en Windows?", "es/guia.md"),
        ("codigos de salida", "es/guia.md"),
        ("退出码的含义", "zh/guide.md"),
        ("向量模型", "zh/search.md"),
    ] {
        assert_eq!(sources(&folder, query)[0], source, "{query}");
    }
}

#[test]
fn several_folders_are_indexed_and_searched_together() {
    let folder = docs("blog_several");
    let base = folder.parent().unwrap();
    fs::create_dir(base.join("notes")).unwrap();
    fs::write(base.join("notes/otters.md"), "# Otters\n\nThey hold hands.\n").unwrap();
    let end = run(&mut beside(&folder, ["index", "docs", "notes"]), "");
    let said = text(end.is_clean());
    let files = count(&folder) + 1 - count(&index_within(&folder));
    contains(
        said,
        &[&format!("docs, notes: {files} files, "), "papertape serve blog --content docs --content notes\n"],
    );
    let words = ["call", "blog --content docs --content notes", "search_blog", "query=otters"];
    let end = run(&mut beside(&folder, words), "");
    let found: Value = serde_json::from_str(text(end.is_clean())).unwrap();
    assert_eq!(found["hits"][0]["source"], "notes/otters.md");
    // It is kept, unless it is indexed with --rebuild.
    fs::remove_file(base.join("notes/otters.md")).unwrap();
    let end = run(&mut beside(&folder, ["index", "docs", "notes"]), "");
    contains(&end.log, &["warning: the directory \"notes\" has no files any more", "--rebuild"]);
    let end = run(&mut beside(&folder, ["index", "docs", "notes", "--rebuild"]), "");
    contains(text(end.is_clean()), &["  1 removed, "]);
    for (folders, said) in [
        (["docs", "docs/es"], "docs/es is inside docs, and is indexed with it: leave it out"),
        (["docs", "missing"], "missing: "),
    ] {
        let end = run(&mut beside(&folder, ["index", folders[0], folders[1]]), "");
        assert_eq!(end.status.code(), Some(2), "{}", end.log);
        contains(&end.log, &[said]);
    }
    let server = ["serve", "blog", "--content", "docs", "--content", "docs/es"];
    let end = run(&mut beside(&folder, server), "");
    assert_eq!(end.status.code(), Some(2), "{}", end.log);
    contains(&end.log, &["docs/es is inside docs"]);
}

/// The index of several directories, of which this is the first.
fn index_within(folder: &Path) -> PathBuf {
    let mut entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(".papertape-")).unwrap()
}

#[test]
fn the_tools_for_chatgpt_are_an_option() {
    let folder = docs("blog_chatgpt");
    let target = "blog --content docs --chatgpt --base-url https://docs.example/guides";
    let end = run(&mut beside(&folder, ["call", target, "search", "query=códigos de salida"]), "");
    let found: Value = serde_json::from_str(text(end.is_clean())).unwrap();
    assert_eq!(found["results"][0]["url"], "https://docs.example/guides/es/guia.md");
    for (options, said) in
        [("--base-url https://docs.example", "--chatgpt"), ("--chatgpt --base-url docs", "https://HOST")]
    {
        let target = format!("blog --content docs {options}");
        let end = run(&mut beside(&folder, ["list", &target]), "");
        assert!(end.status.code() != Some(0) && end.log.contains(said), "{}", end.log);
    }
}

#[test]
fn the_server_indexes_by_itself_where_it_is_started() {
    let folder = docs("blog_first_use");
    let files = count(&folder);
    // A read-only command leaves no files behind.
    let mut look = papertape(["list", "blog"]);
    contains(text(run(look.current_dir(&folder), "").is_clean()), &["search_blog", "read_chunk"]);
    assert!(!folder.join(".papertape").exists());
    let ask = || {
        let mut here = papertape(["call", "blog", "search_blog", "query=códigos de salida", "top_k=1"]);
        run(here.current_dir(&folder), "")
    };
    let mut end = ask();
    // On a busy machine the first index may take longer than a query waits.
    while end.log.contains("the index is being made") {
        end = ask();
    }
    let found: Value = serde_json::from_str(text(end.is_clean())).unwrap();
    assert_eq!((&found["hits"][0]["source"], &found["mode"]), (&json!("es/guia.md"), &json!("lexical")));
    let list = || {
        let mut here = papertape(["list", "blog", "--output", "json"]);
        let listed = document(run(here.current_dir(&folder), "").is_clean());
        listed["resources"].as_array().unwrap().len()
    };
    // A server that is slow to open its index begins to speak before it can list what is there.
    let end = Instant::now() + HANG;
    let mut listed = list();
    while listed < files && Instant::now() < end {
        listed = list();
    }
    assert_eq!(listed, files);
    let read = ["read", "blog --content docs", "blog:///es/guia.md"];
    assert!(text(run(&mut beside(&folder, read), "").is_clean()).starts_with("# papertape en español\n"));
    let prompt = ["prompt", "blog --content docs", "answer_from_blog", "question=¿Funciona en Windows?"];
    contains(
        text(run(&mut beside(&folder, prompt), "").is_clean()),
        &["¿Funciona en Windows?", "[es/guia.md#chunk"],
    );
    let missing = ["call", "blog --content docs", "read_chunk", "source=es/guia.md", "chunk_index=99"];
    let end = run(&mut beside(&folder, missing), "");
    assert_eq!(end.status.code(), Some(1), "{end:?}");
    assert!(
        end.log.starts_with("Not found: es/guia.md#chunk99. The nearest there is: es/guia.md#chunk"),
        "{end:?}"
    );
}

#[test]
fn only_what_has_changed_is_read_again() {
    let folder = docs("blog_again");
    let files = count(&folder);
    index(&folder, &[]).is_clean();
    let again = document(index(&folder, &["--output", "json"]).is_clean());
    assert_eq!((&again["unchanged"], &again["added"]), (&json!(files), &json!(0)));
    fs::write(folder.join("new.md"), "# New\n\nabout lanterns\n").unwrap();
    fs::write(folder.join("es/guia.md"), "# Guía\n\notra\n").unwrap();
    fs::remove_file(folder.join("zh/guide.md")).unwrap();
    let changed = document(index(&folder, &["--output", "json"]).is_clean());
    for (what, count) in
        [("added", 1), ("changed", 1), ("removed", 1), ("unchanged", files - 2), ("files", files)]
    {
        assert_eq!(changed[what], count, "{what}: {changed}");
    }
    assert_eq!(sources(&folder, "lanterns"), ["new.md"]);
    assert_eq!(index(&folder, &["--quiet"]).is_clean().output, b"");
    assert_eq!(
        text(index(&folder, &["--verify"]).is_clean()),
        "the index is intact, and its authentication tag is valid\n"
    );
    let rebuilt = document(index(&folder, &["--rebuild", "--output", "json"]).is_clean());
    assert_eq!(rebuilt["files"], files);
}

#[test]
fn the_index_may_be_elsewhere() {
    let folder = docs("blog_elsewhere");
    let end = index(&folder, &["--out", "the index"]);
    contains(
        text(end.is_clean()),
        &["the index is in the index\n", "serve blog --content docs --index 'the index'\n"],
    );
    assert!(!folder.join(".papertape").exists());
    let words = ["call", "blog --index 'the index'", "search_blog", "query=Windows"];
    assert!(text(run(&mut beside(&folder, words), "").is_clean()).contains("\"hits\":[{"));
}

#[test]
fn files_that_cannot_be_indexed_are_reported() {
    let folder = docs("blog_faults");
    let end = run(&mut beside(&folder, ["index", "nowhere"]), "");
    assert_eq!((end.status.code(), text(&end)), (Some(2), ""), "{end:?}");
    contains(&end.log, &["papertape: nowhere: No such file"]);
    let end = run(&mut beside(&folder, ["index", "nowhere", "--output", "json"]), "");
    assert_eq!(document(&end)["error"]["kind"], "usage");
    let end = index(&folder, &["--verify"]);
    assert_eq!(end.status.code(), Some(1), "{end:?}");
    contains(&end.log, &["there is no index yet"]);
    // A directory without a model is a usage error, and so is an invalid URL.
    for (options, said) in [
        (["--embed", "./nowhere"], ["--embed: "].as_slice()),
        // The second of each, in a build without the feature `local-models` or `postgres`.
        (["--embed", "./docs"], &["config.json", "built without local embedding models"]),
        (["--store", "foo"], &["postgres://", "built without PostgreSQL"]),
    ] {
        let end = index(&folder, &options);
        assert_eq!((end.status.code(), text(&end)), (Some(2), ""), "{options:?}: {end:?}");
        assert!(said.iter().any(|said| end.log.contains(said)), "{options:?}: {end:?}");
        assert!(!folder.join(".papertape").exists(), "{options:?}");
    }
    // Where no directory can be.
    let end = index(&folder, &["--out", "docs/client.md"]);
    assert_eq!(end.status.code(), Some(1), "{end:?}");
    assert!(folder.join("client.md").is_file());
}

/// With so few open files an index of many cannot be read: it is not corrupt because of that.
#[test]
fn an_index_that_cannot_be_read_now_is_not_thrown_away() {
    let folder = docs("blog_few_files");
    index(&folder, &[]).is_clean();
    let mut failures = 0;
    // How many descriptors are needed depends on what this process was started with, and on how its threads meet.
    for limit in 10..=20 {
        let before = count(&folder.join(".papertape"));
        let mut shell = Command::new("sh");
        // With the same environment as every other command of these tests.
        shell.envs(papertape([]).get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.current_dir(folder.parent().unwrap()).args([
            "-c",
            "ulimit -n $1 && exec \"$2\" index docs --rebuild",
            "sh",
            &limit.to_string(),
            env!("CARGO_BIN_EXE_papertape"),
        ]);
        let end = run(&mut shell, "");
        if !end.status.success() {
            failures += 1;
            contains(&end.log, &["Too many open files"]);
            assert_eq!(count(&folder.join(".papertape")), before, "{limit}");
        }
        index(&folder, &["--verify"]).is_clean();
    }
    assert!(failures > 0, "ten descriptors are not enough for any index");
}

#[test]
fn a_corrupt_index_is_rebuilt_and_other_folders_are_kept() {
    let folder = docs("blog_rebuild");
    index(&folder, &[]).is_clean();
    let manifest = folder.join(".papertape/papertape.index");
    for broken in ["papertape index 3 and then nonsense", "papertape index 4 of tomorrow", "nonsense"] {
        fs::write(&manifest, broken).unwrap();
        assert_eq!(index(&folder, &[]).status.code(), Some(1), "{broken}");
        index(&folder, &["--rebuild"]).is_clean();
        index(&folder, &["--verify"]).is_clean();
    }
    let pictures = folder.with_file_name("pictures");
    fs::create_dir(&pictures).unwrap();
    for name in ["d41d8cd98f00b204e9800998ecf8427e.jpg", "papertape.index"] {
        fs::write(pictures.join(name), "mine").unwrap();
        for options in [&["--out", "pictures"][..], &["--out", "pictures", "--rebuild"]] {
            let end = index(&folder, options);
            assert_eq!(end.status.code(), Some(1), "{end:?}");
            contains(&end.log, &["choose another"]);
        }
        assert_eq!(fs::read(pictures.join(name)).unwrap(), b"mine");
    }
    assert_eq!(count(&pictures), 2);
}

#[test]
fn options_of_the_blog_server_are_refused_by_others() {
    for (option, value) in [("--content", "x"), ("--index", "x"), ("--store", "postgres://x/y")] {
        let end = run(&mut papertape(["serve", "grammar", option, value]), "");
        assert_eq!(end.status.code(), Some(2), "{end:?}");
        let hint = format!("{option} is an option of `papertape serve blog`, and this is the server grammar");
        contains(&end.log, &[&hint]);
    }
    let end = run(&mut papertape(["list", "grammar --content x"]), "");
    assert_eq!(end.status.code(), Some(2), "{end:?}");
    contains(
        &end.log,
        &["papertape: unexpected argument '--content' found", "an option of `papertape serve blog`"],
    );
    let end = run(&mut papertape(["serve", "text", "--watch"]), "");
    assert_eq!(end.status.code(), Some(2), "{end:?}");
    let end = run(&mut papertape(["serve", "blog", "--index", "x", "--store", "postgres://x/y"]), "");
    assert_eq!(end.status.code(), Some(2), "{end:?}");
}

#[test]
fn a_server_without_an_index_starts_and_reports_the_remedy() {
    let folder = docs("blog_nothing");
    for target in ["blog --content nowhere", "blog --index nowhere"] {
        let tools = document(run(&mut beside(&folder, ["list", target, "--output", "json"]), "").is_clean());
        assert_eq!(tools["tools"].as_array().unwrap().len(), 4, "{target}");
        let end = run(&mut beside(&folder, ["call", target, "search_blog", "query=x"]), "");
        assert_eq!((end.status.code(), text(&end)), (Some(1), ""), "{end:?}");
    }
}

#[test]
fn a_change_is_found_as_soon_as_it_is_reported() {
    let folder = docs("blog_watch");
    index(&folder, &[]).is_clean();
    let mut server = Process::start(&mut beside(&folder, ["serve", "blog", "--content", "docs", "--watch"]));
    server.send(OPEN);
    assert_eq!(server.message()["id"], "open");
    let search = |id| call(id, "search_blog", &json!({"query": "lanterns"}));
    let is_list_changed = |message: &Value| message["method"] == "notifications/resources/list_changed";
    // What is found, and whether a notification came before the response.
    let ask = |server: &mut Process, id: usize| {
        server.send(search(id));
        let mut notified = false;
        loop {
            let mut message = server.message();
            if message["id"] == id {
                return (message["result"]["structuredContent"]["hits"].take(), notified);
            }
            notified |= is_list_changed(&message);
        }
    };
    assert_eq!(ask(&mut server, 1).0, json!([]));
    fs::write(folder.join("new.md"), "# New\n\nabout lanterns\n").unwrap();
    let (mut found, mut notified) = (json!([]), false);
    // The first notification may be about the files that were there before, if the server was slow to list them.
    for id in 2.. {
        while !notified {
            notified = is_list_changed(&server.message());
        }
        (found, notified) = ask(&mut server, id);
        if found != json!([]) {
            break;
        }
    }
    assert_eq!(found[0]["source"], "new.md");
    server.finish().is_clean();
}

/// Hundreds of files, all about the same animal.
fn write_many(folder: &Path, animal: &str) {
    for number in 0..300 {
        let text = format!("# Note {number}\n\nA note about {animal}.\n\n## More\n\nNumber {number}.\n");
        fs::write(folder.join(format!("{number}.md")), text).unwrap();
    }
}

#[test]
fn an_index_that_is_interrupted_is_the_old_one_or_the_new_one() {
    let folder = scratch("blog_interrupted").join("docs");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("old.md"), "# Old\n\nabout lanterns\n").unwrap();
    index(&folder, &[]).is_clean();
    write_many(&folder, "otters");
    let (mut ours, theirs) = crate::login::terminal();
    let mut command = beside(&folder, ["index", "docs"]);
    let process = Process::start_as_it_is(
        command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs),
    );
    drop(command);
    // The progress bar shows that it has begun.
    let mut shown = Vec::new();
    let mut bytes = [0; 1_024];
    while !String::from_utf8_lossy(&shown).contains("reading files") {
        let read = ours.read(&mut bytes).unwrap();
        shown.extend_from_slice(&bytes[..read]);
    }
    process.signal(Signal::INT);
    let end = process.wait();
    let code = end.status.code();
    assert!(matches!(code, Some(130 | 0)), "{end:?}");
    // The signal may come when the new index is there and its completion has not been reported.
    let files = document(index(&folder, &["--verify", "--output", "json"]).is_clean())["files"].clone();
    assert!(files == 301 || files == 1 && code == Some(130), "{files} {end:?}");
    let words = ["call", "blog --index docs/.papertape", "search_blog", "query=otters"];
    let found: Value = serde_json::from_str(text(run(&mut beside(&folder, words), "").is_clean())).unwrap();
    assert_eq!(found["hits"].as_array().unwrap().is_empty(), files == 1, "{found}");
    // The next one goes to the end.
    let report = document(index(&folder, &["--output", "json"]).is_clean());
    assert_eq!(report["files"], 301);
}

#[test]
fn the_second_of_two_indexers_is_refused() {
    let folder = scratch("blog_two").join("docs");
    fs::create_dir(&folder).unwrap();
    write_many(&folder, "otters");
    let processes = [(); 3]
        .map(|()| Process::start(beside(&folder, ["index", "docs"]).stdin(std::process::Stdio::null())));
    let ends = processes.map(Process::wait);
    assert!(ends.iter().any(|end| end.status.success()), "{ends:?}");
    for end in ends.iter().filter(|end| !end.status.success()) {
        assert_eq!(end.status.code(), Some(1), "{end:?}");
        // The owner of the lock may not have written its process id yet.
        assert!(
            ["is being written by process ", "is being written by another process"]
                .iter()
                .any(|said| end.log.contains(said)),
            "{end:?}"
        );
    }
    index(&folder, &["--verify"]).is_clean();
    assert_eq!(document(index(&folder, &["--output", "json"]).is_clean())["unchanged"], 300);
}

#[test]
fn hits_are_pretty_printed_on_a_terminal() {
    let folder = docs("blog_terminal");
    index(&folder, &[]).is_clean();
    let (ours, theirs) = crate::login::terminal();
    // Without the directory nothing is compared, which might be reported after the mode if it takes long.
    let mut command =
        beside(&folder, ["call", "blog --index docs/.papertape", "search_blog", "query=退出码", "top_k=1"]);
    command.env("NO_COLOR", "1").stdin(std::process::Stdio::null()).stdout(theirs);
    let shown = crate::login::shown(ours, command).replace("\r\n", "\n");
    contains(
        &shown,
        &["{\n  \"hits\": [\n    {\n      \"source\": \"zh/guide.md\",\n", "  \"mode\": \"lexical\"\n}\n"],
    );
}
