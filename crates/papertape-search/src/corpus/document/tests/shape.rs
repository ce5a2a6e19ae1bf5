//! Where documents are cut, and what their chunks say.

use proptest::prelude::{ProptestConfig, Strategy, any, prop, proptest};

use super::{check, chunks, plain};
use crate::analysis::Language;
use crate::corpus::document;

#[track_caller]
fn cut(markdown: &str, wanted: &[(&str, &str)]) {
    let found = chunks(markdown);
    let found: Vec<_> = found.iter().map(|(headings, plain)| (headings.as_str(), plain.as_str())).collect();
    assert_eq!(found, wanted, "{markdown}");
}

/// Text that is not tiny.
fn long(word: &str) -> String {
    [word].repeat(40).join(" ")
}

#[test]
fn sections_begin_with_headings() {
    let (a, b, c, d) = (long("aaaa"), long("bbbb"), long("cccc"), long("dddd"));
    cut(
        &format!("{a}\n\n# One #\n\n{b}\n\nTwo *three*\n---\n{c}\n### `Four` {{#id}}\n{d}\n"),
        &[("", &a), ("", &b), ("Two three", &c), ("Two three > Four", &d)],
    );
}

#[test]
fn the_title_is_not_repeated_above_each_chunk() {
    let (a, b) = (long("aaaa"), long("bbbb"));
    let body = format!("# Title\n\n{a}\n\n## Two\n\n{b}\n");
    cut(&body, &[("", &a), ("Two", &b)]);
    cut(&format!("---\ntitle: Title\n---\n{body}"), &[("", &a), ("Two", &b)]);
    cut(&format!("---\ntitle: Other\n---\n{body}"), &[("Title", &a), ("Title > Two", &b)]);
}

#[test]
fn headings_right_above_another_go_with_it() {
    let (a, b) = (long("aaaa"), long("bbbb"));
    cut(
        &format!("# Title\n\n## One\n\n### Two\n\n{a}\n\n### Three\n\n{b}\n\n## Four\n"),
        &[("One > Two", &a), ("One > Three", &b), ("Four", "")],
    );
}

#[test]
fn tiny_neighbours_share_a_chunk() {
    cut("## A\n\na\n\n## B\n\nb\n\n## C\n\nc\n", &[("A", "a\nB\nb\nC\nc")]);
    // Not those of another parent, and not one with others below it.
    cut("## A\n\na\n\n### B\n\nb\n\n## C\n\nc\n", &[("A", "a"), ("A > B", "b"), ("C", "c")]);
    cut("## A\n\na\n\n## B\n\nb\n\n### C\n\nc\n", &[("A", "a"), ("B", "b"), ("B > C", "c")]);
    let a = long("aaaa");
    cut(&format!("## A\n\n{a}\n\n## B\n\nb\n"), &[("A", &a), ("B", "b")]);
}

#[test]
fn headings_within_something_else_cut_nothing() {
    cut("> # A\n>\n> a\n\n- # B\n\n  b\n\n```\n# C\n```\n", &[("", "A\na\nB\nb\n# C")]);
    let long = "word ".repeat(1_000);
    assert!(chunks(&format!("# {long}\n\ntext\n")).iter().all(|(headings, _)| headings.is_empty()));
}

#[test]
fn long_sections_are_cut_between_blocks() {
    let paragraph = "A sentence of some words. ".repeat(30);
    let section = format!("## Long\n\n{}", format!("{paragraph}\n\n").repeat(10));
    let found = check("a.md", section.as_bytes()).chunks;
    assert!(found.len() >= 4, "{}", found.len());
    for chunk in &found {
        assert_eq!(chunk.headings, ["Long"]);
        assert!(chunk.text.ends_with("\n\n"), "{:?}", chunk.text);
        assert!(chunk.plain.starts_with("A sentence"), "{}", chunk.plain);
    }
}

