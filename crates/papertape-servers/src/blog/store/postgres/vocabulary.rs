//! Words to their numbers, and how many more or fewer chunks they stand in: told to the database once, at the end.

use std::collections::HashMap;

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::ask::rows;
use super::fault::Fault;

/// How many words are remembered before the database is told after all.
const MOST: usize = 500_000;

/// What a writer knows of words.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    /// Their numbers.
    pub(super) numbers: HashMap<String, i32>,
    /// By number: what the count of chunks changes by.
    changes: HashMap<i32, i32>,
}

impl Vocabulary {
    /// Counts each of these words up or down, by that much.
    pub(super) fn count(&mut self, words: impl IntoIterator<Item = (i32, i32)>) {
        for (word, by) in words {
            *self.changes.entry(word).or_default() += by;
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.numbers.len() > MOST || self.changes.len() > MOST
    }

    /// Tells the database, and forgets. Words that stand nowhere any more go.
    pub(super) async fn write(&mut self, client: &Client) -> Result<(), Fault> {
        self.numbers.clear();
        // In the order of the table, more or less; and what came and went again is no change.
        let mut changes: Vec<(i32, i32)> = self.changes.drain().collect();
        changes.sort_unstable();
        let fewer: Vec<i32> = changes.iter().filter(|(_, by)| *by <= 0).map(|(word, _)| *word).collect();
        let (words, by): (Vec<i32>, Vec<i32>) = changes.into_iter().filter(|(_, by)| *by != 0).unzip();
        if !words.is_empty() {
            let sql = "UPDATE papertape.words w SET chunks = w.chunks + changed.by
                       FROM unnest($1::integer[], $2::integer[]) AS changed(word, by) WHERE w.id = changed.word";
            rows(client, sql, &[(&words, Type::INT4_ARRAY), (&by, Type::INT4_ARRAY)]).await?;
        }
        if !fewer.is_empty() {
            let sql = "DELETE FROM papertape.words WHERE id = ANY($1) AND chunks <= 0";
            rows(client, sql, &[(&fewer, Type::INT4_ARRAY)]).await?;
        }
        Ok(())
    }
}
