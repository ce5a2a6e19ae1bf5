//! Discovery of metadata: which documents are accepted, and which are rejected.

use http::Method;
use papertape_oauth::client::{AuthStep, Credentials};
use serde_json::json as value;

use super::deployment::{
    Deployment, RESOURCE_METADATA as PRM, SERVER_METADATA as METADATA, oauth, server_metadata,
};
use super::stub_server::{json, reply, with};

const ROOT_PRM: &str = "/.well-known/oauth-protected-resource";

/// Calls, and gives back the error and its step.
async fn refused(deployment: &Deployment) -> (AuthStep, String) {
    let error = deployment.call(&oauth().into(), "").await.unwrap_err();
    assert_eq!(deployment.authorizations(), 0, "no authorization may be requested: {error}");
    assert_eq!(deployment.issuer.requests("/register").len(), 0, "nothing may be registered: {error}");
    (error.step, error.to_string())
}

#[tokio::test]
async fn the_flow_from_challenge_to_token() {
    let deployment = Deployment::new().await;
    assert_eq!(deployment.call(&oauth().into(), "").await.unwrap(), 200);
    assert_eq!(deployment.server.paths(), ["/mcp", PRM, "/mcp"]);
    assert_eq!(deployment.issuer.paths(), [METADATA, "/register", "/authorize", "/token"]);
    let registered = deployment.issuer.requests("/register")[0].json();
    assert_eq!(registered["application_type"], "native");
    assert_eq!(registered["grant_types"], value!(["authorization_code", "refresh_token"]));
    let request = &deployment.issuer.requests("/authorize")[0].query;
    let resource = format!("{}/mcp", deployment.server.url);
    assert_eq!(request["resource"], resource);
    assert!(!request.contains_key("scope"), "no scope is named");
    assert_eq!(deployment.issuer.requests("/token")[0].form()["resource"], resource);
}

#[tokio::test]
async fn a_resource_without_a_path_is_sent_without_a_slash() {
    let deployment = Deployment::with_override(|request, urls| match request.path.as_str() {
        "/mcp" if request.header("authorization").is_none() => Some(reply(401, "")),
        PRM => Some(reply(404, "")),
        ROOT_PRM => {
            Some(json(200, &value!({"resource": urls.server, "authorization_servers": [urls.issuer]})))
        }
        _ => None,
    })
    .await;
    assert_eq!(deployment.call(&oauth().into(), "").await.unwrap(), 200);
    assert_eq!(deployment.server.paths(), ["/mcp", PRM, ROOT_PRM, "/mcp"]);
    assert_eq!(deployment.issuer.requests("/authorize")[0].query["resource"], deployment.server.url);
}

#[tokio::test]
async fn metadata_of_another_resource_is_rejected() {
    for resource in ["https://evil.example.com/mcp", "http://127.0.0.1:1/mcp", "/mcp", ""] {
        let deployment = Deployment::with_resource_metadata("resource", resource.into()).await;
        let (step, text) = refused(&deployment).await;
        assert_eq!(step, AuthStep::ResourceMetadata, "{text}");
        assert!(text.contains(resource), "{text}");
        assert_eq!(deployment.issuer.paths().len(), 0, "{text}");
    }
}

#[tokio::test]
async fn metadata_of_another_issuer_is_rejected() {
    for issuer in ["https://attacker.example.com", "{}/", "{}:80"] {
        let deployment = Deployment::with_override(move |request, urls| {
            let mut document = server_metadata(&urls.issuer);
            document["issuer"] = issuer.replace("{}", &urls.issuer).into();
            (request.path == METADATA).then(|| json(200, &document))
        })
        .await;
        let (step, text) = refused(&deployment).await;
        assert_eq!(step, AuthStep::ServerMetadata, "{text}");
        assert_eq!(deployment.issuer.paths(), [METADATA], "{text}");
    }
}

#[tokio::test]
async fn an_authorization_server_without_pkce_is_rejected() {
    for methods in [value!(null), value!([]), value!(["plain"])] {
        let deployment = Deployment::with_server_metadata("code_challenge_methods_supported", methods).await;
        let (step, text) = refused(&deployment).await;
        assert_eq!(step, AuthStep::Authorization);
        assert!(text.contains("S256"), "{text}");
    }
}