#[test]
fn lists_tables_and_code_are_cut_between_their_lines() {
    let item = format!("- {}\n", "word ".repeat(60));
    let row = format!("| {} | x |\n", "cell ".repeat(50));
    let code = format!("    let a = {};\n", "b + ".repeat(20));
    for text in [
        item.repeat(30),
        format!("| a | b |\n|---|---|\n{}", row.repeat(30)),
        format!("```rust\n{}```\n", code.repeat(60)),
        format!("<div>\n{}</div>\n", code.repeat(60)),
        format!("> {item}").repeat(30),
    ] {
        let found = check("a.md", text.as_bytes()).chunks;
        assert!(found.len() >= 3, "{}", found.len());
        for chunk in &found {
            assert!(chunk.text.ends_with('\n'), "{:?}", chunk.text);
            assert!(chunk.plain.len() > 300, "{:?}", chunk.plain);
        }
    }
}

#[test]
fn a_line_without_end_is_cut_within() {
    for word in ["a", "ñ", "漢", "😀", "a ", "漢。", "x. "] {
        let text = word.repeat(60_000);
        let found = check("a.md", text.as_bytes()).chunks;
        assert!(found.len() > 20, "{word}: {}", found.len());
        let words: usize =
            found.iter().map(|chunk| chunk.plain.chars().filter(|c| !c.is_whitespace()).count()).sum();
        assert_eq!(words, text.chars().filter(|c| !c.is_whitespace()).count(), "{word}");
    }
    let code = format!("`{}`", "漢".repeat(60_000));
    assert!(check("a.md", code.as_bytes()).chunks.iter().all(|chunk| chunk.plain.chars().count() < 1_000));
}

#[test]
fn readers_see_words_and_no_marks() {
    assert_eq!(plain("A *b* **c** ~~d~~ `e` [f](http://x.y/z \"t\") ![g](h.png)\n"), "A b c d e f g");
    assert_eq!(plain("a\\_b &amp; c&#42; <b>d</b><br>e <!-- f -->g\n"), "a_b & c* d e g");
    assert_eq!(plain("| a | b |\n|---|---|\n| c | `d` |\n"), "a | b\nc | d");
    assert_eq!(plain("[a]: http://x.y\n\nText[^1] and [a].\n\n[^1]: Note\n"), "Text and a.\nNote");
    assert_eq!(plain("- [x] one\n- [ ] two\n  three\n"), "one\ntwo three");
    assert_eq!(plain("```js\nlet a;\n```\n\n    b\n"), "let a;\nb");
    assert_eq!(plain("<div class=\"x\">\n<p>One</p>\n</div>\n\nTwo\n"), "One\nTwo");
    assert_eq!(plain("[[page]] and [[page|shown]]\n"), "page and shown");
    assert_eq!(plain("一行\n又一行\nand\nmore\n"), "一行又一行 and more");
    assert_eq!(plain("> [!NOTE]\n> text\n"), "text");
}

#[test]
fn readers_see_words_of_wikis_and_no_marks() {
    assert_eq!(
        plain("[[a/Page#Heading]], [[Page#^id|*shown*]] and [[#Here]].\n"),
        "a/Page > Heading, shown and Here."
    );
    assert_eq!(plain("| [[a\\|b]] | ![[Page]] |\n|---|---|\n| ![[x.png\\|300]] | c |\n"), "b | Page\n | c");
    assert_eq!(plain("![[Pasted image 1.png]]\n\n![[Page#Part]]\n\n![[talk.mp3]]\n"), "Page > Part");
    assert_eq!(plain("A paragraph. ^37066d\n\n- one ^a1\n  - two ^b2\n\n^c3\n"), "A paragraph.\none\ntwo");
    assert_eq!(plain("# Heading ^abc\n\n`x ^2` is 2^10.\n"), "x ^2 is 2^10.");
    assert_eq!(
        plain("A ==**marked** word== and `==code==`, a == b.\n"),
        "A marked word and ==code==, a == b."
    );
    assert_eq!(plain("One %%two%% three.\n\n%%\n# Four\n%%\n\nFive\n"), "One three.\nFive");
    assert_eq!(plain("> [!tip]- A title\n> text\n\n> [!NOTE]\n> more\n"), "A title text\nmore");
    let document = check("a.md", "# Heading ^abc\n\ntext\n".as_bytes());
    assert_eq!((document.title.as_str(), document.chunks[0].plain.as_str()), ("Heading", "text"));
}

