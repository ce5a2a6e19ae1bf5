//! Checks the verb table when the crate is built.
//!
//! The parser and the rules are the crate's own, compiled here a second time: what passes here is what the server reads
//! when it starts.

#[path = "src/grammar/check.rs"]
mod check;
#[path = "src/grammar/verbs.rs"]
mod verbs;

const TABLE: &str = "src/grammar/verbs.txt";

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed={TABLE}");
    println!("cargo::rerun-if-changed=src/grammar/check.rs");
    println!("cargo::rerun-if-changed=src/grammar/verbs.rs");
    let text = std::fs::read_to_string(TABLE)?;
    if let Err(problem) = check::check(&text) {
        println!("cargo::error={TABLE}, {problem}");
    }
    Ok(())
}
