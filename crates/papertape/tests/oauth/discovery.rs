//! Whom a server trusts, and where that is: what is believed and what is not.

use http::Method;
use papertape::http::{AuthStep, Credentials};
use serde_json::json as value;

use crate::site::{json, reply, with};
use crate::world::{World, metadata, oauth, prm};

const PRM: &str = "/.well-known/oauth-protected-resource/mcp";
const ROOT_PRM: &str = "/.well-known/oauth-protected-resource";
const METADATA: &str = "/.well-known/oauth-authorization-server";

/// Calls, and gives back the error and its step.
async fn refused(world: &World) -> (AuthStep, String) {
    let error = world.call(&oauth().into(), "").await.unwrap_err();
    assert_eq!(world.visits(), 0, "nobody may be asked: {error}");
    assert_eq!(world.issuer.asked("/register").len(), 0, "nothing may be registered: {error}");
    (error.step, error.to_string())
}

#[tokio::test]
async fn the_whole_way() {
    let world = World::new().await;
    assert_eq!(world.call(&oauth().into(), "").await.unwrap(), 200);
    assert_eq!(world.server.paths(), ["/mcp", PRM, "/mcp"]);
    assert_eq!(world.issuer.paths(), [METADATA, "/register", "/authorize", "/token"]);
    let registered = world.issuer.asked("/register")[0].json();
    assert_eq!(registered["application_type"], "native");
    assert_eq!(registered["grant_types"], value!(["authorization_code", "refresh_token"]));
    let asked = &world.issuer.asked("/authorize")[0].query;
    let resource = format!("{}/mcp", world.server.url);
    assert_eq!(asked["resource"], resource);
    assert!(!asked.contains_key("scope"), "nobody named a scope");
    assert_eq!(world.issuer.asked("/token")[0].form()["resource"], resource);
}

#[tokio::test]
async fn a_resource_without_a_path_is_sent_without_a_slash() {
    let world = World::twisted(|asked, places| match asked.path.as_str() {
        "/mcp" if asked.header("authorization").is_none() => Some(reply(401, "")),
        PRM => Some(reply(404, "")),
        ROOT_PRM => {
            let mut document = prm(places);
            document["resource"] = places.server.clone().into();
            Some(json(200, &document))
        }
        _ => None,
    })
    .await;
    assert_eq!(world.call(&oauth().into(), "").await.unwrap(), 200);
    assert_eq!(world.server.paths(), ["/mcp", PRM, ROOT_PRM, "/mcp"]);
    assert_eq!(world.issuer.asked("/authorize")[0].query["resource"], world.server.url);
}

#[tokio::test]
async fn another_servers_metadata_is_not_used() {
    for resource in ["https://evil.example.com/mcp", "http://127.0.0.1:1/mcp", "/mcp", ""] {
        let world = World::twisted(move |asked, places| {
            let mut document = prm(places);
            document["resource"] = resource.into();
            (asked.path == PRM).then(|| json(200, &document))
        })
        .await;
        let (step, text) = refused(&world).await;
        assert_eq!(step, AuthStep::ResourceMetadata, "{text}");
        assert!(text.contains(resource), "{text}");
        assert_eq!(world.issuer.paths().len(), 0, "{text}");
    }
}

#[tokio::test]
async fn another_issuers_metadata_is_not_used() {
    for twist in ["https://attacker.example.com", "{}/", "{}:80"] {
        let world = World::twisted(move |asked, places| {
            let mut document = metadata(&places.issuer);
            document["issuer"] = twist.replace("{}", &places.issuer).into();
            (asked.path == METADATA).then(|| json(200, &document))
        })
        .await;
        let (step, text) = refused(&world).await;
        assert_eq!(step, AuthStep::ServerMetadata, "{text}");
        assert_eq!(world.issuer.paths(), [METADATA], "{text}");
    }
}

#[tokio::test]
async fn an_issuer_that_does_not_check_who_redeems_codes_is_not_used() {
    for methods in [value!(null), value!([]), value!(["plain"])] {
        let world = World::twisted(move |asked, places| {
            let mut document = metadata(&places.issuer);
            document["code_challenge_methods_supported"] = methods.clone();
            (asked.path == METADATA).then(|| json(200, &document))
        })
        .await;
        let (step, text) = refused(&world).await;
        assert_eq!(step, AuthStep::Authorization);
        assert!(text.contains("S256"), "{text}");
    }
}

