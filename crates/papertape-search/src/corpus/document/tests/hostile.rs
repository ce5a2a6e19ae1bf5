//! Files that would like to take long: after the 25 inputs that cmark's tests call pathological, and some of our own.

use std::fmt::Write;

use super::{MOST, check, cost, read};

/// As large as cmark's own.
const MANY: usize = 50_000;

/// With what they are called there.
fn bombs() -> Vec<(&'static str, String)> {
    let n = MANY;
    let open_close = |open: &str, inside: &str, close: &str, n: usize| {
        format!("{}{inside}{}", open.repeat(n), close.repeat(n))
    };
    let references: String = (0..n / 10).fold(String::new(), |mut text, at| {
        let _ = writeln!(text, "[{at}]: u\n\n[0]\n");
        text
    });
    let ticks: String = (1..500).map(|at| format!("e{}", "`".repeat(at))).collect();
    vec![
        ("nested strong emphasis", open_close("*a **a ", "b", " a** a*", n)),
        ("many emphasis closers with no openers", "a_ ".repeat(n)),
        ("many emphasis openers with no closers", "_a ".repeat(n)),
        ("many link closers with no openers", "a]".repeat(n)),
        ("many link openers with no closers", "[a".repeat(n)),
        ("mismatched openers and closers", "*a_ ".repeat(n)),
        ("a cmark fuzz case", format!("a**b{}", "c* ".repeat(n))),
        ("openers and closers multiple of 3", format!("a**b{}", "c* ".repeat(n))),
        ("link openers and emphasis closers", "[ a_".repeat(n)),
        ("pattern [ (]( repeated", "[ (](".repeat(n)),
        ("pattern ![[]() repeated", "![[]()".repeat(n)),
        ("hard link and emphasis case", "**x [a*b**c*](d)".to_owned()),
        ("nested brackets", open_close("[", "a", "]", n)),
        ("nested block quotes", format!("{}a", "> ".repeat(n))),
        ("deeply nested lists", (0..1_000).map(|at| format!("{}* a\n", "  ".repeat(at))).collect()),
        ("NUL characters in the text", format!("{}abc\0de\0", "text ".repeat(4_000))),
        ("backticks", ticks),
        ("unclosed inline links", "[a](<b".repeat(n)),
        ("unclosed inline links, without brackets", "[a](b".repeat(n)),
        ("unclosed comments", format!("</{}", "<!--".repeat(n))),
        ("unclosed instructions", format!("a {}", "<?".repeat(n))),
        ("unclosed declarations", format!("a {}", "<!A ".repeat(n))),
        ("unclosed CDATA", format!("a {}", "<![CDATA[".repeat(n))),
        ("empty lines in deeply nested lists", format!("{}x{}", "- ".repeat(3_000), "\n".repeat(3_000))),
        (
            "empty lines in deeply nested lists in quotes",
            format!("{}x{}", "> ".repeat(300) + &"- ".repeat(300), "\n> ".repeat(3_000)),
        ),
        ("lazy lines in deep quotations", format!("{}x{}", "> ".repeat(n), "\ny".repeat(n))),
        ("lazy lines in deep lists", format!("{}x{}", "- ".repeat(n), "\ny".repeat(n))),
        ("reference definitions", references),
        ("emphasis in deep quotes", "> *a **b ".repeat(1_000)),
        ("headings", "# a\n".repeat(n)),
        ("headings within headings", "# a\n## b\n### c\n#### d\n##### e\n###### f\n".repeat(n / 10)),
        ("a heading without end", format!("# {}", "a ".repeat(n))),
        ("a table without end", format!("|a|\n|-|\n{}", "|a|".repeat(n))),
        (
            "a table of many columns",
            format!("{}\n{}\n{}", "|a".repeat(500), "|-".repeat(500), "|\n".repeat(n / 10)),
        ),
        ("footnotes", "[^a]: [^a]\n".repeat(n / 10)),
        ("tags", "<a href='".repeat(n)),
        ("braces", "<a {".repeat(n)),
        ("blank lines", "\n".repeat(n)),
        ("blanks", format!("{}a", " ".repeat(n))),
        ("items in items on a line", format!("{}a", "- ".repeat(n))),
        ("wiki links", "[[a|".repeat(n)),
        ("exports", "export {\n".repeat(n)),
        ("entities", "&amp".repeat(n)),
        ("escapes", "\\".repeat(n)),
    ]
}