#[test]
fn tags_are_in_front_matter_and_text() {
    let text = "---\ntags: [Alpha, b/c]\n---\n# A #heading\n\nOne #two **#three** #alpha \\#four `#five` [#six](#seven) \
        http://e.org/#eight [[Page#nine]] #fff &#35;ten\n\n```\n#eleven\n```\n- #twelve\n#\n#thirteen\n";
    let document = check("a.md", text.as_bytes());
    assert_eq!(document.tags, ["Alpha", "b/c", "heading", "two", "three", "twelve", "thirteen"]);
    let many: String = (0..1_000).map(|n| format!("#tag{n} ")).collect();
    assert_eq!(check("a.md", many.as_bytes()).tags.len(), 64);
}

#[test]
fn other_formats_have_titles_headings_and_words() {
    let (a, b) = (long("aaaa"), long("bbbb"));
    let rst = format!("=====\nTitle\n=====\n\n{a}\n\nOne\n---\n\n{b}\n");
    let adoc = format!("= Title\n:keywords: k\n\n{a}\n\n== One\n\n{b}\n");
    let org = format!("#+TITLE: Title\n#+FILETAGS: :k:\n\n{a}\n\n* One\n\n{b}\n");
    let html = format!(
        "<title>Title - Site</title><meta name=keywords content=k><h1>Title</h1><p>{a}<h2>One</h2>{b}"
    );
    let notebook = format!(
        r###"{{"cells": [{{"cell_type": "markdown", "source": "# Title #k\n{a}"}}, {{"cell_type": "markdown", "source": "## One\n{b}"}}]}}"###
    );
    for (path, text) in
        [("a.rst", rst), ("a.adoc", adoc), ("a.org", org), ("a.html", html), ("a.ipynb", notebook)]
    {
        let document = check(path, text.as_bytes());
        assert!(document.title.starts_with("Title"), "{path}: {}", document.title);
        assert_eq!(document.tags.is_empty(), path == "a.rst", "{path}");
        let [first, last] = document.chunks.as_slice() else { panic!("{path}: {:?}", document.chunks) };
        assert!(first.plain.ends_with(&a) && first.headings.is_empty(), "{path}: {first:?}");
        assert_eq!((last.plain.as_str(), last.headings.join(" > ").as_str()), (b.as_str(), "One"), "{path}");
        for chunk in &document.chunks {
            assert_eq!(document::plain(path, &chunk.text), chunk.plain, "{path}");
        }
    }
    let text = check("my-notes.txt", b"# One\ntwo\n\n---\ntitle: x\n---\n[a](b.md)\n");
    assert_eq!((text.title.as_str(), text.chunks.len()), ("My notes", 1));
    assert_eq!(text.chunks[0].plain, "# One two\n--- title: x --- [a](b.md)");
    assert!(document::links("a.txt", "[a](b.md)").is_empty());
    assert_eq!(document::links("a.html", "<a href='b.html'>a</a>")[0].target, "b.html");
    let broken = check("a.ipynb", b"{");
    assert!(broken.chunks.is_empty() && broken.warnings[0].starts_with("left out: it is not a notebook"));
    let front = check("a.html", b"---\ntitle: Front\ntags: [t]\n---\n<p>text");
    assert_eq!((front.title.as_str(), front.chunks[0].text.as_str()), ("Front", "text\n"));
}

#[test]
fn mdx_shows_no_programs() {
    let mdx =
        "import A from 'a'\n\n# Title\n\n<A b={c}>\n\nOne [two](three.md)\n\n</A>\n\nexport const d = 1\n";
    let document = check("a.MDX", mdx.as_bytes());
    assert_eq!(document.title, "Title");
    let plain: Vec<_> = document.chunks.iter().map(|chunk| chunk.plain.as_str()).collect();
    assert_eq!(plain, ["", "One two"]);
    assert!(document.chunks[0].text.starts_with("import A"));
}

#[test]
fn titles_come_from_the_best_place() {
    for (path, text, title) in [
        ("a.md", "---\ntitle: Front\n---\n# Heading\n", "Front"),
        ("a.md", "text\n\n## Two\n\n# One\n", "One"),
        ("my-notes.md", "## Two\n", "My notes"),
        ("my-notes.md", "#\n", "My notes"),
        ("x.md", "\0", "X"),
    ] {
        assert_eq!(check(path, text.as_bytes()).title, title, "{text:?}");
    }
    assert_eq!(check("2024-01-31-x.md", b"").date.as_deref(), Some("2024-01-31"));
}

