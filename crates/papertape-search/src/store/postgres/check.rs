//! Checks that the tables exist and have as many rows as recorded, so that an intact index is not rebuilt.

use std::sync::Arc;

use tokio::time::timeout;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::StoreError;
use super::connect::Connector;
use super::fault::Fault;
use super::meta::Meta;
use super::rows::{count, get, row, rows};

/// The tables there always are.
const TABLES: [&str; 6] = ["meta", "files", "chunks", "words", "postings", "wanting"];

/// How long it may take: rows are counted.
const TIME: std::time::Duration = std::time::Duration::from_secs(120);

/// Says what is wrong with the tables. Where there are none, nothing is.
pub(super) async fn check(connector: &Arc<Connector>) -> Result<(), StoreError> {
    let checked = async {
        let connection = connector.connect().await?;
        connection.client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        tables(&connection.client).await
    };
    let checked = timeout(TIME, checked).await.unwrap_or_else(|_| Err(Fault::late("the check", TIME)));
    checked.map_err(|fault| fault.into_error(&connector.address.place()))
}

async fn tables(client: &Client) -> Result<(), Fault> {
    let sql = "SELECT c.relname::text, EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid
                   AND (c.relname, a.attname) IN (('meta', 'only_row'), ('postings', 'times')))
               FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = 'papertape' AND c.relkind = 'r'";
    let mut there: Vec<String> = Vec::new();
    let mut ours = false;
    for row in &rows(client, sql, &[]).await? {
        there.push(get(row, 0)?);
        ours |= get::<bool>(row, 1)?;
    }
    let missing = |table: &&&str| !there.iter().any(|name| name == **table);
    if TABLES.iter().filter(missing).count() == TABLES.len() {
        return Ok(());
    }
    if !ours {
        return Err(Fault::Foreign(
            "its schema papertape belongs to another program; give this one a database of its own".to_owned(),
        ));
    }
    if let Some(table) = TABLES.iter().find(missing) {
        return Err(Fault::Corrupt(format!("its table {table} is missing")));
    }
    let meta = match Meta::read(client).await {
        // The writer migrates it, or reports what to do.
        Err(Fault::Foreign(_)) => return Ok(()),
        read => read?,
    };
    let sql = "SELECT (SELECT count(*) FROM papertape.files), (SELECT count(*) FROM papertape.chunks)";
    let counted = row(client, sql, &[]).await?;
    for (what, column, should) in [("files", 0, meta.summary.files), ("chunks", 1, meta.summary.chunks)] {
        let is = count(&counted, column)?;
        if is != should {
            return Err(Fault::Corrupt(format!("it has {is} {what}, not {should}")));
        }
    }
    if let Some(vectors) = &meta.vectors {
        let sql = "SELECT to_regclass($1) IS NOT NULL";
        if !get::<bool>(&row(client, sql, &[(&vectors.table, Type::TEXT)]).await?, 0)? {
            return Err(Fault::Corrupt("its table of vectors is missing".to_owned()));
        }
    }
    Ok(())
}
