//! What is asked for, and what happens when it is not enough.

use papertape::http::{AuthStep, Credentials};
use serde_json::json as value;

use crate::site::{json, reply, with};
use crate::world::{World, metadata, oauth, prm};

fn scope(world: &World, visit: usize) -> String {
    world.issuer.asked("/authorize")[visit].query.get("scope").cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_step_up_asks_for_what_was_asked_before_and_what_is_wanted_now() {
    let world = World::new().await;
    let credentials: Credentials = oauth().into();
    assert_eq!(world.call(&credentials, "read").await.unwrap(), 200);
    assert_eq!(world.call(&credentials, "write").await.unwrap(), 200);
    assert_eq!(world.call(&credentials, "read").await.unwrap(), 200);
    assert_eq!(world.visits(), 2);
    assert_eq!((scope(&world, 0), scope(&world, 1)), ("read".to_owned(), "read write".to_owned()));
    assert_eq!(world.issuer.asked("/register").len(), 1, "it is the same client");
}

#[tokio::test]
async fn scopes_come_from_the_challenge_else_from_the_metadata() {
    let world = World::twisted(|asked, places| {
        let mut document = prm(places);
        document["scopes_supported"] = value!(["a", "b"]);
        (asked.path == "/.well-known/oauth-protected-resource/mcp").then(|| json(200, &document))
    })
    .await;
    world.call(&oauth().into(), "").await.unwrap();
    world.call(&oauth().into(), "c").await.unwrap();
    world.call(&oauth().scopes(["mine"]).into(), "").await.unwrap();
    assert_eq!(
        (scope(&world, 0), scope(&world, 1), scope(&world, 2)),
        ("a b".into(), "c".into(), "mine".into())
    );
}

#[tokio::test]
async fn a_scope_that_does_not_help_is_not_asked_for_again() {
    let world = World::twisted(|asked, _| {
        let challenge = "Bearer error=\"insufficient_scope\", scope=\"admin\"";
        let token = asked.header("authorization").is_some();
        (asked.path == "/mcp" && token).then(|| with(reply(403, ""), "www-authenticate", challenge))
    })
    .await;
    let credentials: Credentials = oauth().into();
    for _ in 0..3 {
        let error = world.call(&credentials, "admin").await.unwrap_err();
        assert_eq!(error.step, AuthStep::Challenge);
        assert!(error.to_string().contains("admin"), "{error}");
    }
    assert_eq!(world.visits(), 1);
}

#[tokio::test]
async fn a_server_that_wants_something_new_each_time_gets_three_attempts() {
    let world = World::twisted(|asked, _| {
        let token = asked.header("authorization").unwrap_or_default().len();
        let new =
            format!("Bearer error=\"insufficient_scope\", scope=\"s{}\"", asked.header("authorization")?);
        (asked.path == "/mcp" && token > 0)
            .then(|| with(reply(403, ""), "www-authenticate", &new.replace("Bearer a", "a")))
    })
    .await;
    let error = world.call(&oauth().into(), "").await.unwrap_err();
    assert!(error.to_string().contains("4 times in a row"), "{error}");
    assert_eq!(world.visits(), 3);
}

#[tokio::test]
async fn a_plain_no_is_told_and_nobody_is_asked() {
    let world = World::twisted(|asked, _| (asked.path == "/mcp").then(|| reply(403, ""))).await;
    let error = world.call(&oauth().into(), "").await.unwrap_err();
    assert!(error.to_string().contains("forbids"), "{error}");
    assert_eq!(world.server.paths(), ["/mcp"]);
}

#[tokio::test]
async fn to_stay_is_asked_for_only_where_that_is_known() {
    for (listed, expected) in [(true, "read offline_access"), (false, "read")] {
        let world = World::twisted(move |asked, places| {
            let mut document = metadata(&places.issuer);
            document["scopes_supported"] =
                if listed { value!(["read", "offline_access"]) } else { value!(["read"]) };
            (asked.path == "/.well-known/oauth-authorization-server").then(|| json(200, &document))
        })
        .await;
        world.call(&oauth().into(), "read").await.unwrap();
        assert_eq!(scope(&world, 0), expected);
    }
}
