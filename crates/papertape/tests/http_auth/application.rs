//! Requests that the application authenticates: in a layer of axum around the server, or with a function.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use http::HeaderMap;
use papertape::http::{Auth, Challenge, Introspection, Keys, OAuthServer, Options};
use papertape::server::Principal;
use papertape_testing::oauth::{INTROSPECTION_CLIENT, RESOURCE, StubIssuer, StubResponse, claims_with};
use serde_json::{Value, json};

use crate::site::{LEGACY, Site, key, send, with_token};

/// The principal of a request by its bearer token, `NAME` or `NAME:SCOPE`.
fn principal(headers: &HeaderMap) -> Option<Principal> {
    let token = headers.get("authorization")?.to_str().ok()?.strip_prefix("Bearer ")?;
    let (name, scope) = token.split_once('+').unwrap_or((token, "none"));
    Some(Principal::new(name).scope(scope).claim("tenant", 7))
}

async fn login(mut request: Request, next: Next) -> Response {
    if let Some(principal) = principal(request.headers()) {
        request.extensions_mut().insert(principal);
    }
    next.run(request).await
}

/// The server, nested in an application with a layer that authenticates.
async fn layered(auth: Auth) -> Site {
    Site::mounted(Options::new().auth(auth), |mcp| {
        Router::new().nest_service("/mcp", mcp).layer(from_fn(login))
    })
    .await
}

fn verified() -> Auth {
    Auth::verifier(|headers: HeaderMap| async move {
        match headers.get("authorization").map(|value| value.as_bytes()) {
            Some(b"Bearer locked") => Err(Challenge::forbidden("this account is locked")),
            Some(b"Bearer down") => Err(Challenge::unavailable("the user database is down")),
            Some(b"Bearer odd") => {
                Err(Challenge { status: http::StatusCode::OK, ..Challenge::forbidden("?") })
            }
            Some(_) => Ok(principal(&headers).unwrap_or_default()),
            None => Err(Challenge::unauthorized("sign in first").authenticate("Cookie realm=\"app\"")),
        }
    })
}

#[tokio::test]
async fn the_principal_of_a_layer_is_the_principal_of_the_request() {
    let site = layered(Auth::from_extensions().implies("admin", ["notes:read", "notes:write"])).await;
    assert_eq!(site.call("alice", "whoami").await.text(), "alice");
    assert_eq!(site.call("alice", "tenant").await.text(), "7");
    let refused = site.call("", "whoami").await;
    assert!(refused.challenge(401).starts_with("Bearer "), "{refused:?}");
    // Scopes count, those that others imply too.
    assert!(site.call("alice", "write").await.challenge(403).contains("notes:write"));
    assert_eq!(site.call("alice+admin", "write").await.text(), "alice");
}

#[tokio::test]
async fn a_request_without_a_principal_is_anonymous_where_that_is_allowed() {
    let site = layered(Auth::from_extensions().optional()).await;
    assert_eq!(site.call("", "whoami").await.text(), "");
    assert_eq!(site.call("alice", "whoami").await.text(), "alice");
    // Nothing that needs scopes is open to it; and credentials would help.
    assert!(site.call("", "write").await.challenge(401).contains("notes:write"));
    site.call("alice", "write").await.challenge(403);
    // What belongs to a principal does not belong to it, nor the other way round.
    let (alices, anonymous) = (site.open("alice").await, site.open("").await);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(site.say("", &alices, &ping).await.status, 404);
    assert_eq!(site.say("alice", &anonymous, &ping).await.status, 404);
    assert_eq!(site.say("", &anonymous, &ping).await.status, 200);
    let task = site.call("alice", "long").await.body["result"]["taskId"].clone();
    let stolen = site.ask("", "tasks/get", json!({"taskId": task})).await;
    assert_eq!(stolen.body["error"]["code"], json!(-32602), "{stolen:?}");
}

#[tokio::test]
async fn sessions_of_an_application_belong_to_their_principals() {
    for site in [layered(Auth::from_extensions()).await, Site::with(Options::new().auth(verified())).await] {
        let session = site.open("alice").await;
        assert_eq!(site.call_within("alice", &session, "whoami").await.text(), "alice");
        assert_eq!(site.call_within("bob", &session, "whoami").await.status, 404);
    }
}

