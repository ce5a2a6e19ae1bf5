//! Protected resource metadata, where clients find the authorization server.

use serde_json::json;

use crate::site::{Trusting, keyed, send};
use papertape_testing::oauth::RESOURCE;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

#[tokio::test]
async fn the_metadata_is_public_at_both_urls() {
    let site = Trusting::start(|auth| auth).await.site;
    for path in [WELL_KNOWN.to_owned(), format!("{WELL_KNOWN}/mcp")] {
        let reply = send(site.request("GET", &path)).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.headers["content-type"], "application/json");
        assert_eq!(reply.body["resource"], RESOURCE);
        assert_eq!(reply.body["authorization_servers"].as_array().unwrap().len(), 1);
        assert_eq!(reply.body["bearer_methods_supported"], json!(["header"]));
        assert_eq!(send(site.request("HEAD", &path)).await.status, 200);
        assert_ne!(send(site.request("POST", &path).body("{}")).await.status, 200);
    }
    assert_eq!(send(site.request("GET", &format!("{WELL_KNOWN}/other"))).await.status, 404);
}

#[tokio::test]
async fn keys_alone_have_none() {
    let (site, _) = keyed(&[("ci", &[])]).await;
    assert_eq!(send(site.request("GET", WELL_KNOWN)).await.status, 404);
    assert_eq!(site.call("", "whoami").await.challenge(401), "Bearer realm=\"mcp\"");
}
