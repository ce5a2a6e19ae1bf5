//! What front matter and names give.

use super::{Head, MOST_NAME, MOST_TAGS, line, name};
use crate::analysis::Language;

fn read(text: &str) -> Head {
    super::read(text, None)
}

#[test]
fn yaml_and_toml_say_the_same() {
    let yaml = "---\r\ntitle: \"A  day\"\ndate: 2024-01-31\ntags: [a, B, a, 7]\nlang: es\n---\n\nText";
    let toml = "+++\ntitle = 'A day'\ndate = 2024-01-31T10:00:00Z\ntags = ['a', 'B', 'a', 7]\nlang = 'es'\n+++\n\nText";
    for text in [yaml, toml] {
        let head = read(text);
        assert_eq!(head.title.as_deref(), Some("A day"));
        assert_eq!(head.date.as_deref(), Some("2024-01-31"));
        assert_eq!(head.tags, ["a", "B", "7"]);
        assert_eq!(head.language, Some(Language::Spanish));
        assert_eq!(text.get(head.body..), Some("\nText"));
        assert_eq!((head.unread, head.warning), (None, None));
    }
}

#[test]
fn members_go_by_many_names() {
    for (text, date, tags) in [
        (
            "---\npublished: Jan 2, 2024\nkeywords: a, b ,, c d\n---\n",
            Some("2024-01-02"),
            &["a", "b", "c d"][..],
        ),
        (
            "---\ndate: soon\nlastmod: 2024/03/04\ncategories: [x]\ntag: y\n---\n",
            Some("2024-03-04"),
            &["y", "x"],
        ),
        ("---\ntags: a b #c/d\n---\n", None, &["a", "b"]),
        (
            "---\ntags: 'a b #c/d, #e'\ncategories: f A g\ncategory: h i\n---\n",
            None,
            &["a b #c/d", "e", "f", "A", "g", "h i"],
        ),
        ("---\ntags: '#a  b/c/ #d B/C #'\n---\n", None, &["a", "b/c", "d"]),
        ("---\ntags: ['#a', b c]\n---\n", None, &["a", "b c"]),
        ("+++\n[taxonomies]\ntags = ['z']\n+++\n", None, &["z"]),
        ("---\ndate: [2024]\ntags: {a: b}\ntitle: {a: b}\n---\n", None, &[]),
        ("---\n---\n", None, &[]),
        ("---\n# nothing\n\n---\n", None, &[]),
    ] {
        let head = read(text);
        assert_eq!(head.date.as_deref(), date, "{text}");
        assert_eq!(head.tags, tags, "{text}");
        assert_eq!((head.body, head.warning), (text.len(), None), "{text}");
    }
}

#[test]
fn aliases_are_titles_and_descriptions_are_prose() {
    for (text, aliases) in [
        ("---\naliases: [One, 'Two, three', 4, [], '']\n---\n", &["One", "Two, three", "4"][..]),
        ("---\nalias: One, Two\n---\n", &["One", "Two"]),
        ("---\naliases:\n  - /old/path/\n  - old/\n  - https://e.org/a\n  - A/B\n---\n", &["A/B"]),
        ("+++\naliases = ['One']\n+++\n", &["One"]),
        ("---\naliases:\n---\n", &[]),
    ] {
        assert_eq!(read(text).aliases, aliases, "{text}");
    }
    let head = read("---\ndescription: >\n  One\n  two\nsummary: 'three'\nexcerpt: 4\n---\n");
    assert_eq!(head.about, "One two\nthree");
    let long =
        read(&format!("---\ndescription: {}\naliases: [{}]\n---\n", "ñ ".repeat(9_000), "a,".repeat(900)));
    assert_eq!((long.about.chars().count(), long.aliases.len()), (1_999, MOST_TAGS));
}

