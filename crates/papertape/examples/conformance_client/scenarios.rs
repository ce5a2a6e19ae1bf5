//! A scenario of the suite to the requests that it wants to see.

use papertape::Client;
use serde_json::{Map, Value, json};

use crate::Failure;

/// Runs a scenario. Those that only want to see a client at work, as all about authorization do, get the usual one.
pub(crate) async fn run(scenario: &str, client: &Client, context: &Value) -> Result<(), Failure> {
    match scenario {
        "initialize" | "json-schema-ref-no-deref" => {
            client.tools().await?;
        }
        "tools_call" => {
            client.tools().await?;
            client.call("add_numbers", json!({"a": 5, "b": 3})).await?;
        }
        "elicitation-sep1034-client-defaults" => {
            client.tools().await?;
            client.call("test_client_elicitation_defaults", json!({})).await?;
        }
        "sse-retry" => {
            client.tools().await?;
            client.call("test_reconnection", json!({})).await?;
        }
        "http-standard-headers" => everything(client).await?,
        "http-custom-headers" => {
            client.tools().await?;
            for call in
                context.get("toolCalls").and_then(Value::as_array).ok_or("the context has no calls")?
            {
                let name = call.get("name").and_then(Value::as_str).ok_or("a call has no name")?;
                client.call(name, call.get("arguments").cloned().unwrap_or_default()).await?;
            }
        }
        "http-invalid-tool-headers" => {
            let tools = client.tools().await?;
            for tool in tools {
                client.call(&tool.item.name, json!({"region": "us-west1"})).await?;
            }
        }
        "sep-2322-client-request-state" => {
            client.tools().await?;
            for tool in [
                "test_mrtr_echo_state",
                "test_mrtr_no_state",
                "test_mrtr_unrelated",
                "test_mrtr_no_result_type",
            ] {
                client.call(tool, json!({})).await?;
            }
        }
        "json-schema-2020-12-preservation" => {
            let tools = client.tools().await?;
            let tool = tools.iter().find(|tool| tool.item.name == "json_schema_2020_12_tool");
            let schema = tool.ok_or("the tool is not listed")?.item.input_schema.clone();
            client.call("json_schema_echo", json!({"schema": schema})).await?;
        }
        _ => {
            let tools = client.tools().await?;
            if let Some(tool) = tools.first() {
                client.call(&tool.item.name, json!({})).await?;
            }
        }
    }
    Ok(())
}

/// Uses all that a server offers.
async fn everything(client: &Client) -> Result<(), Failure> {
    for tool in client.tools().await? {
        client.call(&tool.item.name, json!({})).await?;
    }
    for resource in client.resources().await? {
        client.read(&resource.item.uri).await?;
    }
    for prompt in client.prompts().await? {
        client.prompt(&prompt.item.name, Map::new()).await?;
    }
    Ok(())
}
