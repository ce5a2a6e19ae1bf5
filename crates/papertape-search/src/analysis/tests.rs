//! Chunks and queries get the same terms.

use proptest::prelude::{ProptestConfig, any, prop, proptest};

use super::{Bag, Language, bag, detect, query_terms, weights};

fn terms(text: &str, languages: &[Language]) -> Vec<String> {
    query_terms(text, languages).into_iter().flat_map(|word| word.forms).collect()
}

/// What is asked finds what is written.
#[track_caller]
fn meets(asked: &str, written: &str, language: Language) {
    let bag = bag("", "", &[], written, language);
    let terms = terms(asked, &[language]);
    assert!(!terms.is_empty(), "{asked}");
    for term in terms {
        assert!(bag.count(&term) > 0, "{asked:?} asks for {term:?}, and {written:?} is {bag:?}");
    }
}

#[test]
fn queries_match_other_forms_of_a_word() {
    for (asked, written, language) in [
        ("install", "Installing", Language::English),
        ("connections", "connection", Language::English),
        ("Rust’s", "rust", Language::English),
        ("instalacion", "instalación", Language::Spanish),
        ("instalaciones", "INSTALACIÓN", Language::Spanish),
        ("codigo", "códigos", Language::Spanish),
        ("anos", "años", Language::Spanish),
        ("contenedor", "contenedores", Language::Spanish),
        ("instalacao", "instalação", Language::Portuguese),
        ("Strasse", "Straße", Language::German),
        ("resume", "re\u{301}sume\u{301}", Language::Other),
        ("docker", "使用Docker部署", Language::Chinese),
        ("container", "使用 containers", Language::Chinese),
        ("部署", "使用Docker部署应用", Language::Chinese),
        ("数据库", "关系数据库管理", Language::Chinese),
        ("ガイド", "ｶﾞｲﾄﾞ", Language::Japanese),
        ("한국", "한국어", Language::Korean),
        ("foo bar", "fooBar", Language::English),
        ("foo_bar", "call foo_bar()", Language::English),
        ("1.88", "since 1.88.", Language::Other),
        ("c++", "in C++, not C#", Language::English),
        ("машина", "машины", Language::Russian),
        ("servers", "сервер server", Language::Russian),
    ] {
        meets(asked, written, language);
    }
}

#[test]
fn words_of_titles_and_headings_count_more() {
    let headings = ["Above".to_owned(), "Own".to_owned()];
    let bag = bag("a/file-name.md", "Title", &headings, "body body", Language::English);
    for (term, weight) in [
        ("titl", weights::TITLE),
        ("abov", weights::HEADINGS),
        ("own", weights::OWN_HEADING),
        ("file", weights::PATH),
        ("name", weights::PATH),
        ("a", weights::PATH),
        ("bodi", 2 * weights::BODY),
        ("md", 0),
    ] {
        assert_eq!(bag.count(term), weight, "{term}");
    }
    let length: u32 = bag.iter().map(|(_, count)| count).sum();
    assert_eq!(bag.length(), length);
}

#[test]
fn queries_are_stemmed_in_each_language_of_the_corpus() {
    assert_eq!(terms("canciones", &[Language::English, Language::Spanish]), ["cancion"]);
    let both = terms("running", &[Language::English, Language::Spanish]);
    assert_eq!(both, ["run", "running"]);
    assert_eq!(terms("running", &[Language::English, Language::Other]), ["run"]);
    assert_eq!(terms("Ñandú", &[]), ["nandu"]);
    let asked = query_terms("to be or Hamlet to be", &[]);
    let asked = asked.iter().map(|word| (word.forms.concat(), word.count, word.stop_word));
    let right = [("to", 2, true), ("be", 2, true), ("or", 1, true), ("hamlet", 1, false)];
    assert!(asked.eq(right.map(|(form, times, common)| (form.to_owned(), times, common))));
}

#[test]
fn a_word_has_its_stems_in_all_other_languages_too() {
    let elsewhere = |word: &str| query_terms(word, &[Language::English]).remove(0).in_all_languages().forms;
    assert!(elsewhere("Recetas").contains(&"recet".to_owned()), "{:?}", elsewhere("Recetas"));
    assert_eq!(elsewhere("数据"), ["数据"], "it is the same in all of them");
    assert_eq!(elsewhere("3.14"), query_terms("3.14", &[]).remove(0).forms);
}