#[test]
fn an_invalid_date_is_a_warning() {
    for value in ["2024-13-45", "01/05/2024", "sometime", "1714521600", "2024"] {
        for text in [format!("---\ndate: {value}\n---\n"), format!("+++\npublished = '{value}'\n+++\n")] {
            let right = format!(
                "its date \"{value}\" is not understood, so since and until leave it out; write YYYY-MM-DD"
            );
            let head = read(&text);
            assert_eq!((head.date, head.warning, head.body), (None, Some(right), text.len()), "{text}");
        }
    }
    let long = read(&format!("---\ndate: {}\n---\n", "ñ".repeat(1_000))).warning.unwrap();
    assert!(long.starts_with(&format!("its date \"{}…\" is not", "ñ".repeat(40))), "{long}");
    for fine in
        ["date:", "date: ''", "date: '  '", "date: null", "published: true", "published: Yes", "title: soon"]
    {
        let head = read(&format!("---\n{fine}\n---\n"));
        assert_eq!((head.date, head.warning), (None, None), "{fine}");
    }
}

#[test]
fn an_invalid_date_falls_back_to_the_day_in_the_name() {
    let warning = |text: &str| super::read(text, Some("2024-05-01")).warning;
    let right =
        "its date \"someday\" is not understood, so the day in its name counts, 2024-05-01; write YYYY-MM-DD";
    assert_eq!(warning("---\ndate: someday\n---\n").as_deref(), Some(right));
    assert_eq!(warning("---\ndate: 2024-01-31\n---\n"), None);
    assert_eq!(warning("---\ntitle: x\n---\n"), None);
}

#[test]
fn what_cannot_be_read_is_text_with_a_warning() {
    let mut bomb = "---\na0: &a0 [lol, lol, lol]\n".to_owned();
    for level in 1..20 {
        let below = format!("*a{}", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{below}, {below}, {below}, {below}]\n"));
    }
    bomb.push_str("---\nText");
    let deep = format!("---\na: {}\n---\nText", "[".repeat(10_000));
    let deep_toml = format!("+++\na = {}\n+++\nText", "[".repeat(10_000));
    for (text, why) in [
        (bomb.as_str(), "aliases"),
        (&deep, "front matter"),
        (&deep_toml, "TOML"),
        ("---\na: 1\na: 2\n---\nText", "twice"),
        ("---\ntitle: a: b\n---\nText", "is not valid YAML"),
        ("+++\na = \n+++\nText", "TOML"),
    ] {
        let head = read(text);
        let warning = head.warning.unwrap_or_default();
        assert!(warning.contains(why) && warning.len() < 400, "{warning}");
        assert_eq!((head.body, head.title), (0, None));
        assert_eq!(head.unread, Some(0..text.len() - "Text".len()));
    }
    let endless = read("---\ntitle: a\n\nText");
    assert!(endless.warning.is_some_and(|warning| warning.contains("no end")));
    assert_eq!((endless.body, endless.unread), (0, None));
}

#[test]
fn lines_have_bounds_and_no_control_characters() {
    assert_eq!(line(" a\0b\n\u{85} c "), "a b c");
    assert_eq!(line(&"ñ".repeat(1_000)).chars().count(), MOST_NAME);
    assert_eq!(line(&"ñ ".repeat(1_000)).chars().count(), MOST_NAME - 1);
    let head = read("---\ntitle: \"a\\0b\"\ntags: [\"c\\0d\", \"\\0\"]\n---\n");
    assert_eq!((head.title.as_deref(), head.tags), (Some("a b"), vec!["c d".to_owned()]));
    let many = format!("---\ntags: [{}]\n---\n", (0..1_000).map(|n| format!("t{n},")).collect::<String>());
    assert_eq!(read(&many).tags.len(), MOST_TAGS);
}

#[test]
fn names_become_readable() {
    for (path, title, day) in [
        ("posts/2024-01-31-my-first_post.md", "My first post", Some("2024-01-31")),
        ("2024-01-31.md", "2024 01 31", Some("2024-01-31")),
        ("journals/2024_01_31.md", "2024 01 31", Some("2024-01-31")),
        ("a/2024-01-31-my-post/index.md", "My post", Some("2024-01-31")),
        ("a/2024-01-31-my-post/part.md", "Part", Some("2024-01-31")),
        ("2024/01/my-post/index.md", "My post", Some("2024-01-01")),
        ("guides/README.md", "Guides", None),
        ("README.md", "README", None),
        ("a/_index.es.mdx", "Index.es", None),
        ("a/_index.mdx", "A", None),
        ("ñandú.md", "Ñandú", None),
        (".md", ".md", None),
        ("", "", None),
        ("a/\n.md", ".md", None),
    ] {
        assert_eq!(name(path), (title.to_owned(), day.map(str::to_owned)), "{path}");
    }
}
