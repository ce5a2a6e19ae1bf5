//! A small server to start from: `cargo run --example words`, or give the built program to any MCP host.
//!
//! It shows the four things most tools need: arguments with descriptions, a structured result, a failure that the model
//! can read, and progress.

use std::time::Duration;

use papertape::server::Tool;
use papertape::{Cx, Json, Server, ToolError, stdio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Count the words of a text.
// The comment above is what a model reads about the tool, and those below what it reads about the arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Count {
    /// The text to count.
    text: String,
    /// Count only words of at least so many letters.
    #[serde(default)]
    at_least: usize,
}

async fn count(args: Count, _: Cx) -> Result<String, ToolError> {
    let long_enough = |word: &&str| word.chars().count() >= args.at_least;
    Ok(args.text.split_whitespace().filter(long_enough).count().to_string())
}

/// Find the longest word of a text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Longest {
    /// The text to look at.
    text: String,
}

/// A word and its length.
// A result with a type of its own: clients get its schema, and the value as JSON.
#[derive(Serialize, JsonSchema)]
struct Word {
    word: String,
    letters: usize,
}

async fn longest(args: Longest, _: Cx) -> Result<Json<Word>, ToolError> {
    let word = args.text.split_whitespace().max_by_key(|word| word.chars().count());
    // A failure is for the model: say what to do about it. `?` does the same with the message of a `std::error::Error`.
    let word = word.ok_or_else(|| ToolError::failed("the text has no words: give at least one"))?;
    Ok(Json(Word { word: word.to_owned(), letters: word.chars().count() }))
}

/// Read a text out, slowly.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadOut {
    /// The text to read.
    text: String,
}

/// Other requests are answered while this one waits; if the client cancels it, it ends at its next `await`.
async fn read_out(args: ReadOut, cx: Cx) -> Result<String, ToolError> {
    let words: Vec<&str> = args.text.split_whitespace().collect();
    for (index, word) in words.iter().enumerate() {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cx.progress((index + 1) as f64, words.len() as f64, *word);
    }
    Ok(format!("read {} words", words.len()))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let server = Server::new("words", "1.0.0")
        .tool("count", count)
        // A tool can have more than a name; hosts use the hints to decide which calls need confirmation.
        .tool(Tool::new("longest").title("Longest word").read_only().idempotent().closed_world(), longest)
        .tool("read_out", read_out);
    stdio::serve(server).await
}
