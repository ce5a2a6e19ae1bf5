//! A URI is read from the server that has it.

use papertape::client::{Clients, ErrorKind};
use papertape::server::{Resource, ResourceTemplate};
use papertape::{Cx, Server};

use super::{connect, with_tools};
use crate::peer::run;

fn notes(uri: &'static str, text: &'static str) -> Server {
    Server::new("notes", "1")
        .resource(Resource::new(uri).name("note"), move |_: Cx| async move { Ok(text.to_owned()) })
}

async fn read(clients: &Clients, uri: &str) -> String {
    clients.read(uri).await.unwrap()[0].text.clone().unwrap()
}

#[test]
fn a_resource_is_read_from_the_server_that_lists_it() {
    run(async {
        let mut clients = Clients::new();
        clients.add("tools", with_tools(&["a"]).await);
        clients.add("one", connect(notes("note:same", "first")).await);
        // It is the only one with resources, and may have some that it does not list.
        assert_eq!(read(&clients, "note:same").await, "first");
        let error = clients.read("note:unlisted").await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Rpc(_)), "{error}");

        let template = ResourceTemplate::new("page:{name}").name("page");
        let pages = notes("note:same", "second")
            .resource(Resource::new("note:two").name("two"), async |_: Cx| Ok("two".to_owned()))
            .resource_template(template, async |_: serde_json::Value, _: Cx| Ok("a page".to_owned()));
        clients.add("two", connect(pages).await);
        assert_eq!(read(&clients, "note:two").await, "two");
        assert_eq!(read(&clients, "page:x").await, "a page");
        // Of two, the first.
        assert_eq!(read(&clients, "note:same").await, "first");
        let resources = clients.resources().await;
        let problems: Vec<usize> = resources.entries.iter().map(|entry| entry.problems.len()).collect();
        assert_eq!(problems, [0, 1, 0]);
        assert_eq!(clients.resource_templates().await.entries[0].server, "two");

        let error = clients.read("other:x").await.unwrap_err().to_string();
        assert!(error.contains("no server lists it") && error.contains("\"one\", \"two\""), "{error}");
    });
}
