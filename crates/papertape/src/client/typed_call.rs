//! Tool calls with typed arguments and results.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::Client;
use super::error::{ClientError, ErrorKind};
use super::options::CallOptions;
use super::requests::calling;
use super::session::Failure;
use crate::protocol::RawJson;

impl Client {
    /// Calls a tool with arguments of a type, and returns its result as one.
    ///
    /// The result is read from the structured content; without that, from the text, as JSON or as a string. So a `String` is
    /// the text of any tool without structured content.
    ///
    /// The arguments are a value or a reference: a struct, a map, or `json!({..})`.
    ///
    /// A tool that ran and failed (`isError`) is an error here, [`ErrorKind::ToolFailed`], which displays what the tool says.
    ///
    /// ```
    /// use papertape::{Cx, Json, Server, ToolError, memory};
    /// use schemars::JsonSchema;
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize, JsonSchema)]
    /// struct Point {
    ///     x: i64,
    ///     y: i64,
    /// }
    ///
    /// async fn mirror(point: Point, _: Cx) -> Result<Json<Point>, ToolError> {
    ///     Ok(Json(Point { x: -point.x, y: -point.y }))
    /// }
    ///
    /// #[tokio::main]
    /// async fn main() -> Result<(), papertape::client::ClientError> {
    ///     let client = memory::connect(Server::new("points", "1.0.0").tool("mirror", mirror)).await?;
    ///     let mirrored: Point = client.call_as("mirror", Point { x: 1, y: 2 }).await?;
    ///     assert_eq!((mirrored.x, mirrored.y), (-1, -2));
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// If no result arrived, the tool failed, or its result is not one of type `T` ([`ErrorKind::ResultMismatch`]).
    pub async fn call_as<T: DeserializeOwned>(
        &self,
        tool: &str,
        arguments: impl Serialize,
    ) -> Result<T, ClientError> {
        self.call_as_with(tool, arguments, CallOptions::new()).await
    }

    /// [`Client::call_as`] with options.
    ///
    /// # Errors
    /// If no result arrived, the tool failed, or its result is not one of type `T`.
    pub async fn call_as_with<T: DeserializeOwned>(
        &self,
        tool: &str,
        arguments: impl Serialize,
        options: CallOptions,
    ) -> Result<T, ClientError> {
        let failed = |kind, stage| self.session().error(calling(tool), Failure::new(kind, stage));
        let arguments = to_object(&arguments).map_err(|kind| failed(kind, "the request was not sent"))?;
        let result = self.call_with(tool, arguments, options).await?;
        if result.is_error {
            return Err(failed(ErrorKind::ToolFailed(Box::new(result)), "the response arrived"));
        }
        result.parse().map_err(|error| failed(ErrorKind::ResultMismatch(error), "the response arrived"))
    }
}

/// Arguments as JSON: an object, or nothing.
fn to_object(arguments: &impl Serialize) -> Result<RawJson, ErrorKind> {
    match RawJson::write(arguments) {
        Ok(json) if json.is_object() => Ok(json),
        Ok(json) if json.get() == "null" => Ok(json!({}).into()),
        Ok(_) => {
            Err(ErrorKind::InvalidArguments("they must be an object, such as a struct or a map".to_owned()))
        }
        Err(error) => Err(ErrorKind::InvalidArguments(error.to_string())),
    }
}
