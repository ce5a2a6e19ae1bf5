//! The interop client on rmcp, over Streamable HTTP.

use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient, ServiceError,
    model::{
        CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
        ElicitationAction, GetPromptRequestParams, Implementation, ProtocolVersion,
        ReadResourceRequestParams,
    },
    service::{RequestContext, RunningService},
    transport::StreamableHttpClientTransport,
};
use serde_json::{Map, Value, json};

/// Answers every question of the drill the same way, which is right once.
struct Learner;

impl ClientHandler for Learner {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("interop", "1.0.0"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"answer": "went"})))
    }
}

type Client = RunningService<RoleClient, Learner>;

pub async fn run(mode: &str, url: &str) -> anyhow::Result<()> {
    let lifecycle = match mode {
        "auto" => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: None,
        },
        _ => ClientLifecycleMode::Initialize,
    };
    let client =
        Learner.serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url), lifecycle).await?;

    let server = client.peer_info().map(|info| serde_json::to_value(&*info)).transpose()?.unwrap_or_default();
    let tools: Vec<_> = client.list_all_tools().await?.into_iter().map(|tool| tool.name).collect();
    let verb = ReadResourceRequestParams::new("grammar://verb/eat");
    let table = serde_json::to_value(client.read_resource(verb).await?)?;
    let about = object(json!({"verb": "eat", "tense": "past simple"}));
    let asked = client.get_prompt(GetPromptRequestParams::new("explain_tense").with_arguments(about)).await?;
    let unknown = match client.call_tool(CallToolRequestParams::new("no_such_tool")).await {
        Err(ServiceError::McpError(error)) => json!(error.code),
        other => json!(format!("{other:?}")),
    };
    let eat = json!({"verb": "eat", "tense": "past simple", "person": "3rd singular"});
    let seen = json!({
        "revision": server["protocolVersion"],
        "server": server["serverInfo"]["name"],
        "tools": tools,
        "conjugate": call(&client, "conjugate", eat).await?,
        "lookup": call(&client, "lookup_irregular_verb", json!({"verb": "write"})).await?,
        "failing": call(&client, "lookup_irregular_verb", json!({"verb": "walk"})).await?,
        "read": table["contents"][0]["text"].as_str().and_then(|text| text.lines().next()),
        "prompt": asked.messages.iter().map(|message| &message.role).collect::<Vec<_>>(),
        "drill": call(&client, "drill", json!({"questions": 2, "seed": 64})).await?["structured"],
        "unknown": unknown,
    });
    client.cancel().await?;
    println!("{seen}");
    Ok(())
}

async fn call(client: &Client, tool: &'static str, arguments: Value) -> anyhow::Result<Value> {
    let result = client.call_tool(CallToolRequestParams::new(tool).with_arguments(object(arguments))).await?;
    let result = serde_json::to_value(result)?;
    let blocks = result["content"].as_array().cloned().unwrap_or_default();
    Ok(json!({
        "text": blocks.iter().map(|block| &block["text"]).collect::<Vec<_>>(),
        "structured": result["structuredContent"],
        "isError": result["isError"].as_bool().unwrap_or(false),
    }))
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}
