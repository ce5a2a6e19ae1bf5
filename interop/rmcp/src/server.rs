//! The interop server on rmcp, written as its documentation writes one.

use rmcp::{
    ErrorData, Json, RoleServer, ServerHandler, ServiceExt,
    handler::server::wrapper::Parameters,
    model::{
        Implementation, ListResourcesResult, PaginatedRequestParams, PromptMessage,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents,
        Role, ServerCapabilities, ServerConfig,
    },
    prompt, prompt_handler, prompt_router, schemars,
    service::RequestContext,
    tool, tool_handler, tool_router,
    transport::{StreamableHttpService, stdio, streamable_http_server::session::local::LocalSessionManager},
};
use serde::{Deserialize, Serialize};

#[derive(Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Sum {
    result: i64,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Echo {
    text: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Greet {
    name: String,
}

#[derive(Clone)]
struct Interop;

#[tool_router]
impl Interop {
    #[tool(description = "Add two whole numbers.")]
    async fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> Json<Sum> {
        Json(Sum { result: a + b })
    }

    #[tool(description = "Return the text unchanged.")]
    async fn echo(&self, Parameters(Echo { text }): Parameters<Echo>) -> String {
        text
    }

    #[tool(description = "Fail, always.")]
    async fn fail(&self) -> Result<String, String> {
        Err("as asked".to_owned())
    }
}

#[prompt_router]
impl Interop {
    #[prompt(description = "Ask for a greeting.")]
    async fn greet(&self, Parameters(Greet { name }): Parameters<Greet>) -> Vec<PromptMessage> {
        vec![PromptMessage::new_text(Role::User, format!("Greet {name} kindly."))]
    }
}

#[tool_handler(router = Self::tool_router())]
#[prompt_handler(router = Self::prompt_router())]
impl ServerHandler for Interop {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("interop-rmcp", "1.0.0"))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let greeting = Resource::new("interop://greeting", "greeting").with_mime_type("text/plain");
        Ok(ListResourcesResult::with_all_items(vec![greeting]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != "interop://greeting" {
            return Err(ErrorData::resource_not_found("no such resource", None));
        }
        let text =
            ResourceContents::text("Hello from the other side.", request.uri).with_mime_type("text/plain");
        Ok(ReadResourceResult::new(vec![text]).into())
    }
}

pub async fn on_stdio() -> anyhow::Result<()> {
    Interop.serve(stdio()).await?.waiting().await?;
    Ok(())
}

pub async fn on_http() -> anyhow::Result<()> {
    let service: StreamableHttpService<Interop, LocalSessionManager> =
        StreamableHttpService::new(|| Ok(Interop), Default::default(), Default::default());
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("at http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}
