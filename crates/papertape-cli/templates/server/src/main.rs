//! An MCP server with one tool.

use papertape::{Cx, Server, ToolError, stdio};
use schemars::JsonSchema;
use serde::Deserialize;

/// Convert a temperature to degrees Celsius.
#[derive(Deserialize, JsonSchema)]
struct ToCelsius {
    /// In degrees Fahrenheit.
    fahrenheit: f64,
}

async fn to_celsius(args: ToCelsius, _: Cx) -> Result<String, ToolError> {
    if args.fahrenheit < -459.67 {
        // The model reads this: say what is wrong, and what is allowed.
        return Err(ToolError::failed("nothing is colder than -459.67 °F"));
    }
    Ok(format!("{:.1} °C", (args.fahrenheit - 32.0) / 1.8))
}

fn server() -> Server {
    Server::new("{{name}}", env!("CARGO_PKG_VERSION")).tool("to_celsius", to_celsius)
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    stdio::serve(server()).await
}

#[cfg(test)]
mod tests {
    use papertape::client::ClientError;
    use papertape::memory;
    use serde_json::json;

    use super::server;

    #[test]
    fn hosts_can_load_it() {
        assert_eq!(server().check().unwrap(), []);
    }

    #[tokio::test]
    async fn it_converts() -> Result<(), ClientError> {
        let client = memory::connect(server()).await?;
        let result = client.call("to_celsius", json!({"fahrenheit": 212})).await?;
        assert_eq!(result.text(), "100.0 °C");
        Ok(())
    }

    #[tokio::test]
    async fn errors_are_for_a_model_to_read() -> Result<(), ClientError> {
        let client = memory::connect(server()).await?;
        let result = client.call("to_celsius", json!({"fahrenheit": -500})).await?;
        assert!(result.is_error);
        assert_eq!(result.text(), "nothing is colder than -459.67 °F");
        // Arguments that violate the schema never reach the tool.
        let result = client.call("to_celsius", json!({"fahrenheit": "warm"})).await?;
        assert!(result.is_error);
        Ok(())
    }
}
