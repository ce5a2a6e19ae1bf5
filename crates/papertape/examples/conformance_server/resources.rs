//! Resources: text, bytes, one of a family, and one that can be watched.

use papertape::Server;
use papertape::server::{Resource, ResourceTemplate};
use serde::Deserialize;
use serde_json::json;

use crate::tools::PNG;

#[derive(Deserialize)]
struct Data {
    id: String,
}

pub(crate) fn register(mut server: Server) -> Server {
    // This handle could report changes; here it only enables subscriptions.
    let _changes = server.resources();
    server
        .resource(
            Resource::new("test://static-text")
                .name("static-text")
                .description("A text.")
                .mime_type("text/plain"),
            |_| async { Ok("This is the content of the static text resource.") },
        )
        .resource(
            Resource::new("test://static-binary")
                .name("static-binary")
                .description("A picture.")
                .mime_type("image/png"),
            |_| async { Ok(PNG.to_vec()) },
        )
        .resource(
            Resource::new("test://watched-resource")
                .name("watched-resource")
                .description("A text that one can subscribe to.")
                .mime_type("text/plain"),
            |_| async { Ok("It has not changed so far.") },
        )
        .resource_template(
            ResourceTemplate::new("test://template/{id}/data")
                .name("template-data")
                .description("What there is to know of an id.")
                .mime_type("application/json"),
            |data: Data, _| async move {
                Ok(json!({"id": data.id, "templateTest": true, "data": format!("Data for ID: {}", data.id)})
                    .to_string())
            },
        )
}
