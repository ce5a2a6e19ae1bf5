//! Search: the lexical list and the vector list are both computed in the database, in one transaction.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::correct;
use super::fault::Fault;
use super::lookup::{CHUNK, chunk};
use super::meta::{Meta, Vectors};
use super::read::Read;
use super::rows::{get, row, rows};
use super::text::{clean, stored_term};
use super::{ChunkId, Correction, DEPTH, Filter, Hit, Matches, Query, StoreError};
use crate::analysis::{Phrase, QueryTerm};
use crate::rank::bm25::{B, Bm25, K1};
use crate::rank::wording::with_bonuses;
use crate::rank::{Files, Wording, best_first, hits};
use crate::store::filter::Conditions;
use crate::store::normalise::normalised;
use crate::store::phrases::{CHECKED, Phrases};

/// With so few chunks to choose from, every vector is compared. Beyond it the HNSW index is used.
pub(super) const EXACT: i64 = 10_000;

/// How many candidates the graph gives, by half precision; they are re-ranked by the full precision of the query.
const CANDIDATES: usize = 2 * DEPTH;

/// Scores are added up in steps of one part in so many.
const GRAIN: &str = "4294967296.0::double precision";

/// The best chunks for a query.
#[derive(Debug)]
pub(super) struct Search<'a>(pub(super) &'a Query);

impl Read for Search<'_> {
    type Output = Matches;

    async fn read(&self, client: &Client, meta: &Meta) -> Result<Matches, Fault> {
        let (query, corrections) = self.corrected(client, meta).await?;
        let query = query.as_ref();
        let mut wanted = Wanted::new(&query.filter);
        let mut files = Files::new();
        let required = known_phrases(client, &query.required).await?;
        let excluded = known_phrases(client, &query.excluded).await?;
        wanted.restrict(client, &required, &excluded).await?;
        let mut phrases = Phrases::of(&required, &excluded);
        let depth = if phrases.is_some() { CHECKED } else { DEPTH };
        let terms = Terms::of(client, meta, query).await?;
        let mut lexical = terms.best(client, Among::Filter(&wanted), depth, &mut files).await?;
        if let Some(phrases) = &mut phrases {
            lexical = allowed(client, lexical, phrases).await?;
            if phrases.are_required() {
                let ids = lexical.iter().map(|(id, _)| id.0.cast_signed()).collect();
                wanted.conditions.push(("c.id = ANY($::bigint[])", Value::Ids(ids)));
            }
            lexical.truncate(DEPTH);
        }
        if !query.plain
            && let Some(wording) = Wording::new(&terms.bm25, &meta.summary.languages)
        {
            lexical = reworded(client, lexical, &wording).await?;
        }
        let mut semantic = Vec::new();
        if let (Some(vector), Some(vectors)) = (&query.vector, &meta.vectors) {
            let nearest = Nearest::new(vectors, vector)?;
            semantic = nearest.best(client, &wanted, &mut files).await?;
            if let Some(phrases) = &mut phrases {
                semantic = allowed(client, semantic, phrases).await?;
            }
            // What one list alone has gets its score in the other.
            let (words, meanings) = (only_in(&lexical, &semantic), only_in(&semantic, &lexical));
            lexical.extend(terms.best(client, Among::Chunks(&meanings), DEPTH, &mut files).await?);
            semantic.extend(nearest.of(client, &words, &mut files).await?);
            best_first(&mut lexical);
            best_first(&mut semantic);
        }
        let best = hits(&lexical, &semantic, terms.bm25.max_score(), query.top_k, &files);
        let hits = load(client, &best).await?;
        let (terms, bm25) = (query.terms.clone(), terms.bm25);
        Ok(Matches { hits, lexical, semantic, bm25, terms, corrections })
    }
}

