//! The token file: permissions, links, atomic replacement.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use papertape_oauth::client::{AuthStep, Credentials, FileTokens, OAuthClient, TokenKey, TokenStore};

use super::deployment::{Deployment, oauth};
use crate::{Folder, mode, set_mode};

impl Folder {
    fn tokens(&self) -> PathBuf {
        self.0.join("data/papertape/tokens.json")
    }
}

/// A file with the tokens of one server in it.
async fn filled(folder: &Folder) -> (Deployment, FileTokens) {
    let deployment = Deployment::new().await;
    let store = FileTokens::new(folder.tokens());
    deployment.call(&oauth().store(store.clone()).into(), "").await.unwrap();
    (deployment, store)
}

#[tokio::test]
async fn tokens_persist_in_a_private_file() {
    let folder = Folder::new("token-modes");
    let (deployment, store) = filled(&folder).await;
    assert_eq!(mode(&folder.tokens()), 0o600);
    assert_eq!(mode(folder.tokens().parent().unwrap()), 0o700);
    let text = fs::read_to_string(folder.tokens()).unwrap();
    assert!(text.contains("access-"), "{text}");
    let given = OAuthClient::new("mine").secret("hush-hush");
    deployment
        .call(&oauth().client(given).store(FileTokens::new(folder.0.join("other.json"))).into(), "")
        .await
        .unwrap();
    let other = fs::read_to_string(folder.0.join("other.json")).unwrap();
    assert!(
        other.contains("mine") && !other.contains("hush"),
        "the caller's secret is the caller's to keep: {other}"
    );
    // Another run of the program.
    deployment.call(&oauth().store(store.clone()).into(), "").await.unwrap();
    assert_eq!(deployment.authorizations(), 2);
    let key = TokenKey { server: deployment.url().to_string(), issuer: deployment.issuer.url.clone() };
    assert_eq!(store.keys().unwrap(), std::slice::from_ref(&key));
    assert!(!format!("{:?}", store.load(&key).unwrap()).contains("access-"));
    assert_eq!(store.forget(deployment.url().as_str()).unwrap(), 1);
    assert_eq!(store.load(&key).unwrap(), None);
    deployment.call(&oauth().store(store).into(), "").await.unwrap();
    assert_eq!(deployment.authorizations(), 3);
}

#[tokio::test]
async fn a_file_that_other_users_can_read_is_rejected_with_the_remedy() {
    let folder = Folder::new("open");
    let (deployment, store) = filled(&folder).await;
    for (path, bad) in [(folder.tokens(), 0o640), (folder.tokens().parent().unwrap().to_owned(), 0o770)] {
        let good = mode(&path);
        set_mode(&path, bad);
        let error = deployment.call(&oauth().store(store.clone()).into(), "").await.unwrap_err();
        assert_eq!(error.step, AuthStep::Store);
        let remedy = format!("chmod {good:o} {}", path.display());
        assert!(error.to_string().contains(&remedy), "{error}");
        set_mode(&path, good);
    }
    assert_eq!(
        deployment.authorizations(),
        1,
        "no authorization is requested for tokens that cannot be saved"
    );
    deployment.call(&oauth().store(store).into(), "").await.unwrap();
}

#[tokio::test]
async fn symbolic_links_and_irregular_files_are_rejected() {
    let folder = Folder::new("links");
    let (deployment, store) = filled(&folder).await;
    let elsewhere = folder.0.join("elsewhere");
    fs::rename(folder.tokens(), &elsewhere).unwrap();
    symlink(&elsewhere, folder.tokens()).unwrap();
    let refused =
        async || deployment.call(&oauth().store(store.clone()).into(), "").await.unwrap_err().to_string();
    assert!(refused().await.contains("symbolic link"));
    assert!(store.forget("x").unwrap_err().to_string().contains("symbolic link"));
    fs::remove_file(folder.tokens()).unwrap();
    fs::create_dir(folder.tokens()).unwrap();
    assert!(refused().await.contains("not a regular file"));
    fs::remove_dir(folder.tokens()).unwrap();
    fs::write(folder.tokens(), "{\"tokens\":[\"hush-hush\"]}").unwrap();
    set_mode(&folder.tokens(), 0o600);
    let text = refused().await;
    assert!(text.contains("sign in again") && !text.contains("hush"), "{text}");
}

#[tokio::test]
async fn the_token_file_is_replaced_atomically() {
    let folder = Folder::new("atomic");
    let (deployment, store) = filled(&folder).await;
    let key = TokenKey { server: deployment.url().to_string(), issuer: deployment.issuer.url.clone() };
    let saved = Arc::new(store.load(&key).unwrap().unwrap());
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (store, saved) = (store.clone(), saved.clone());
            std::thread::spawn(move || {
                for turn in 0..25 {
                    let key = TokenKey { server: format!("{writer}-{turn}"), issuer: "i".to_owned() };
                    store.save(&key, &saved).unwrap();
                }
            })
        })
        .collect();
    let mut reads = 0;
    while writers.iter().any(|writer| !writer.is_finished()) || reads == 0 {
        assert!(store.load(&key).unwrap().is_some(), "read {reads}");
        reads += 1;
    }
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(store.keys().unwrap().len(), 101);
    let left: Vec<_> =
        fs::read_dir(folder.tokens().parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "only the tokens and the lock: {left:?}");
}

#[tokio::test]
async fn tokens_that_cannot_be_saved_are_used() {
    let folder = Folder::new("full");
    let deployment = Deployment::new().await;
    // The directory cannot be made, because a file has its name.
    fs::write(folder.0.join("data"), "").unwrap();
    let credentials: Credentials = oauth().store(FileTokens::new(folder.tokens())).into();
    let called = deployment.call(&credentials, "").await;
    match called {
        Ok(status) => assert_eq!(status, 200),
        Err(error) => assert_eq!(error.step, AuthStep::Store),
    }
}
