//! The version of the tables, and migrations.

use tokio_postgres::Client;

use super::fault::Fault;
use super::rows::{get, row, rows};

/// The migrations, one for each version.
const MIGRATIONS: [(i32, &str); 4] = [
    (1, include_str!("migrations/001_first.sql")),
    (2, include_str!("migrations/002_lines.sql")),
    (3, include_str!("migrations/003_folded.sql")),
    (4, include_str!("migrations/004_judged.sql")),
];

/// The oldest supported PostgreSQL.
const OLDEST_SERVER: i32 = 130_000;

/// The version that this program reads and writes.
pub(super) fn newest() -> i32 {
    MIGRATIONS.last().map_or(0, |(version, _)| *version)
}

/// The version of the tables.
pub(super) async fn version(client: &Client) -> Result<i32, Fault> {
    get(&row(client, "SELECT version FROM papertape.meta", &[]).await?, 0)
}

/// Refuses every other version than ours.
pub(super) fn check(version: i32) -> Result<(), Fault> {
    let ours = newest();
    let what = match version.cmp(&ours) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => format!(
            "its tables have the older format {version}, this program's have {ours}; `papertape index DIR` brings them \
             up to date"
        ),
        std::cmp::Ordering::Greater => format!(
            "its tables have the newer format {version}, this program knows {ours}; use the newer program, or give \
             this one a database of its own"
        ),
    };
    Err(Fault::Foreign(what))
}

/// Makes the tables, in the writer's transaction. Older ones are brought up to date only if that was requested.
pub(super) async fn prepare(client: &Client, upgrade: bool) -> Result<(), Fault> {
    let about =
        "SELECT current_setting('server_version_num')::integer, to_regclass('papertape.meta') IS NOT NULL";
    let about = row(client, about, &[]).await?;
    let server: i32 = get(&about, 0)?;
    if server < OLDEST_SERVER {
        let what = format!(
            "it is PostgreSQL {}, and version {} or later is needed",
            server / 10_000,
            OLDEST_SERVER / 10_000
        );
        return Err(Fault::Foreign(what));
    }
    let there = if get::<bool>(&about, 1)? { Some(version(client).await?) } else { None };
    if let Some(there) = there
        && !(upgrade && (1..newest()).contains(&there))
    {
        return check(there);
    }
    for (to, sql) in MIGRATIONS {
        if there.is_none_or(|there| to > there) {
            tracing::info!(version = to, "making the tables");
            client.batch_execute(sql).await?;
        }
    }
    if there != Some(newest()) {
        client.batch_execute(&format!("UPDATE papertape.meta SET version = {}", newest())).await?;
    }
    Ok(())
}

/// Makes sure of pgvector, which only an administrator may be able to install. The transaction goes on without it.
pub(super) async fn need_pgvector(client: &Client) -> Result<(), Fault> {
    client.batch_execute("SAVEPOINT pgvector").await?;
    let made = client.batch_execute("CREATE EXTENSION IF NOT EXISTS vector").await;
    if let Err(error) = made {
        client.batch_execute("ROLLBACK TO SAVEPOINT pgvector").await?;
        tracing::debug!(%error, "pgvector cannot be installed");
        return Err(Fault::other(
            "the database has no pgvector, without which search is lexical only: have an administrator install \
             it and run CREATE EXTENSION vector",
        ));
    }
    let sql = "SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'vector'";
    let found = rows(client, sql, &[]).await?;
    let version: String = found.first().map(|row| get(row, 0)).transpose()?.unwrap_or_default();
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
    if (parts.next().unwrap_or_default(), parts.next().unwrap_or_default()) < (0, 8) {
        return Err(Fault::other(format!(
            "the database has pgvector {version}, and 0.8 or later is needed: have an administrator update it"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{MIGRATIONS, check, newest};

    #[test]
    fn migrations_are_numbered_without_a_gap() {
        let numbers: Vec<i32> = MIGRATIONS.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (1..=newest()).collect::<Vec<_>>());
    }

    #[test]
    fn other_versions_are_refused() {
        assert!(check(newest()).is_ok());
        for other in [newest() - 1, newest() + 1] {
            assert!(!check(other).unwrap_err().may_pass());
        }
    }
}
