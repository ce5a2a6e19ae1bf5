//! Tool calls, and requests of any method, with typed arguments and results.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;

use super::Client;
use super::error::{ClientError, ErrorKind, NOT_SENT};
use super::options::CallOptions;
use super::requests::calling;
use super::session::{Failure, Params};
use crate::protocol::RawJson;
use crate::wire::error::excerpt;
use crate::wire::members::{self, Members};

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
        let arguments = to_object(&arguments).map_err(|kind| failed(kind, NOT_SENT))?;
        let result = self.call_with(tool, arguments, options).await?;
        if result.is_error {
            return Err(failed(ErrorKind::ToolFailed(Box::new(result)), "the response arrived"));
        }
        result.parse().map_err(|error| failed(ErrorKind::ResultMismatch(error), "the response arrived"))
    }

    /// Sends any request, such as one of an extension, with params of a type, and returns its result as one.
    ///
    /// It is the same in all revisions: `resultType` and `_meta`, which the protocol adds, are not part of what is read, and input
    /// that the server requests is provided by the handlers of this client. [`Client::request`] returns the result as it was
    /// received. `()` reads an empty result.
    ///
    /// ```
    /// use papertape::{Cx, Json, Server, ToolError, memory};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Rename {
    ///     from: String,
    ///     to: String,
    /// }
    ///
    /// #[derive(Serialize, Deserialize)]
    /// #[serde(deny_unknown_fields)]
    /// struct Renamed {
    ///     notes: usize,
    /// }
    ///
    /// async fn rename(_: Rename, _: Cx) -> Result<Json<Renamed>, ToolError> {
    ///     Ok(Json(Renamed { notes: 3 }))
    /// }
    ///
    /// #[tokio::main]
    /// async fn main() -> Result<(), papertape::client::ClientError> {
    ///     let server = Server::new("notes", "1.0.0").method("com.example/rename", rename);
    ///     let client = memory::connect(server).await?;
    ///     let params = Rename { from: "a".to_owned(), to: "b".to_owned() };
    ///     let renamed: Renamed = client.request_as("com.example/rename", params).await?;
    ///     assert_eq!(renamed.notes, 3);
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// If no result arrived, or it is not one of type `T` ([`ErrorKind::ResultMismatch`]).
    pub async fn request_as<T: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize,
    ) -> Result<T, ClientError> {
        self.request_as_with(method, params, CallOptions::new()).await
    }

    /// [`Client::request_as`] with options.
    ///
    /// # Errors
    /// If no result arrived, or it is not one of type `T`.
    pub async fn request_as_with<T: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize,
        options: CallOptions,
    ) -> Result<T, ClientError> {
        let failed = |failure| self.session().error(format!("the request {}", excerpt(method)), failure);
        let params = to_object(&params).map_err(|kind| failed(Failure::new(kind, NOT_SENT)))?;
        let Some(params) = Params::from_json(&params) else {
            let kind = ErrorKind::InvalidArguments("`_meta` cannot be read".to_owned());
            return Err(failed(Failure::new(kind, NOT_SENT)));
        };
        let raw = self.request_with_input(method, params, options).await.map_err(failed)?;
        read_own_members(&raw)
            .map_err(|error| failed(Failure::new(ErrorKind::ResultMismatch(error), "the response arrived")))
    }
}

/// The members of a result that are not the protocol's, as a type.
fn read_own_members<T: DeserializeOwned>(raw: &RawValue) -> serde_json::Result<T> {
    let Ok(members) = Members::read(raw.get()) else { return serde_json::from_str(raw.get()) };
    let own = members.0.iter().filter(|(name, _)| !matches!(&**name, "resultType" | "_meta"));
    let json = members::object(own.map(|(name, value)| (&**name, *value)));
    let read = serde_json::from_str(&json);
    if json == "{}" { read.or_else(|error| serde_json::from_str("null").map_err(|_| error)) } else { read }
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