#[tokio::test]
async fn a_verifier_gives_the_principal_or_the_refusal() {
    let site = Site::with(Options::new().auth(verified())).await;
    assert_eq!(site.call("alice", "whoami").await.text(), "alice");
    assert_eq!(site.call("alice", "tenant").await.text(), "7");
    let missing = site.call("", "whoami").await;
    assert_eq!(missing.challenge(401), "Cookie realm=\"app\"");
    assert!(missing.body["error"]["message"].as_str().unwrap().contains("sign in first"), "{missing:?}");
    let locked = site.call("locked", "whoami").await;
    assert_eq!((locked.status, locked.headers.get("www-authenticate")), (403, None));
    assert_eq!(site.call("down", "whoami").await.status, 503);
    // A refusal is never a success, and no principal is not one without a name.
    assert_eq!(site.call("odd", "whoami").await.challenge(401), "Bearer realm=\"mcp\"");
    site.call("+admin", "whoami").await.challenge(401);
    site.call("alice", "write").await.challenge(403);
}

#[tokio::test]
async fn api_keys_can_be_added_to_the_application_own_users() {
    let ci = key("ci", &[]);
    let site = Site::with(Options::new().auth(verified().keys(Keys::parse(ci.entry()).unwrap()))).await;
    assert_eq!(site.call(ci.secret(), "whoami").await.text(), "ci");
    assert_eq!(site.call("alice", "whoami").await.text(), "alice");
    site.call("pt_unknown", "whoami").await.challenge(401);
}

#[tokio::test]
async fn streams_and_limits_belong_to_the_principal_of_the_application() {
    let auth = Auth::verifier(|headers: HeaderMap| async move {
        let principal = principal(&headers).unwrap_or_default();
        // Its authorization lasts a moment, which is enough for a request.
        Ok(match &*principal.name {
            "guest" => principal.expires(SystemTime::now() + Duration::from_millis(200)),
            "late" => principal.expires(SystemTime::now()),
            _ => principal,
        })
    });
    let site = Site::with(Options::new().auth(auth).requests_per_client(1)).await;
    let listen = async |who: &str| {
        let session = site.open(who).await;
        let stream = with_token(site.request("GET", "/mcp"), who).header("mcp-session-id", &session);
        let stream = stream.header("mcp-protocol-version", LEGACY).send().await.unwrap();
        assert_eq!(stream.status(), 200);
        stream
    };
    let stream = listen("alice").await;
    assert_eq!(site.call("alice", "whoami").await.status, 503);
    assert_eq!(site.call("bob", "whoami").await.text(), "bob");
    drop(stream);
    // This one ends.
    drop(listen("guest").await.bytes().await);
    site.call("late", "whoami").await.challenge(401);
}

// Its scopes are those of the stream: a token that lacks them must not use them.
#[tokio::test]
async fn a_message_of_http_sse_needs_the_scopes_of_its_stream() {
    let site = Site::with(Options::new().auth(verified()).legacy_sse()).await;
    let mut stream = with_token(site.request("GET", "/sse"), "alice+admin").send().await.unwrap();
    let mut text = String::new();
    while !text.contains("\n\n") {
        text.push_str(std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap());
    }
    let path = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let say =
        async |token: &str| send(with_token(site.request("POST", path), token).body(ping.clone())).await;
    assert_eq!(say("alice+admin").await.status, 202);
    assert!(say("alice").await.challenge(403).contains("scope=\"admin\""));
    assert_eq!(say("bob+admin").await.status, 404);
}

