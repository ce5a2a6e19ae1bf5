//! Completions of verbs and tenses.

use papertape::ToolError;
use papertape::server::CompletionRequest;

use super::{arguments, table};

/// The verbs that begin with what was typed.
pub(super) async fn verb(so_far: CompletionRequest) -> Result<Vec<String>, ToolError> {
    Ok(beginning(&so_far.value, table::verbs().iter().map(|verb| verb.name)))
}

/// The tenses that begin with what was typed, in the spelling with "_" only if a "_" was typed.
pub(super) async fn tense(so_far: CompletionRequest) -> Result<Vec<String>, ToolError> {
    let typed = &so_far.value;
    let words = arguments::tense_words().filter(|word| typed.contains('_') || !word.contains('_'));
    Ok(beginning(typed, words))
}

fn beginning<'a>(typed: &str, words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let typed = typed.trim_start().to_lowercase();
    words.filter(|word| word.starts_with(&typed)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(value: &str) -> CompletionRequest {
        CompletionRequest::new(value)
    }

    #[tokio::test]
    async fn verbs_by_their_beginning() {
        let table: [(&str, &[&str]); 6] = [
            ("w", &["work", "walk", "watch", "want", "write"]),
            (" Wa", &["walk", "watch", "want"]),
            ("eat", &["eat"]),
            ("eats", &[]),
            ("ñ", &[]),
            ("go ", &[]),
        ];
        for (value, verbs) in table {
            assert_eq!(verb(typed(value)).await.unwrap(), verbs, "{value:?}");
        }
        assert_eq!(verb(typed("")).await.unwrap().join(", "), super::table::names());
    }

    #[tokio::test]
    async fn tenses_by_their_beginning_and_spelling() {
        let all = ["infinitive", "present simple", "past simple", "past participle", "simple future"];
        let table: [(&str, &[&str]); 7] = [
            ("", &all),
            ("past", &["past simple", "past participle"]),
            ("Past S", &["past simple"]),
            ("past_", &["past_simple", "past_participle"]),
            ("simple_", &["simple_future"]),
            ("future", &[]),
            ("_", &[]),
        ];
        for (value, tenses) in table {
            assert_eq!(tense(typed(value)).await.unwrap(), tenses, "{value:?}");
        }
    }
}