#[test]
fn hostile_markdown_is_read_like_any_other() {
    for (name, text) in bombs() {
        let blank = text.trim().is_empty();
        for document in [check("a.md", text.as_bytes()), read("a.mdx", text.as_bytes())] {
            assert_eq!(document.chunks.is_empty(), blank, "{name}");
        }
    }
}

#[test]
fn large_files_are_read() {
    for piece in ["a", "word ", "# a\n", "- a\n", "漢", "| a ", "`", "[a](b) ", "<b>", "\n"] {
        let text = piece.repeat((1 << 20) / piece.len());
        let document = read("a.md", text.as_bytes());
        let length: usize = document.chunks.iter().map(|chunk| chunk.text.len()).sum();
        assert!(length == text.len() || text.trim().is_empty(), "{piece}");
    }
}

#[test]
fn hostile_texts_of_other_formats_are_read_like_any_other() {
    for (name, text) in bombs() {
        for path in ["a.rst", "a.org", "a.html"] {
            let document = read(path, text.as_bytes());
            let shown = !document.chunks.is_empty() || text.trim().is_empty() || path == "a.html";
            assert!(shown, "{name} as {path}");
        }
    }
}

#[test]
fn large_files_of_other_formats_are_read() {
    let pieces = [
        "[",
        "*",
        "{",
        "<",
        "&",
        "`",
        "#",
        "=",
        "a",
        "a\n",
        "=\n",
        "a\n=\n",
        "* a\n",
        "= a\n",
        "----\n",
        ":PROPERTIES:\n",
        "<p>",
        "<a href=x>",
        "<a href=x>a",
        "<li>",
        "<ul><li>",
        "<td>",
        "<pre>",
        "<pre>`</pre>",
        "<code>a",
        "<nav>",
        "<h1>",
        "<svg>",
        "<script>",
        "<a b=c ",
        "<a b",
        "</p>",
        "<!--",
        "&#x41;",
        "\n",
        "<br>",
        "<title>a",
        "#+begin_src\n",
        "* a :b:\n",
        "[[",
    ];
    for piece in pieces {
        let text = piece.repeat((1 << 17) / piece.len());
        for path in ["a.txt", "a.rst", "a.adoc", "a.org", "a.html", "a.ipynb"] {
            let document = read(path, text.as_bytes());
            assert!(document.chunks.iter().all(|chunk| cost(&chunk.text) <= MOST), "{piece} as {path}");
        }
    }
    let attributes =
        format!("<a {}>b", (0..10_000).fold(String::new(), |text, n| text + &format!("a{n}=b ")));
    assert_eq!(check("a.html", attributes.as_bytes()).chunks.len(), 1);
    let cell = r##"{"cell_type": "code", "source": ["# a\n", "`b`"]},"##;
    let cells = format!("{{\"cells\": [{}{{}}]}}", cell.repeat(5_000));
    assert!(check("a.ipynb", cells.as_bytes()).chunks.len() > 30);
}

#[test]
fn nothing_that_stores_refuse_is_left() {
    let text = "---\ntitle: \"a\\0b\"\ntags: [\"c\\0\"]\n---\n# d&#0;e\n\nf\0g `h\0`\n";
    let late = format!("{text}{}\0", "x ".repeat(10_000)).replace("f\0g `h\0`", "fg");
    let document = check("a.md", late.as_bytes());
    let mut all = vec![document.title];
    all.extend(document.tags);
    for chunk in document.chunks {
        all.extend(chunk.headings);
        all.extend([chunk.text, chunk.plain]);
    }
    assert!(all.iter().all(|text| !text.contains('\0')), "{all:?}");
    assert_eq!(document.warnings.len(), 1);
    let binary = check("a.md", text.as_bytes());
    assert!(binary.chunks.is_empty() && binary.warnings.len() == 1);
}

#[test]
fn invalid_front_matter_stays_in_the_text_and_is_not_a_heading() {
    let document = check("a.md", b"---\ntitle: a: b\n---\n# Heading\n\ntext\n");
    assert_eq!(document.title, "Heading");
    assert_eq!(document.warnings.len(), 1);
    assert!(document.chunks[0].plain.contains("title: a: b"));
    assert!(document.chunks.iter().all(|chunk| chunk.headings.is_empty()));
    assert!(document.chunks.iter().any(|chunk| chunk.plain == "text"));
}