#[test]
fn a_single_chinese_character_is_found_in_longer_words_and_counts_for_no_length_of_titles() {
    meets("猫", "我家的猫很可爱", Language::Chinese);
    meets("水", "它每天喝水。", Language::Chinese);
    assert_eq!(terms("我家的猫", &[Language::Chinese]), ["我家", "家的", "的猫"]);
    let bag = bag("", "我家的猫", &[], "", Language::Chinese);
    assert_eq!(bag.count("我家"), weights::each(weights::TITLE, 3));
}

#[test]
fn stop_words_are_known_in_their_own_language() {
    let common = |text, language| {
        query_terms(text, &[language]).into_iter().map(|word| word.stop_word).collect::<Vec<_>>()
    };
    assert_eq!(common("shots for pets", Language::English), [false, true, false]);
    assert_eq!(common("bucle for", Language::Spanish), [false, false]);
    assert_eq!(common("Cómo usar la red", Language::Spanish), [true, false, true, false]);
    assert_eq!(common("for", Language::Other), [true]);
}

#[test]
fn queries_have_bounds() {
    let many: String = (0..5_000).map(|n| format!("w{n} ")).collect();
    assert_eq!(query_terms(&many, &Language::ALL).len(), 2_000);
    assert_eq!(query_terms(&"漢".repeat(10_000_000), &Language::ALL).len(), 1);
    assert_eq!(query_terms(&format!("{}word", " ".repeat(50_000)), &[]), []);
    let ligatures = "\u{fdfa}".repeat(20_000);
    assert!(query_terms(&ligatures, &Language::ALL).len() <= 2_000);
}

#[test]
fn odd_queries_have_terms_or_none() {
    for text in [
        "",
        " ",
        "\0",
        "%",
        "_",
        "\\",
        "'; DROP TABLE chunks; --",
        "a & | ! ( :*",
        "\"unclosed",
        "NEAR(a b)",
        "title:x^2~",
        "{\"a\":1}",
        "$(touch x)",
        "../../etc/passwd",
        "<script>alert(1)</script>",
        "NaN",
        "-1",
        "1e999",
        "\u{202e}abc",
        "\u{feff}",
        "\u{200b}",
        "🏳️‍🌈",
        "T̴̨̛h̷̢e̶ ̵n̸a̷m̴e",
        "ﷺ",
        "İ",
        "ß",
        "ŉ",
        "ǰ",
        "ΐ",
        "DŽ",
        "ᾳ",
        "\u{345}",
        "𝕳𝖊𝖑𝖑𝖔",
        "1⁄4",
        "①",
        "㍿",
        "田中さん",
        "사회과학원",
        "الله",
        "ก็",
        "\u{1f468}\u{200d}\u{1f469}",
        "0x0",
        "1,000.00",
        "…",
        "null",
        "true",
    ] {
        for term in terms(text, &Language::ALL) {
            assert!(
                !term.is_empty() && !term.contains(char::is_whitespace) && !term.contains('\0'),
                "{text:?}: {term:?}"
            );
        }
    }
}

#[test]
fn adding_never_overflows() {
    let mut bag = Bag::default();
    bag.add("a".to_owned(), u32::MAX);
    bag.add("a".to_owned(), 1);
    bag.add("b".to_owned(), 1);
    assert_eq!((bag.count("a"), bag.length()), (u32::MAX, u32::MAX));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_text_is_found_by_each_of_its_words(text in any::<String>(), at in 0..Language::ALL.len()) {
        let language = Language::ALL[at];
        let bag = bag("", "", &[], &text, language);
        for term in terms(&text, &[language]) {
            assert!(!term.is_empty());
            assert!(bag.count(&term) > 0);
        }
        let _ = detect(&text);
    }

    /// Stemmers are old programs; letters of their own are where they would stumble.
    #[test]
    fn no_stemmer_panics(words in prop::collection::vec(
        "[a-zA-Z']{1,12}|[a-zà-öø-ÿßœ]{1,70}|[а-яё]{1,20}|[α-ωά-ώς]{1,20}|[؀-ۿ]{1,20}|[அ-ஹா-்]{1,20}|[a-zçğıöşü]{1,20}|[a-zăâîșț]{1,20}|\\PC{1,20}",
        1..20,
    )) {
        let text = words.join(" ");
        for language in Language::ALL {
            drop(bag(&text, &text, std::slice::from_ref(&text), &text, language));
        }
    }
}