#[test]
fn languages_are_detected_by_prose() {
    let english =
        "The quick brown fox jumps over the lazy dog, and nobody knows why it would do such a thing. ";
    let spanish =
        "El veloz zorro marrón salta sobre el perro perezoso, y nadie sabe por qué haría tal cosa. ";
    let code = "```\nlet mut x = vec![]; for i in 0..10 { x.push(i); }\n```\n\n".repeat(20);
    for (text, language) in [
        (format!("{code}{english}\n"), Language::English),
        (format!("{code}{spanish}\n"), Language::Spanish),
        (format!("{code}敏捷的棕色狐狸跳过了懒狗，没有人知道为什么。使用 Docker\n"), Language::Chinese),
        (format!("{code}素早い茶色の狐が怠け者の犬を飛び越える。\n"), Language::Japanese),
        (format!("{code}빠른 갈색 여우가 게으른 개를 뛰어넘는다.\n"), Language::Korean),
        (format!("---\nlang: es-MX\n---\n{english}"), Language::Spanish),
        (code, Language::Other),
        (String::new(), Language::Other),
    ] {
        assert_eq!(check("a.md", text.as_bytes()).language, language, "{text}");
    }
}

#[test]
fn line_ends_and_marks_are_kept_or_left_out() {
    let text = "\u{feff}---\r\ntitle: T\r\n---\r\n# A\r\n\r\ntext\r\nmore\r\n";
    let document = check("a.md", text.as_bytes());
    assert_eq!(document.title, "T");
    assert_eq!(document.chunks[0].text, "# A\r\n\r\ntext\r\nmore\r\n");
    assert_eq!(document.chunks[0].plain, "text more");
    assert!(document.warnings.is_empty());
}

#[test]
fn the_words_of_a_chunk_can_be_had_from_its_text() {
    let paragraph = "A *sentence* of [some](x.md) `words`.\n\n".repeat(20);
    let items = "- one\n- two\n".repeat(20);
    let text =
        format!("Before.\n\n# Title\n\n## One\n\n{paragraph}\n## Two\n\n{items}\n## A\n\na\n\n## B\n\nb\n");
    for path in ["a.md", "a.mdx"] {
        let found = check(path, text.as_bytes()).chunks;
        assert!(found.len() >= 4);
        for chunk in found {
            assert_eq!(document::plain(path, &chunk.text), chunk.plain);
        }
    }
}

#[test]
fn nothing_gives_no_chunks() {
    for text in ["", " ", "\n\n\n", "---\ntitle: a\n---\n", "---\ntitle: a\n---\n\n \t\n"] {
        assert!(check("a.md", text.as_bytes()).chunks.is_empty(), "{text:?}");
    }
}

/// Lines as Markdown has them, in any order.
fn markdown() -> impl Strategy<Value = String> {
    let line = "(#{1,7} |- |> |\\* |[0-9]\\. |    |```|~~~|\\| |---|===|<div>|<!--|-->|import |\\[a\\]: |\\+\\+\\+)?\
        ([a-zñ漢*_`\\[\\]()<>{}|&;!\\\\ ]{0,12}|word ){0,6}(\r?\n){0,3}";
    prop::collection::vec((line, 1..40_usize), 0..30)
        .prop_map(|lines| lines.into_iter().map(|(line, times)| line.repeat(times)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn chunks_are_the_text_whatever_it_is(text in markdown()) {
        check("a.md", text.as_bytes());
        for path in ["a.mdx", "a.txt", "a.rst", "a.adoc", "a.org", "a.html"] {
            check(path, text.as_bytes());
        }
        check("a.md", format!("---\na: b: c\n---\n{text}").as_bytes());
    }

    #[test]
    fn bytes_are_read_whatever_they_are(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check("a.md", &bytes);
        check("a.mdx", &[&b"---\n"[..], &bytes].concat());
        for (path, start) in
            [("a.txt", ""), ("a.rst", "a\n==\n"), ("a.adoc", "= a\n"), ("a.org", "* a\n"), ("a.html", "<p>"), ("a.ipynb", "")]
        {
            check(path, &[start.as_bytes(), &bytes].concat());
        }
    }
}
