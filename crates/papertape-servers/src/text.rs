//! Two small tools to test a connection with: echo and word count.

use std::sync::LazyLock;
use std::time::Duration;

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use papertape::protocol::CacheScope;
use papertape::server::Tool;
use papertape::{Cx, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

/// The text server, ready to be served.
#[must_use]
pub fn server() -> Server {
    Server::new("papertape-text", env!("CARGO_PKG_VERSION"))
        .title("Text tools")
        .instructions("Count words with word_count rather than by eye; echo is there to test a connection.")
        // The list never changes and is the same for all clients.
        .cache(Duration::from_secs(3600), CacheScope::Public)
        .tool(text_tool("echo", "Echo a text"), echo)
        .tool(text_tool("word_count", "Count words"), word_count)
}

/// Every tool here reads its argument only.
fn text_tool(name: &'static str, title: &'static str) -> Tool {
    Tool::new(name).title(title).read_only().idempotent().closed_world()
}

/// Return a text unchanged.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Echo {
    /// The text to return.
    text: String,
}

async fn echo(args: Echo, _: Cx) -> Result<String, ToolError> {
    Ok(args.text)
}

/// Count the words of a text in any language. Numbers are words, punctuation and emoji are not, and scripts written
/// without spaces, such as Chinese, Japanese and Thai, are divided by a dictionary.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WordCount {
    /// The text to count.
    text: String,
}

async fn word_count(args: WordCount, _: Cx) -> Result<String, ToolError> {
    // A long text takes its time (10 MB of Chinese 0.4 s), and other requests must not wait for it.
    const SHORT: usize = 64 * 1024;
    let words = if args.text.len() <= SHORT {
        count_words(&args.text)
    } else {
        tokio::task::spawn_blocking(move || count_words(&args.text)).await?
    };
    Ok(words.to_string())
}

/// Word segmentation by dictionary. The neural model that ICU4X also has is a hundred times slower on Thai.
static SEGMENTER: LazyLock<WordSegmenterBorrowed<'static>> =
    LazyLock::new(|| WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()));

fn count_words(text: &str) -> usize {
    // Not the segmenter's own classification: it is wrong for words that end in a combining mark.
    let mut start = 0;
    SEGMENTER
        .segment_str(text)
        .filter(|&end| {
            let segment = text.get(start..end).unwrap_or_default();
            start = end;
            segment.chars().any(char::is_alphanumeric)
        })
        .count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn words_of_many_scripts() {
        let table = [
            ("", 0),
            (" \t\n", 0),
            ("... -- !?", 0),
            ("👍🏽", 0),
            ("one", 1),
            ("don't", 1),
            ("don’t", 1),
            ("  the   quick\nbrown fox. ", 4),
            ("3.14 is pi", 3),
            ("well-known", 2),
            ("¿Qué comió ella?", 3),
            ("e\u{301}l", 1),
            ("我喜欢学习英语", 4),
            ("私は日本語を勉強します", 7),
            ("한국어를 공부합니다", 2),
            ("ภาษาไทยง่ายมาก", 4),
            ("привет, мир", 2),
            ("नमस्ते दुनिया", 2),
            ("हिन्दी में तीन शब्द", 4),
            ("வணக்கம் உலகம்", 2),
            ("كِتَابٌ جَدِيدٌ", 2),
            ("cafe\u{301} cafe\u{301}, bar", 3),
            ("Ⅳ ½", 2),
            ("\u{0}\u{feff}\u{202e}", 0),
        ];
        for (text, words) in table {
            assert_eq!(count_words(text), words, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_count(text in any::<String>()) {
            prop_assert!(count_words(&text) <= text.chars().count());
        }

        #[test]
        fn words_of_letters_are_counted_one_by_one(words in proptest::collection::vec("[a-z]{1,8}", 0..20)) {
            prop_assert_eq!(count_words(&words.join(" ")), words.len());
        }
    }
}