// Every way of axum to mount a server at a path, with and without a slash at the end.
#[tokio::test]
async fn a_server_can_be_nested_or_routed() {
    type Mount = fn(papertape::http::HttpService) -> Router;
    let mounts: [(&[&str], Mount); 5] = [
        (&["/mcp", "/mcp/"], |mcp| Router::new().nest_service("/mcp", mcp)),
        (&["/api/v1/tools"], |mcp| Router::new().nest_service("/api/v1/tools", mcp)),
        (&["/api/mcp", "/api/mcp/", "/api"], |mcp| Router::new().nest_service("/api", mcp)),
        (&["/mcp"], |mcp| Router::new().route_service("/mcp", mcp)),
        (&["/mcp", "/mcp/"], |mcp| Router::new().fallback_service(mcp)),
    ];
    for (paths, mount) in mounts {
        let site = Site::mounted(Options::new(), mount).await;
        for path in paths {
            let list = site.asking("", "tools/list", json!({}));
            let (client, mut list) = list.build_split();
            let list = list.as_mut().unwrap();
            list.url_mut().set_path(path);
            let reply = client.execute(list.try_clone().unwrap()).await.unwrap();
            assert_eq!(reply.status(), 200, "{path}");
        }
        assert_eq!(send(site.request("GET", "/elsewhere")).await.status, 404);
    }
}

#[tokio::test]
async fn what_has_a_path_of_its_own_is_reachable_when_nested() {
    let oauth = OAuthServer::new(RESOURCE).issuer("https://login.example.com");
    let options = Options::new().auth(Auth::new().oauth(oauth)).health().metrics();
    let site = Site::mounted(options, |mcp| {
        let metadata = "/.well-known/oauth-protected-resource/mcp";
        let app = Router::new().route_service(metadata, mcp.clone()).route_service("/metrics", mcp.clone());
        app.route_service("/healthz", mcp.clone()).nest_service("/mcp", mcp)
    })
    .await;
    assert_eq!(send(site.request("GET", "/healthz")).await.status, 200);
    assert_eq!(send(site.request("GET", "/metrics")).await.status, 200);
    assert_eq!(send(site.request("GET", "/mcp/healthz")).await.status, 200);
    assert_eq!(send(site.request("GET", "/mcp/metrics")).await.status, 200);
    let refused = site.call("", "whoami").await;
    let named = refused.challenge(401).split("resource_metadata=\"").nth(1).unwrap();
    let path = named.trim_end_matches('"').strip_prefix("https://mcp.example.com").unwrap();
    let metadata = send(site.request("GET", path)).await;
    assert_eq!(metadata.body["resource"], RESOURCE, "{metadata:?}");
}

#[tokio::test]
async fn a_slash_at_the_end_of_the_path_changes_nothing() {
    for options in [Options::new(), Options::new().path("/mcp/")] {
        let site = Site::with(options).await;
        for path in ["/mcp", "/mcp/"] {
            assert_eq!(send(site.request("PUT", path)).await.status, 405, "{path}");
        }
        for path in ["/", "/mcp//", "/mcp/x", "//mcp"] {
            assert_eq!(send(site.request("PUT", path)).await.status, 404, "{path}");
        }
    }
}

#[tokio::test]
async fn opaque_tokens_are_introspected() {
    let issuer = StubIssuer::start().await;
    let (id, secret) = INTROSPECTION_CLIENT;
    let oauth = OAuthServer::new(RESOURCE).issuer(issuer.name());
    let oauth = oauth.introspection(Introspection::new(issuer.introspection_url(), id, secret));
    let site = Site::start(Auth::new().oauth(oauth)).await;
    issuer.issue("opaque", claims_with(&issuer, "scope", json!("notes:read")));
    assert_eq!(site.call("opaque", "whoami").await.text(), format!("{} alice", issuer.name()));
    assert!(site.call("opaque", "write").await.challenge(403).contains("notes:write"));
    assert!(site.call("revoked", "whoami").await.challenge(401).contains("invalid_token"));
    issuer.respond_to_introspection(StubResponse::Json(Value::Null));
    assert_eq!(site.call("another", "whoami").await.status, 503);
}

#[tokio::test]
async fn a_shared_principal_counts_as_well() {
    let site = Site::mounted(Options::new().auth(Auth::from_extensions()), |mcp| {
        Router::new().nest_service("/mcp", mcp).layer(axum::Extension(Arc::new(Principal::new("shared"))))
    })
    .await;
    assert_eq!(site.call("", "whoami").await.text(), "shared");
}
