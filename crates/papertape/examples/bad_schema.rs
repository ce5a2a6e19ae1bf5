//! A server that cannot start, because the schema of one of its tools is invalid: the error names the tool.

use papertape::server::Tool;
use papertape::{Cx, Server, stdio};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let good = Tool::new("good").input_schema(json!({"type": "object"}));
    let misspelt = Tool::new("misspelt").input_schema(json!({
        "type": "object",
        "properties": {"count": {"type": "intger"}},
    }));
    let server = Server::new("bad_schema", "1.0.0")
        .raw_tool(good, async |_: Value, _: Cx| Ok("good"))
        .raw_tool(misspelt, async |_: Value, _: Cx| Ok("never called"));
    stdio::serve(server).await
}