#[tokio::test]
async fn nobody_sends_us_where_others_read_along_or_to_what_is_no_page() {
    let bad =
        ["http://as.example.com/x", "javascript:alert(1)", "file:///etc/passwd", "https://me@as.example.com"];
    for bad in bad {
        for member in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
            let world = World::twisted(move |asked, places| {
                let mut document = metadata(&places.issuer);
                document[member] = bad.into();
                (asked.path == METADATA).then(|| json(200, &document))
            })
            .await;
            let (step, text) = refused(&world).await;
            assert_eq!(step, AuthStep::ServerMetadata, "{member} {bad}: {text}");
        }
        let world = World::twisted(move |asked, places| {
            let mut document = prm(places);
            document["authorization_servers"] = value!([bad]);
            (asked.path == PRM).then(|| json(200, &document))
        })
        .await;
        let (step, text) = refused(&world).await;
        assert_eq!(step, AuthStep::ServerMetadata, "{bad}: {text}");
        let world = World::twisted(move |asked, _| {
            let challenge = format!("Bearer resource_metadata=\"{bad}\"");
            (asked.path == "/mcp").then(|| with(reply(401, ""), "www-authenticate", &challenge))
        })
        .await;
        assert_eq!(refused(&world).await.0, AuthStep::ResourceMetadata, "{bad}");
    }
}

#[tokio::test]
async fn a_server_that_others_can_listen_to_gets_no_token() {
    let credentials: Credentials = oauth().into();
    let url = url::Url::parse("http://example.com/mcp").unwrap();
    let refused = credentials.refused(&url, 401.try_into().unwrap(), &http::HeaderMap::new(), 1).await;
    assert!(refused.unwrap_err().to_string().contains("https"));
    assert!(credentials.headers(&Method::POST, &url).await.unwrap().is_empty());
}

#[tokio::test]
async fn redirects_of_metadata_are_not_followed() {
    for place in [PRM, METADATA] {
        let world = World::twisted(move |asked, places| {
            let elsewhere = format!("{}/elsewhere", places.server);
            (asked.path == place).then(|| with(reply(302, ""), "location", &elsewhere))
        })
        .await;
        let (_, text) = refused(&world).await;
        assert!(text.contains("elsewhere (HTTP 302"), "{text}");
        assert!(world.server.asked("/elsewhere").is_empty());
    }
}

#[tokio::test]
async fn documents_that_are_too_long_or_none_are_refused() {
    for place in [PRM, METADATA] {
        for (body, word) in [
            ("x".repeat(1024 * 1024 + 1), "longer"),
            ("<html>".to_owned(), "not JSON"),
            ("{}".to_owned(), "wrong kind"),
        ] {
            let world =
                World::twisted(move |asked, _| (asked.path == place).then(|| reply(200, body.clone()))).await;
            let (_, text) = refused(&world).await;
            assert!(text.contains(word), "{text}");
        }
    }
}

#[tokio::test]
async fn a_server_of_2025_03_26_is_its_own_issuer() {
    for (found, endpoints) in [(true, "/oauth"), (false, "")] {
        // Everything is at the MCP server's own site.
        let world = World::twisted(move |asked, places| {
            let own = &places.server;
            match asked.path.as_str() {
                "/mcp" => Some(match asked.header("authorization") {
                    None => reply(401, ""),
                    Some(token) => reply(if token == "Bearer old" { 200 } else { 500 }, ""),
                }),
                METADATA if found => {
                    let mut document = metadata(own);
                    for name in ["authorization", "token", "registration"] {
                        let path = if name == "registration" { "register" } else { name };
                        let path = if name == "authorization" { "authorize" } else { path };
                        document[format!("{name}_endpoint")] = format!("{own}/oauth/{path}").into();
                    }
                    document["authorization_response_iss_parameter_supported"] = false.into();
                    Some(json(200, &document))
                }
                path if path == format!("{endpoints}/register") => {
                    Some(json(201, &value!({ "client_id": "me" })))
                }
                path if path == format!("{endpoints}/authorize") => {
                    let back =
                        format!("{}?code=c0de&state={}", asked.query["redirect_uri"], asked.query["state"]);
                    Some(with(reply(302, ""), "location", &back))
                }
                path if path == format!("{endpoints}/token") => {
                    Some(json(200, &value!({ "access_token": "old", "token_type": "bearer" })))
                }
                _ => Some(reply(404, "")),
            }
        })
        .await;
        assert_eq!(world.call(&oauth().into(), "").await.unwrap(), 200);
        let paths = world.server.paths();
        assert!(paths.contains(&PRM.to_owned()) && paths.contains(&ROOT_PRM.to_owned()), "{paths:?}");
        assert!(world.issuer.paths().is_empty());
    }
}