impl Search<'_> {
    /// The query without misspelt words.
    async fn corrected(
        &self,
        client: &Client,
        meta: &Meta,
    ) -> Result<(Cow<'_, Query>, Vec<Correction>), Fault> {
        let query = self.0;
        if !query.correct {
            return Ok((Cow::Borrowed(query), Vec::new()));
        }
        let (terms, corrections) = correct::corrected(client, &query.terms, &meta.summary.languages).await?;
        let query = if corrections.is_empty() {
            Cow::Borrowed(query)
        } else {
            Cow::Owned(Query { terms, ..query.clone() })
        };
        Ok((query, corrections))
    }
}

/// The chunks of a list whose texts have the phrases that are required, and none that is excluded.
async fn allowed(
    client: &Client,
    mut list: Vec<(ChunkId, f32)>,
    phrases: &mut Phrases,
) -> Result<Vec<(ChunkId, f32)>, Fault> {
    let chunks = load(client, &list).await?;
    let allowed = chunks.iter().filter(|hit| phrases.allow(&hit.chunk));
    let allowed: HashSet<ChunkId> =
        allowed.map(|hit| ChunkId::of(&hit.chunk.source, hit.chunk.index)).collect();
    list.retain(|(id, _)| allowed.contains(id));
    Ok(list)
}

/// The lexical list, with a bonus for those that have the wording of the query.
async fn reworded(
    client: &Client,
    list: Vec<(ChunkId, f32)>,
    wording: &Wording,
) -> Result<Vec<(ChunkId, f32)>, Fault> {
    let chunks = load(client, Wording::candidates(&list)).await?;
    let bonus = |Hit { chunk, .. }: &Hit| {
        let id = ChunkId::of(&chunk.source, chunk.index);
        (id, wording.bonus(&chunk.title, &chunk.headings, &chunk.text))
    };
    Ok(with_bonuses(list, &chunks.iter().map(bonus).collect()))
}

/// Which chunks count, as conditions and values of SQL.
struct Wanted {
    /// What must hold for a chunk `c` of a file `f`, with `$` for the value.
    conditions: Vec<(&'static str, Value)>,
}

enum Value {
    Text(String),
    Texts(Vec<String>),
    Words(Vec<i32>),
    Ids(Vec<i64>),
}

const HAS_WORD: &str =
    "c.id IN (SELECT has.chunk FROM papertape.postings has WHERE has.word = ANY($::integer[]))";
const HAS_NO_WORD: &str =
    "c.id NOT IN (SELECT has.chunk FROM papertape.postings has WHERE has.word = ANY($::integer[]))";

/// A file has a tag `want.part`, or one below it.
macro_rules! has_tag {
    () => {
        "EXISTS (SELECT FROM unnest(f.folded_tags) AS has(tag) \
         WHERE ltrim(has.tag, '#') = want.part OR starts_with(ltrim(has.tag, '#'), want.part || '/'))"
    };
}

/// No `want.part` is left for which this does not hold, or does.
macro_rules! none {
    ($condition:expr) => {
        concat!("NOT EXISTS (SELECT FROM unnest($::text[]) AS want(part) WHERE ", $condition, ")")
    };
}

impl Wanted {
    fn new(filter: &Filter) -> Self {
        let conditions = Conditions::of(filter).unwrap_or_default();
        let text = |part: Option<String>| part.map(|part| Value::Text(clean(&part).into_owned()));
        let texts = |parts: Vec<String>| {
            let parts: Vec<String> = parts.iter().map(|part| clean(part).into_owned()).collect();
            (!parts.is_empty()).then_some(Value::Texts(parts))
        };
        let Conditions { prefix, since, until, all_of, none_of } = conditions;
        let conditions = [
            ("starts_with(f.path, $)", text(prefix)),
            ("f.date >= $", text(since)),
            ("f.date <= $", text(until)),
            (none!(concat!("NOT ", has_tag!())), texts(all_of.tags)),
            (none!("strpos(f.folded_path, want.part) = 0"), texts(all_of.paths)),
            (none!("strpos(f.folded_title, want.part) = 0"), texts(all_of.titles)),
            (none!(has_tag!()), texts(none_of.tags)),
            (none!("strpos(f.folded_path, want.part) > 0"), texts(none_of.paths)),
            (none!("strpos(f.folded_title, want.part) > 0"), texts(none_of.titles)),
        ];
        Self { conditions: conditions.into_iter().filter_map(|(sql, value)| Some((sql, value?))).collect() }
    }

