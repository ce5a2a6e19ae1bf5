//! A statement to its rows, and those to values.

use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, Row};

use super::fault::Fault;

/// Rows for values of these types, in one round trip: nothing is prepared.
pub(super) async fn rows(
    client: &Client,
    sql: &str,
    values: &[(&(dyn ToSql + Sync), Type)],
) -> Result<Vec<Row>, Fault> {
    Ok(client.query_typed(sql, values).await?)
}

/// The one row that there must be.
pub(super) async fn row(
    client: &Client,
    sql: &str,
    values: &[(&(dyn ToSql + Sync), Type)],
) -> Result<Row, Fault> {
    let rows = rows(client, sql, values).await?;
    rows.into_iter()
        .next()
        .ok_or_else(|| Fault::Corrupt("there is no row where there must be one".to_owned()))
}

/// A column of a row.
pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, Fault> {
    row.try_get(column).map_err(|_| Fault::Corrupt("a value has another type than expected".to_owned()))
}

/// A count, which is never negative.
pub(super) fn count(row: &Row, column: usize) -> Result<u64, Fault> {
    Ok(u64::try_from(get::<i64>(row, column)?).unwrap_or_default())
}
