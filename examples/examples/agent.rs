//! An agent: a model of any OpenAI-compatible endpoint that calls the tools of the servers in an `mcp.json`.
//!
//! ```sh
//! export OPENAI_API_KEY=..    # if the endpoint wants one
//! cargo run -p papertape-examples --example agent -- --model gpt-5-mini 'What is the past tense of "to write"?'
//! cargo run -p papertape-examples --example agent -- --base-url http://localhost:11434/v1 --model qwen3 'How many words ..?'
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command for the terminal")]

use std::env;

use anyhow::{Context, bail};
use papertape::client::Clients;
use papertape::client::model_api::ModelApi;
use serde_json::{Value, json};

/// How often the model may call tools before it must answer.
const MOST_ROUNDS: usize = 20;

const USAGE: &str = "agent [--config mcp.json] [--base-url URL] [--model MODEL] PROMPT";

struct Options {
    config: String,
    base_url: String,
    model: String,
    prompt: String,
}

fn options() -> anyhow::Result<Options> {
    let mut options = Options {
        config: "mcp.json".to_owned(),
        base_url: env::var("OPENAI_BASE_URL").unwrap_or("https://api.openai.com/v1".to_owned()),
        model: env::var("OPENAI_MODEL").unwrap_or("gpt-5-mini".to_owned()),
        prompt: String::new(),
    };
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value: {USAGE}"));
        match word.as_str() {
            "--config" => options.config = value()?,
            "--base-url" => options.base_url = value()?,
            "--model" => options.model = value()?,
            _ if word.starts_with("--") || !options.prompt.is_empty() => bail!("{USAGE}"),
            _ => options.prompt = word,
        }
    }
    if options.prompt.is_empty() {
        bail!("there is no prompt: {USAGE}");
    }
    Ok(options)
}

/// Sends a request to the endpoint. What it says about a failure is in the error.
async fn complete(http: &reqwest::Client, options: &Options, request: &Value) -> anyhow::Result<Value> {
    let url = format!("{}/chat/completions", options.base_url.trim_end_matches('/'));
    let mut sent = http.post(&url).header("content-type", "application/json").body(request.to_string());
    if let Ok(key) = env::var("OPENAI_API_KEY") {
        sent = sent.bearer_auth(key);
    }
    let response = sent.send().await.with_context(|| format!("{url} cannot be reached"))?;
    let status = response.status();
    let body = response.text().await.with_context(|| format!("{url} broke off"))?;
    if !status.is_success() {
        bail!("{url} responded with {status}: {body}");
    }
    serde_json::from_str(&body).with_context(|| format!("{url} did not respond with JSON: {body}"))
}

/// Lets the model call tools until it answers.
async fn answer(clients: &Clients, options: &Options) -> anyhow::Result<String> {
    let declared = ModelApi::OpenAiChat.declare(clients.tools().await.items());
    let http = reqwest::Client::new();
    let mut messages = vec![json!({"role": "user", "content": options.prompt})];
    for _ in 0..MOST_ROUNDS {
        let request = if declared.is_empty() {
            json!({"model": options.model, "messages": messages})
        } else {
            json!({"model": options.model, "messages": messages, "tools": declared.tools()})
        };
        let response = complete(&http, options, &request).await?;
        let message = response.pointer("/choices/0/message").context("the response has no message")?;
        let calls = declared.calls(&response);
        if calls.is_empty() {
            let text = message["content"].as_str().or(message["refusal"].as_str());
            return Ok(text.unwrap_or_default().to_owned());
        }
        messages.push(message.clone());
        let mut results = Vec::new();
        for call in calls {
            eprintln!("{} {}", call.name, call.arguments.as_ref().map_or("", |arguments| arguments.get()));
            // An error is a result, too: the model reads it and may try again.
            let result = clients.run(&call).await;
            results.push((call, result));
        }
        messages.extend(declared.results(&results));
    }
    bail!("there is no answer after {MOST_ROUNDS} rounds of tool calls")
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = options()?;
    let clients = Clients::from_config(&options.config).await?;
    for failure in clients.failures() {
        eprintln!("{}: {}", failure.server, failure.error);
    }
    let answer = answer(&clients, &options).await;
    clients.close().await;
    println!("{}", answer?);
    Ok(())
}