    /// Only chunks with all words of each phrase that is required, and no word that is excluded by itself.
    async fn restrict(
        &mut self,
        client: &Client,
        required: &[Phrase],
        excluded: &[Phrase],
    ) -> Result<(), Fault> {
        let alone = excluded.iter().filter(|phrase| phrase.words.len() == 1);
        let words = |phrases: Vec<&Phrase>| -> Vec<QueryTerm> {
            phrases.into_iter().flat_map(|phrase| phrase.words.iter().cloned()).collect()
        };
        let (required, excluded) = (words(required.iter().collect()), words(alone.collect()));
        let found = numbers(client, &[required.as_slice(), &excluded].concat()).await?;
        let ids = |word: &QueryTerm| -> Vec<i32> {
            word.forms.iter().filter_map(|form| Some(found.get(form.as_str())?.0)).collect()
        };
        // A word that is written twice is one condition.
        let required: BTreeSet<Vec<i32>> = required.iter().map(ids).collect();
        self.conditions.extend(required.into_iter().map(|ids| (HAS_WORD, Value::Words(ids))));
        let excluded: BTreeSet<i32> = excluded.iter().flat_map(ids).collect();
        if !excluded.is_empty() {
            self.conditions.push((HAS_NO_WORD, Value::Words(excluded.into_iter().collect())));
        }
        Ok(())
    }

    fn all(&self) -> bool {
        self.conditions.is_empty()
    }

    /// What must hold for a chunk `c` of a file `f`; the values begin with this number.
    fn sql(&self, first: usize) -> String {
        let numbered = self.conditions.iter().zip(first..);
        let all: Vec<String> =
            numbered.map(|((sql, _), number)| sql.replacen('$', &format!("${number}"), 1)).collect();
        if all.is_empty() { "true".to_owned() } else { all.join(" AND ") }
    }

