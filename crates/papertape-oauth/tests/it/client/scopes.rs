//! Requested scopes and step-up authorization.

use papertape_oauth::client::{AuthStep, Credentials};
use serde_json::json as value;

use super::deployment::{Deployment, oauth};
use super::stub_server::{reply, with};

fn scope(deployment: &Deployment, visit: usize) -> String {
    deployment.issuer.requests("/authorize")[visit].query.get("scope").cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_step_up_requests_earlier_and_new_scopes() {
    let deployment = Deployment::new().await;
    let credentials: Credentials = oauth().into();
    assert_eq!(deployment.call(&credentials, "read").await.unwrap(), 200);
    assert_eq!(deployment.call(&credentials, "write").await.unwrap(), 200);
    assert_eq!(deployment.call(&credentials, "read").await.unwrap(), 200);
    assert_eq!(deployment.authorizations(), 2);
    assert_eq!((scope(&deployment, 0), scope(&deployment, 1)), ("read".to_owned(), "read write".to_owned()));
    assert_eq!(deployment.issuer.requests("/register").len(), 1, "it is the same client");
}

#[tokio::test]
async fn scopes_come_from_the_challenge_else_from_the_metadata() {
    let deployment = Deployment::with_resource_metadata("scopes_supported", value!(["a", "b"])).await;
    deployment.call(&oauth().into(), "").await.unwrap();
    deployment.call(&oauth().into(), "c").await.unwrap();
    deployment.call(&oauth().scopes(["mine"]).into(), "").await.unwrap();
    assert_eq!(
        (scope(&deployment, 0), scope(&deployment, 1), scope(&deployment, 2)),
        ("a b".into(), "c".into(), "mine".into())
    );
}

#[tokio::test]
async fn a_scope_that_was_not_granted_is_not_requested_again() {
    let deployment = Deployment::with_override(|request, _| {
        let challenge = "Bearer error=\"insufficient_scope\", scope=\"admin\"";
        let token = request.header("authorization").is_some();
        (request.path == "/mcp" && token).then(|| with(reply(403, ""), "www-authenticate", challenge))
    })
    .await;
    let credentials: Credentials = oauth().into();
    for _ in 0..3 {
        let error = deployment.call(&credentials, "admin").await.unwrap_err();
        assert_eq!(error.step, AuthStep::Challenge);
        assert!(error.to_string().contains("admin"), "{error}");
    }
    assert_eq!(deployment.authorizations(), 1);
}

#[tokio::test]
async fn step_ups_of_one_request_are_bounded() {
    let deployment = Deployment::with_override(|request, _| {
        let token = request.header("authorization").unwrap_or_default().len();
        let new =
            format!("Bearer error=\"insufficient_scope\", scope=\"s{}\"", request.header("authorization")?);
        (request.path == "/mcp" && token > 0)
            .then(|| with(reply(403, ""), "www-authenticate", &new.replace("Bearer a", "a")))
    })
    .await;
    let error = deployment.call(&oauth().into(), "").await.unwrap_err();
    assert!(error.to_string().contains("4 times in a row"), "{error}");
    assert_eq!(deployment.authorizations(), 3);
}

#[tokio::test]
async fn a_403_without_a_challenge_starts_no_flow() {
    let deployment =
        Deployment::with_override(|request, _| (request.path == "/mcp").then(|| reply(403, ""))).await;
    let error = deployment.call(&oauth().into(), "").await.unwrap_err();
    assert!(error.to_string().contains("denies access"), "{error}");
    assert_eq!(deployment.server.paths(), ["/mcp"]);
}

#[tokio::test]
async fn offline_access_is_requested_only_if_supported() {
    for (supported, expected) in
        [(value!(["read", "offline_access"]), "read offline_access"), (value!(["read"]), "read")]
    {
        let deployment = Deployment::with_server_metadata("scopes_supported", supported).await;
        deployment.call(&oauth().into(), "read").await.unwrap();
        assert_eq!(scope(&deployment, 0), expected);
    }
}
