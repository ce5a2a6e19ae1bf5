//! Term ids and changes of document frequencies, written to the database once, at the end.

use std::collections::HashMap;

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::fault::Fault;
use super::rows::rows;

/// How many terms are buffered before they are written earlier than that.
const MOST: usize = 500_000;

/// The term ids and frequency changes of a writer.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    /// Terms to their ids.
    pub(super) numbers: HashMap<String, i32>,
    /// By id: the change of the document frequency.
    changes: HashMap<i32, i32>,
}

impl Vocabulary {
    /// Adds these changes of document frequencies.
    pub(super) fn count(&mut self, terms: impl IntoIterator<Item = (i32, i32)>) {
        for (term, by) in terms {
            *self.changes.entry(term).or_default() += by;
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.numbers.len() > MOST || self.changes.len() > MOST
    }

    /// Writes and clears the changes. Terms that no chunk has any more are deleted.
    pub(super) async fn write(&mut self, client: &Client) -> Result<(), Fault> {
        self.numbers.clear();
        // In the order of the table, more or less; and a count that is back where it was has not changed.
        let mut changes: Vec<(i32, i32)> = self.changes.drain().collect();
        changes.sort_unstable();
        let fewer: Vec<i32> = changes.iter().filter(|(_, by)| *by <= 0).map(|(term, _)| *term).collect();
        let (terms, by): (Vec<i32>, Vec<i32>) = changes.into_iter().filter(|(_, by)| *by != 0).unzip();
        if !terms.is_empty() {
            let sql = "UPDATE papertape.words w SET chunks = w.chunks + changed.by
                       FROM unnest($1::integer[], $2::integer[]) AS changed(word, by) WHERE w.id = changed.word";
            rows(client, sql, &[(&terms, Type::INT4_ARRAY), (&by, Type::INT4_ARRAY)]).await?;
        }
        if !fewer.is_empty() {
            let sql = "DELETE FROM papertape.words WHERE id = ANY($1) AND chunks <= 0";
            rows(client, sql, &[(&fewer, Type::INT4_ARRAY)]).await?;
        }
        Ok(())
    }
}