    fn values(&self) -> impl Iterator<Item = (&(dyn ToSql + Sync), Type)> {
        self.conditions.iter().map(|(_, value)| match value {
            Value::Text(text) => (text as &(dyn ToSql + Sync), Type::TEXT),
            Value::Texts(texts) => (texts as &(dyn ToSql + Sync), Type::TEXT_ARRAY),
            Value::Words(words) => (words as &(dyn ToSql + Sync), Type::INT4_ARRAY),
            Value::Ids(ids) => (ids as &(dyn ToSql + Sync), Type::INT8_ARRAY),
        })
    }
}

/// The chunks of a list that another one does not have.
fn only_in(list: &[(ChunkId, f32)], other: &[(ChunkId, f32)]) -> Vec<i64> {
    let other: HashSet<ChunkId> = other.iter().map(|(id, _)| *id).collect();
    list.iter().filter(|(id, _)| !other.contains(id)).map(|(id, _)| id.0.cast_signed()).collect()
}

/// The terms of a query that occur: ids, and weights by BM25 as `rank::bm25` has it.
struct Terms {
    ids: Vec<i32>,
    weights: Vec<f64>,
    bm25: Bm25,
}

/// Which chunks a lexical list is of.
enum Among<'a> {
    Filter(&'a Wanted),
    Chunks(&'a [i64]),
}

impl Terms {
    async fn of(client: &Client, meta: &Meta, query: &Query) -> Result<Self, Fault> {
        let (terms, found) = known(client, &query.terms).await?;
        let with = found.iter().map(|(form, (_, with))| (form.as_str(), *with)).collect();
        let chunks = meta.summary.chunks;
        let bm25 = Bm25::new(&terms, &with, chunks, average(meta.length, chunks));
        let (ids, weights): (Vec<i32>, Vec<f64>) = bm25
            .weights
            .iter()
            .filter_map(|(term, weight)| Some((found.get(term.as_str())?.0, f64::from(*weight))))
            .unzip();
        Ok(Self { ids, weights, bm25 })
    }

    /// The best of these chunks.
    async fn best(
        &self,
        client: &Client,
        among: Among<'_>,
        depth: usize,
        files: &mut Files,
    ) -> Result<Vec<(ChunkId, f32)>, Fault> {
        let Self { ids, weights, bm25 } = self;
        let mut restricting: Vec<(&(dyn ToSql + Sync), Type)> = Vec::new();
        let only = match &among {
            Among::Chunks(chunks) => {
                restricting.push((chunks, Type::INT8_ARRAY));
                "WHERE p.chunk = ANY($6::bigint[])".to_owned()
            }
            Among::Filter(wanted) if wanted.all() => String::new(),
            // `IS TRUE` makes it a set that is made once and looked into, not a join that visits the chunk of every posting.
            Among::Filter(wanted) => {
                restricting.extend(wanted.values());
                format!(
                "WHERE (p.chunk IN (SELECT c.id FROM papertape.chunks c JOIN papertape.files f ON f.id = c.file
                                    WHERE {})) IS TRUE",
                wanted.sql(6)
            )
            }
        };
        if ids.is_empty() || matches!(among, Among::Chunks([])) {
            return Ok(Vec::new());
        }
        // Numbers of chunks are unsigned for us; the flipped sign makes the database sort them so. Whole numbers below 2^53
        // add up to the same sum in any order; other floats do not, and rows come in the order in which they were written.
        let sql = format!(
        "SELECT b.chunk, b.score, c.file
         FROM (SELECT p.chunk, sum(round(w.weight * p.times * $3 / (p.times + $4 + $5 * p.length) * {GRAIN})) / {GRAIN} AS score
               FROM unnest($1::integer[], $2::double precision[]) AS w(word, weight)
               JOIN papertape.postings p ON p.word = w.word {only}
               GROUP BY p.chunk ORDER BY score DESC, p.chunk # (-9223372036854775808) LIMIT {depth}) b
         JOIN papertape.chunks c ON c.id = b.chunk
         ORDER BY b.score DESC, b.chunk # (-9223372036854775808)"
    );
        let (k1, b) = (f64::from(K1), f64::from(B));
        let (gain, fixed) = (1.0 + k1, k1 * (1.0 - b));
        let growing = k1 * b / f64::from(bm25.average_length.max(1.0));
        let mut values: Vec<(&(dyn ToSql + Sync), Type)> = vec![
            (ids, Type::INT4_ARRAY),
            (weights, Type::FLOAT8_ARRAY),
            (&gain, Type::FLOAT8),
            (&fixed, Type::FLOAT8),
            (&growing, Type::FLOAT8),
        ];
        values.extend(restricting);
        listed(client, &sql, &values, files).await
    }
}

/// Each term with the forms of the main languages if one of them occurs, else with those of all languages; and the ids of
/// those that occur.
pub(super) async fn known(client: &Client, terms: &[QueryTerm]) -> Result<(Vec<QueryTerm>, Numbers), Fault> {
    let mut terms = terms.to_vec();
    let mut found = numbers(client, &terms).await?;
    let mut strays = Vec::new();
    for term in terms.iter_mut().filter(|term| !occurs(term, &found)) {
        *term = term.in_all_languages();
        strays.push(term.clone());
    }
    found.extend(numbers(client, &strays).await?);
    Ok((terms, found))
}

fn occurs(term: &QueryTerm, found: &Numbers) -> bool {
    term.forms.iter().any(|form| found.get(form.as_str()).is_some_and(|(_, with)| *with > 0))
}

/// Phrases with the forms of their words that occur.
async fn known_phrases(client: &Client, phrases: &[Phrase]) -> Result<Vec<Phrase>, Fault> {
    let words: Vec<QueryTerm> = phrases.iter().flat_map(|phrase| phrase.words.iter().cloned()).collect();
    let mut words = known(client, &words).await?.0.into_iter();
    let of = |phrase: &Phrase| phrase.with_words(words.by_ref().take(phrase.words.len()).collect());
    Ok(phrases.iter().map(of).collect())
}

/// The id of a term and its document frequency.
pub(super) type Numbers = BTreeMap<String, (i32, u64)>;

/// Ids and document frequencies of all forms of these terms that occur.
async fn numbers(client: &Client, terms: &[QueryTerm]) -> Result<Numbers, Fault> {
    let forms: BTreeSet<&str> = terms.iter().flat_map(|term| &term.forms).map(String::as_str).collect();
    let mut found = Numbers::new();
    if forms.is_empty() {
        return Ok(found);
    }
    let (forms, kept): (Vec<&str>, Vec<_>) = forms.into_iter().map(|form| (form, stored_term(form))).unzip();
    let sql = "SELECT w.id, w.chunks, s.place FROM unnest($1::text[]) WITH ORDINALITY AS s(word, place)
               JOIN papertape.words w ON w.word = s.word COLLATE \"C\"";
    for row in &rows(client, sql, &[(&kept, Type::TEXT_ARRAY)]).await? {
        let place = usize::try_from(get::<i64>(row, 2)?.saturating_sub(1)).unwrap_or(usize::MAX);
        if let Some(form) = forms.get(place) {
            let with = u64::try_from(get::<i32>(row, 1)?).unwrap_or_default();
            found.insert((*form).to_owned(), (get::<i32>(row, 0)?, with));
        }
    }
    Ok(found)
}

/// The vector of a query, among those of the chunks.
struct Nearest<'a> {
    vectors: &'a Vectors,
    /// Of length 1: the first value of statements.
    vector: Vec<f32>,
    /// That value as SQL has it, and the negative cosine of `v.embedding` with it.
    query_vector: String,
    distance: String,
}

