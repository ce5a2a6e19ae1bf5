//! What a build can leave out, and how to get it.

/// Why PostgreSQL cannot be used, in a build without the feature `postgres`.
#[cfg(not(feature = "postgres"))]
pub(crate) fn no_postgres() -> String {
    missing("PostgreSQL", "postgres")
}

/// Why a model cannot run in this process, in a build without the feature `local-models`.
#[cfg(not(feature = "local-models"))]
pub(crate) fn no_local_models() -> String {
    missing("local embedding models", "local-models")
}

#[cfg(not(all(feature = "postgres", feature = "local-models")))]
fn missing(what: &str, feature: &str) -> String {
    format!(
        "this papertape was built without {what}: build it with `cargo install --path crates/papertape-cli --features \
         {feature}` (or full)"
    )
}
