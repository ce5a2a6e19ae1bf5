//! Words of a query that stand in no text, corrected by the table of words.

use std::collections::BTreeMap;

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::fault::Fault;
use super::rows::{get, rows};
use super::search::known;
use crate::analysis::{Correction, Language, Misspelling, QueryTerm, Term, correctable};

/// The most words of the table that are compared with one: those in most chunks.
const MOST_COMPARED: usize = 30_000;

/// The terms of a query, of which those that stand in no text are replaced.
pub(super) async fn corrected(
    client: &Client,
    terms: &[QueryTerm],
    languages: &[Language],
) -> Result<(Vec<QueryTerm>, Vec<Correction>), Fault> {
    let (searched, found) = known(client, terms).await?;
    let is_unknown = |term: &QueryTerm| !term.forms.iter().any(|form| found.contains_key(form.as_str()));
    let unknown: Vec<usize> =
        searched.iter().zip(0..).filter(|(term, _)| is_unknown(term)).map(|(_, place)| place).collect();
    let (mut terms, mut corrections) = (terms.to_vec(), Vec::new());
    for place in correctable(&terms, &unknown) {
        let Some(term) = terms.get_mut(place) else { continue };
        let Some(wrong) = Misspelling::of(term, languages) else { continue };
        if let Some((correction, right)) = wrong.best(&candidates(client, &wrong).await?) {
            *term = right;
            corrections.push(correction);
        }
    }
    Ok((terms, corrections))
}

/// The terms that may have been meant, and how many chunks have each.
async fn candidates(client: &Client, wrong: &Misspelling) -> Result<BTreeMap<Term, u64>, Fault> {
    let variants: Vec<&str> = wrong.variants().map(String::as_str).collect();
    let sql = "SELECT word, chunks::bigint FROM papertape.words WHERE word = ANY($1) AND chunks > 0";
    let variants = rows(client, sql, &[(&variants, Type::TEXT_ARRAY)]).await?;
    let first = wrong.first().to_string();
    let end = format!("{first}\u{10ffff}");
    let length = |length: usize| i32::try_from(length).unwrap_or(i32::MAX);
    let (least, most) = (length(*wrong.lengths().start()), length(*wrong.lengths().end()));
    let sql = format!(
        "SELECT word, chunks::bigint FROM papertape.words
         WHERE word >= $1 AND word <= $2 AND char_length(word) BETWEEN $3 AND $4 AND chunks > 0
         ORDER BY chunks DESC LIMIT {MOST_COMPARED}"
    );
    let values = [
        (&first as _, Type::TEXT),
        (&end as _, Type::TEXT),
        (&least as _, Type::INT4),
        (&most as _, Type::INT4),
    ];
    let near = rows(client, &sql, &values).await?;
    let mut found = BTreeMap::new();
    for (rows, are_near) in [(variants, true), (near, false)] {
        for row in &rows {
            let word: &str = get(row, 0)?;
            if are_near || wrong.is_near(word) {
                found.insert(word.to_owned(), u64::try_from(get::<i64>(row, 1)?).unwrap_or_default());
            }
        }
    }
    Ok(found)
}