impl<'a> Nearest<'a> {
    fn new(vectors: &'a Vectors, vector: &[f32]) -> Result<Self, Fault> {
        let Vectors { types, dimension, .. } = vectors;
        if u32::try_from(vector.len()) != Ok(*dimension) {
            let what = format!(
                "the query's vector has {} numbers and those in the store {dimension}: they are of different models",
                vector.len()
            );
            return Err(Fault::Final(StoreError::Mismatch(what)));
        }
        let Some(vector) = normalised(vector) else {
            return Err(Fault::Final(StoreError::Mismatch("the query's vector has no direction".to_owned())));
        };
        // All vectors have length 1, so that the scalar product, which pgvector negates, is the cosine.
        let query_vector = format!("$1::real[]::{types}.vector");
        let distance = format!("v.embedding::{types}.vector OPERATOR({types}.<#>) {query_vector}");
        Ok(Self { vectors, vector, query_vector, distance })
    }

    /// The vector list: by cosine, nearest first.
    async fn best(
        &self,
        client: &Client,
        wanted: &Wanted,
        files: &mut Files,
    ) -> Result<Vec<(ChunkId, f32)>, Fault> {
        let Self { vectors: Vectors { table, types, dimension, graph }, vector, query_vector, distance } =
            self;
        let mut values: Vec<(&(dyn ToSql + Sync), Type)> = vec![(vector, Type::FLOAT4_ARRAY)];
        let only = if wanted.all() {
            String::new()
        } else {
            values.extend(wanted.values());
            format!(
                "WHERE v.key IN (SELECT c.key FROM papertape.chunks c JOIN papertape.files f ON f.id = c.file WHERE {})",
                wanted.sql(2)
            )
        };
        let near = if *graph && many(client, wanted).await? {
            client
                .batch_execute(&format!(
                    "SET LOCAL hnsw.ef_search = {CANDIDATES}; SET LOCAL hnsw.iterative_scan = strict_order; \
                 SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off"
                ))
                .await?;
            format!(
                "SELECT v.key, {distance} AS distance FROM {table} v {only} ORDER BY \
             v.embedding OPERATOR({types}.<#>) {query_vector}::{types}.halfvec({dimension}) LIMIT {CANDIDATES}"
            )
        } else {
            format!("SELECT v.key, {distance} AS distance FROM {table} v {only}")
        };
        let (again, joined) = if wanted.all() {
            (String::new(), "")
        } else {
            (format!("WHERE {}", wanted.sql(2)), "JOIN papertape.files f ON f.id = c.file")
        };
        // Materialized, so that the planner does not walk the graph because of the outer order.
        let sql = format!(
        "WITH near AS MATERIALIZED ({near}),
              nearest AS MATERIALIZED (SELECT key, distance FROM near ORDER BY distance, key LIMIT {CANDIDATES})
         SELECT c.id, -n.distance, c.file FROM nearest n JOIN papertape.chunks c ON c.key = n.key {joined} {again}
         ORDER BY n.distance, c.id # (-9223372036854775808) LIMIT {DEPTH}"
    );
        listed(client, &sql, &values, files).await
    }

