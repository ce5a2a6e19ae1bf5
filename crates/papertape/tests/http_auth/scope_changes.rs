//! The same principal with other scopes: tokens are replaced, keys change.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use papertape::http::{Auth, Keys};

use crate::site::{Site, Trusting, key};

#[tokio::test]
async fn scopes_follow_the_token_of_each_request_within_a_session() {
    let trusting = Trusting::start(|auth| auth).await;
    let (little, enough) = (trusting.token("alice", ""), trusting.token("alice", "notes:read notes:write"));
    let site = &trusting.site;
    let session = site.open(&little).await;
    site.call_within(&little, &session, "write").await.challenge(403);
    assert_eq!(site.call_within(&enough, &session, "write").await.text(), trusting.name_of("alice"));
    // The scopes of another token do not apply without it.
    site.call_within(&little, &session, "write").await.challenge(403);
    // And each request of a session needs one.
    site.call_within("", &session, "whoami").await.challenge(401);
}

#[tokio::test]
async fn scopes_may_be_implied() {
    let trusting =
        Trusting::start(|auth| auth.implies("admin", ["notes:write"]).implies("notes:write", ["notes:read"]))
            .await;
    for scopes in ["admin", "notes:write"] {
        let token = trusting.token("root", scopes);
        assert_eq!(trusting.site.call(&token, "write").await.text(), trusting.name_of("root"));
    }
    trusting.site.call(&trusting.token("root", "notes:read"), "write").await.challenge(403);
}

#[tokio::test]
async fn key_changes_apply_while_the_server_runs() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("keys-{}.toml", std::process::id()));
    let (old, new) = (key("old", &[]), key("new", &[]));
    std::fs::write(&file, old.entry()).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let site = Site::start(Auth::new().keys(Keys::open(&file).unwrap())).await;
    assert_eq!(site.call(old.secret(), "whoami").await.text(), "old");
    site.call(new.secret(), "whoami").await.challenge(401);
    std::fs::write(&file, new.entry()).unwrap();
    // The file is looked at once a second; the deadline is for failure only.
    let deadline = Instant::now() + Duration::from_secs(60);
    while site.call(new.secret(), "whoami").await.status != 200 {
        assert!(Instant::now() < deadline, "the change is never seen");
    }
    site.call(old.secret(), "whoami").await.challenge(401);
    std::fs::remove_file(file).unwrap();
}
