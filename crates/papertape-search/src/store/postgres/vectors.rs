//! Vectors: their table, which every model has of its own, and its index.

use std::collections::BTreeMap;
use std::error::Error;
use std::pin::pin;

use bytes::{BufMut, BytesMut};
use half::f16;
use tokio_postgres::Client;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::fault::Fault;
use super::meta::{Meta, Vectors, vectors_table};
use super::rows::{get, row, rows};
use super::search::EXACT;
use super::{StoreError, VectorKey, schema};
use crate::store::normalise::normalised;

/// The most dimensions that pgvector's HNSW index takes, at half precision.
const MOST_IN_GRAPH: u32 = 4000;

/// The most dimensions that pgvector takes.
const MOST: u32 = 16_000;

/// Drops tables of vectors that no generation uses any more: their readers have finished long ago.
pub(super) async fn tidy(client: &Client, meta: &Meta) -> Result<(), Fault> {
    let sql = "SELECT substring(c.relname FROM 9)::integer FROM pg_catalog.pg_class c
               JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = 'papertape' AND c.relkind = 'r' AND c.relname ~ '^vectors_[0-9]{1,9}$'";
    for found in rows(client, sql, &[]).await? {
        let number: i32 = get(&found, 0)?;
        let used = meta.vectors.is_some() && number == meta.table;
        if !used {
            client.batch_execute(&format!("DROP TABLE {}", vectors_table(number))).await?;
        }
    }
    Ok(())
}

/// A new table for vectors of this dimension; every chunk wants one then.
pub(super) async fn create(client: &Client, table: &mut i32, dimension: u32) -> Result<Vectors, Fault> {
    if !(1..=MOST).contains(&dimension) {
        let what = format!("vectors of {dimension} numbers cannot be kept: pgvector takes 1 to {MOST}");
        return Err(Fault::Final(StoreError::Mismatch(what)));
    }
    schema::need_pgvector(client).await?;
    *table += 1;
    let name = vectors_table(*table);
    let sql = "SELECT quote_ident(n.nspname) FROM pg_catalog.pg_extension e
               JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'";
    let types: String = get(&row(client, sql, &[]).await?, 0)?;
    // Beside its key where that fits on a page, so that comparing every vector reads the table alone.
    let plain = if dimension <= MOST_IN_GRAPH { "SET STORAGE PLAIN" } else { "SET STORAGE EXTERNAL" };
    client
        .batch_execute(&format!(
            "CREATE TABLE {name} (key bigint PRIMARY KEY, embedding {types}.halfvec({dimension}) NOT NULL);
             ALTER TABLE {name} ALTER COLUMN embedding {plain};
             DELETE FROM papertape.wanting;
             INSERT INTO papertape.wanting (chunk, key) SELECT id, key FROM papertape.chunks"
        ))
        .await?;
    Ok(Vectors { table: name, types, dimension, graph: false })
}

/// Writes vectors, in place of those that were there.
pub(super) async fn attach(
    client: &Client,
    vectors: &Vectors,
    given: Vec<(VectorKey, Vec<f32>)>,
) -> Result<(), Fault> {
    let wrong = |what: String| Fault::Final(StoreError::Mismatch(what));
    let mut units = BTreeMap::new();
    for (key, vector) in given {
        if u32::try_from(vector.len()) != Ok(vectors.dimension) {
            let (is, should) = (vector.len(), vectors.dimension);
            return Err(wrong(format!("a vector has {is} numbers, and those of its model {should}")));
        }
        let none = || wrong("a vector has no direction: it is all zeros, or not all numbers".to_owned());
        units.insert(key, normalised(&vector).ok_or_else(none)?);
    }
    if units.is_empty() {
        return Ok(());
    }
    let keys: Vec<i64> = units.keys().map(|key| key.0.cast_signed()).collect();
    let table = &vectors.table;
    let values = [(&keys as &(dyn ToSql + Sync), Type::INT8_ARRAY)];
    rows(client, &format!("DELETE FROM {table} WHERE key = ANY($1)"), &values).await?;
    let sink = client.copy_in(&format!("COPY {table} (key, embedding) FROM STDIN (FORMAT binary)")).await?;
    let mut writer = pin!(BinaryCopyInWriter::new(sink, &[Type::INT8, Type::BYTEA]));
    for (key, vector) in &units {
        writer.as_mut().write(&[&key.0.cast_signed(), &Wire(vector)]).await?;
    }
    writer.finish().await?;
    rows(client, "DELETE FROM papertape.wanting WHERE key = ANY($1)", &values).await?;
    Ok(())
}

/// Deletes the vectors of these keys that no chunk has any more.
pub(super) async fn forget(client: &Client, vectors: &Vectors, keys: &[i64]) -> Result<(), Fault> {
    if keys.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "DELETE FROM {} v WHERE v.key = ANY($1)
         AND NOT EXISTS (SELECT 1 FROM papertape.chunks c WHERE c.key = v.key)",
        vectors.table
    );
    rows(client, &sql, &[(&keys, Type::INT8_ARRAY)]).await?;
    Ok(())
}

/// Makes the HNSW index, once there are so many vectors that comparing each takes too long.
pub(super) async fn create_hnsw_index(client: &Client, vectors: &mut Vectors) -> Result<(), Fault> {
    let Vectors { table, types, dimension, graph } = vectors;
    if *graph || *dimension > MOST_IN_GRAPH {
        return Ok(());
    }
    let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT {}) AS few", EXACT + 1);
    if get::<i64>(&row(client, &sql, &[]).await?, 0)? > EXACT {
        client
            .batch_execute(&format!("CREATE INDEX ON {table} USING hnsw (embedding {types}.halfvec_ip_ops)"))
            .await?;
        *graph = true;
    }
    Ok(())
}

/// A vector as pgvector reads it from a binary COPY: its length, two bytes for later, its numbers in 16 bits each, as the
/// other store keeps them.
#[derive(Debug)]
struct Wire<'a>(&'a [f32]);

impl ToSql for Wire<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_u16(u16::try_from(self.0.len())?);
        out.put_u16(0);
        for number in self.0 {
            out.put_u16(f16::from_f32(*number).to_bits());
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