    /// The cosines of these chunks, without those that have no vector.
    async fn of(
        &self,
        client: &Client,
        chunks: &[i64],
        files: &mut Files,
    ) -> Result<Vec<(ChunkId, f32)>, Fault> {
        if chunks.is_empty() {
            return Ok(Vec::new());
        }
        let Self { vectors: Vectors { table, .. }, vector, distance, .. } = self;
        let sql = format!(
            "SELECT c.id, -({distance}), c.file FROM papertape.chunks c JOIN {table} v ON v.key = c.key WHERE c.id = ANY($2)"
        );
        listed(client, &sql, &[(vector, Type::FLOAT4_ARRAY), (&chunks, Type::INT8_ARRAY)], files).await
    }
}

/// Whether there are too many chunks to compare each.
async fn many(client: &Client, wanted: &Wanted) -> Result<bool, Fault> {
    if wanted.all() {
        return Ok(true);
    }
    let sql = format!(
        "SELECT count(*) FROM (SELECT 1 FROM papertape.chunks c JOIN papertape.files f ON f.id = c.file WHERE {}
                               LIMIT {}) AS few",
        wanted.sql(1),
        EXACT + 1
    );
    let values: Vec<_> = wanted.values().collect();
    Ok(get::<i64>(&row(client, &sql, &values).await?, 0)? > EXACT)
}

/// A list, from rows of a chunk, its score and its file.
async fn listed(
    client: &Client,
    sql: &str,
    values: &[(&(dyn ToSql + Sync), Type)],
    files: &mut Files,
) -> Result<Vec<(ChunkId, f32)>, Fault> {
    let mut list = Vec::with_capacity(DEPTH);
    for row in &rows(client, sql, values).await? {
        let chunk = ChunkId(get::<i64>(row, 0)?.cast_unsigned());
        list.push((chunk, narrow(get(row, 1)?)));
        files.insert(chunk, get::<i64>(row, 2)?.cast_unsigned());
    }
    Ok(list)
}

/// The chunks of a list, with their scores, in its order.
async fn load(client: &Client, best: &[(ChunkId, f32)]) -> Result<Vec<Hit>, Fault> {
    if best.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<i64> = best.iter().map(|(id, _)| id.0.cast_signed()).collect();
    let sql = format!("{CHUNK} WHERE c.id = ANY($1)");
    let rows = rows(client, &sql, &[(&ids, Type::INT8_ARRAY)]).await?;
    let mut by_id = HashMap::with_capacity(rows.len());
    for row in &rows {
        by_id.insert(ChunkId(get::<i64>(row, 6)?.cast_unsigned()), chunk(row)?);
    }
    Ok(best.iter().filter_map(|(id, score)| Some(Hit { chunk: by_id.remove(id)?, score: *score })).collect())
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "an average needs no more")]
fn average(length: u64, chunks: u64) -> f32 {
    if chunks == 0 { 0.0 } else { (length as f64 / chunks as f64) as f32 }
}

#[expect(clippy::cast_possible_truncation, reason = "scores are shown with four decimals")]
fn narrow(score: f64) -> f32 {
    score as f32
}
