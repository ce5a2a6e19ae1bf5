//! The one row that says what a generation holds, to a summary.

use tokio_postgres::Client;

use super::fault::Fault;
use super::rows::{count, get, row};
use super::schema;
use super::{Embedding, Summary};
use crate::analysis::Language;

const READ: &str = "
    SELECT generation, files, chunks, length, wanting, languages, model, dimension, digest, knows_language, judged_on,
           vectors, graph,
           (SELECT n.nspname::text FROM pg_catalog.pg_extension e
            JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector')
    FROM papertape.meta";

/// What a generation holds.
#[derive(Debug, Clone)]
pub(super) struct Meta {
    pub(super) summary: Summary,
    /// Tokens in all chunks.
    pub(super) length: u64,
    /// Where vectors are, if there are any.
    pub(super) vectors: Option<Vectors>,
    /// The number of the newest table of vectors, in use or not.
    pub(super) table: i32,
}

/// Where vectors are.
#[derive(Debug, Clone)]
pub(super) struct Vectors {
    /// The table, as SQL has it.
    pub(super) table: String,
    /// The schema of pgvector's types, as SQL has it.
    pub(super) types: String,
    pub(super) dimension: u32,
    /// Whether there is an HNSW index.
    pub(super) graph: bool,
}

impl Meta {
    /// What the transaction's generation holds, if this program can read it.
    pub(super) async fn read(client: &Client) -> Result<Self, Fault> {
        // Sent together: in a format of another version the second query may fail, but not before the first.
        let (version, read) = tokio::join!(schema::version(client), row(client, READ, &[]));
        let version = version.map_err(|fault| match fault {
            Fault::NoTable => Fault::Missing,
            other => other,
        });
        schema::check(version?)?;
        let row = read?;
        let dimension = get::<Option<i32>>(&row, 7)?.and_then(|it| u32::try_from(it).ok());
        let embedding = match (get::<Option<String>>(&row, 6)?, dimension) {
            (Some(model), Some(dimension)) => Some(Embedding {
                model,
                dimension,
                digest: get::<Option<String>>(&row, 8)?.unwrap_or_default(),
                knows_language: get::<Option<bool>>(&row, 9)?.unwrap_or_default(),
                judged_on: get::<Option<i64>>(&row, 10)?
                    .and_then(|it| u64::try_from(it).ok())
                    .unwrap_or_default(),
            }),
            _ => None,
        };
        let (chunks, wanting, table) = (count(&row, 2)?, count(&row, 4)?, get::<i32>(&row, 11)?);
        let vectors = match (&embedding, get::<Option<String>>(&row, 13)?) {
            (Some(embedding), Some(types)) => Some(Vectors {
                table: vectors_table(table),
                types: quoted(&types),
                dimension: embedding.dimension,
                graph: get(&row, 12)?,
            }),
            _ => None,
        };
        let mut languages: Vec<_> = get::<Vec<String>>(&row, 5)?
            .iter()
            .map(|code| Language::from_code(code).unwrap_or_default())
            .collect();
        languages.sort_unstable();
        let summary = Summary {
            generation: count(&row, 0)?,
            files: count(&row, 1)?,
            chunks,
            vectors: if embedding.is_some() { chunks.saturating_sub(wanting) } else { 0 },
            languages,
            embedding,
        };
        Ok(Self { summary, length: count(&row, 3)?, vectors, table })
    }
}

/// The table of vectors with this number.
pub(super) fn vectors_table(number: i32) -> String {
    format!("papertape.vectors_{number}")
}

/// A name as SQL has it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
