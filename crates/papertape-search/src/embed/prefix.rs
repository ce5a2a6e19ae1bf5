//! The prefixes that some models expect before every text, by the name of the model.
//!
//! Models that were trained with prefixes rank much worse without them, and services do not add them.

use super::Purpose;

/// What stands before texts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Prefixes {
    pub(super) document: String,
    pub(super) query: String,
}

/// Part of a model's name, what it wants before a text to be found, and before one to find with; as its makers say on
/// the model's page. The first that fits counts.
const KNOWN: [(&str, &str, &str); 11] = [
    ("nomic-embed-text", "search_document: ", "search_query: "),
    // Takes an instruction as a whole sentence, without a default.
    ("e5-mistral", "", ""),
    ("e5-large-instruct", "", ""),
    ("e5-", "passage: ", "query: "),
    ("bge-m3", "", ""),
    ("bge-large-zh", "", "为这个句子生成表示以用于检索相关文章："),
    ("bge-base-zh", "", "为这个句子生成表示以用于检索相关文章："),
    ("bge-small-zh", "", "为这个句子生成表示以用于检索相关文章："),
    ("bge-", "", "Represent this sentence for searching relevant passages: "),
    ("mxbai-embed-large", "", "Represent this sentence for searching relevant passages: "),
    ("embeddinggemma", "title: none | text: ", "task: search result | query: "),
];

impl Prefixes {
    /// Of a model with this name, whatever its maker, tag or case.
    pub(super) fn of(model: &str) -> Self {
        let name = model.to_ascii_lowercase();
        let known = KNOWN.iter().find(|(part, ..)| name.contains(part));
        known.map_or_else(Self::default, |(_, document, query)| Self {
            document: (*document).to_owned(),
            query: (*query).to_owned(),
        })
    }

    /// A text with what stands before it.
    pub(super) fn put(&self, text: &str, purpose: Purpose) -> String {
        let prefix = match purpose {
            Purpose::Document => &self.document,
            Purpose::Query => &self.query,
        };
        format!("{prefix}{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_known_by_its_name_whatever_stands_around_it() {
        for (model, document, query) in [
            ("nomic-embed-text", "search_document: x", "search_query: x"),
            ("nomic-embed-text:v1.5", "search_document: x", "search_query: x"),
            ("intfloat/multilingual-e5-small", "passage: x", "query: x"),
            ("multilingual-e5-large-instruct", "x", "x"),
            ("BAAI/bge-small-en-v1.5", "x", "Represent this sentence for searching relevant passages: x"),
            ("bge-m3", "x", "x"),
            ("all-MiniLM-L6-v2", "x", "x"),
            ("text-embedding-3-small", "x", "x"),
        ] {
            let prefixes = Prefixes::of(model);
            assert_eq!(prefixes.put("x", Purpose::Document), document, "{model}");
            assert_eq!(prefixes.put("x", Purpose::Query), query, "{model}");
        }
    }
}