#[tokio::test]
async fn unencrypted_and_non_http_endpoints_are_rejected() {
    let bad =
        ["http://as.example.com/x", "javascript:alert(1)", "file:///etc/passwd", "https://me@as.example.com"];
    for bad in bad {
        for member in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
            let deployment = Deployment::with_server_metadata(member, bad.into()).await;
            let (step, text) = refused(&deployment).await;
            assert_eq!(step, AuthStep::ServerMetadata, "{member} {bad}: {text}");
        }
        let deployment = Deployment::with_resource_metadata("authorization_servers", value!([bad])).await;
        let (step, text) = refused(&deployment).await;
        assert_eq!(step, AuthStep::ServerMetadata, "{bad}: {text}");
        let deployment = Deployment::with_override(move |request, _| {
            let challenge = format!("Bearer resource_metadata=\"{bad}\"");
            (request.path == "/mcp").then(|| with(reply(401, ""), "www-authenticate", &challenge))
        })
        .await;
        assert_eq!(refused(&deployment).await.0, AuthStep::ResourceMetadata, "{bad}");
    }
}

#[tokio::test]
async fn no_token_is_sent_over_an_unencrypted_connection() {
    let credentials: Credentials = oauth().into();
    let url = url::Url::parse("http://example.com/mcp").unwrap();
    let refused = credentials.challenged(&url, 401.try_into().unwrap(), &http::HeaderMap::new(), 1).await;
    assert!(refused.unwrap_err().to_string().contains("https"));
    assert!(credentials.headers(&Method::POST, &url).await.unwrap().is_empty());
}

#[tokio::test]
async fn redirects_of_metadata_are_not_followed() {
    for place in [PRM, METADATA] {
        let deployment = Deployment::with_override(move |request, urls| {
            let elsewhere = format!("{}/elsewhere", urls.server);
            (request.path == place).then(|| with(reply(302, ""), "location", &elsewhere))
        })
        .await;
        let (_, text) = refused(&deployment).await;
        assert!(text.contains("redirects (HTTP 302"), "{text}");
        assert!(deployment.server.requests("/elsewhere").is_empty());
    }
}

#[tokio::test]
async fn metadata_that_is_too_long_or_not_json_is_rejected() {
    for place in [PRM, METADATA] {
        for (body, word) in [
            ("x".repeat(1024 * 1024 + 1), "longer"),
            ("<html>".to_owned(), "not JSON"),
            ("{}".to_owned(), "wrong type"),
        ] {
            let deployment = Deployment::with_override(move |request, _| {
                (request.path == place).then(|| reply(200, body.clone()))
            })
            .await;
            let (_, text) = refused(&deployment).await;
            assert!(text.contains(word), "{text}");
        }
    }
}

#[tokio::test]
async fn a_server_of_2025_03_26_is_its_own_authorization_server() {
    for (found, endpoints) in [(true, "/oauth"), (false, "")] {
        // All endpoints are at the origin of the MCP server.
        let deployment = Deployment::with_override(move |request, urls| {
            let own = &urls.server;
            match request.path.as_str() {
                "/mcp" => Some(match request.header("authorization") {
                    None => reply(401, ""),
                    Some(token) => reply(if token == "Bearer old" { 200 } else { 500 }, ""),
                }),
                METADATA if found => {
                    let mut document = server_metadata(own);
                    for (name, path) in
                        [("authorization", "authorize"), ("token", "token"), ("registration", "register")]
                    {
                        document[format!("{name}_endpoint")] = format!("{own}/oauth/{path}").into();
                    }
                    document["authorization_response_iss_parameter_supported"] = false.into();
                    Some(json(200, &document))
                }
                path if path == format!("{endpoints}/register") => {
                    Some(json(201, &value!({ "client_id": "me" })))
                }
                path if path == format!("{endpoints}/authorize") => {
                    let back = format!(
                        "{}?code=c0de&state={}",
                        request.query["redirect_uri"], request.query["state"]
                    );
                    Some(with(reply(302, ""), "location", &back))
                }
                path if path == format!("{endpoints}/token") => {
                    Some(json(200, &value!({ "access_token": "old", "token_type": "bearer" })))
                }
                _ => Some(reply(404, "")),
            }
        })
        .await;
        assert_eq!(deployment.call(&oauth().into(), "").await.unwrap(), 200);
        let paths = deployment.server.paths();
        assert!(paths.contains(&PRM.to_owned()) && paths.contains(&ROOT_PRM.to_owned()), "{paths:?}");
        assert!(deployment.issuer.paths().is_empty());
    }
}
