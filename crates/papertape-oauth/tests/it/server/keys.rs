//! API keys.

use std::time::{Duration, SystemTime};

use http::StatusCode;
use sha2::Digest;

use super::{Auth, OAuthServer, RESOURCE, admitted, invalid, one_issuer, ready, rejected};
use papertape_oauth::server::{AuthSetupError, Keys, NewKey};
use papertape_testing::oauth::claims;

fn new_key(name: &str, scopes: &[&str]) -> NewKey {
    NewKey::generate(name, scopes.iter().map(|scope| (*scope).to_owned()), None).unwrap()
}

fn accepting(text: &str) -> Auth {
    ready(Auth::new().keys(Keys::parse(text).unwrap()))
}

fn problem(text: &str) -> String {
    Keys::parse(text).unwrap_err().to_string()
}

#[tokio::test]
async fn only_listed_keys_are_accepted() {
    let (ours, other) = (new_key("ci", &["read", "write"]), new_key("bob@example.com", &[]));
    let auth = accepting(&format!("{}\n{}", ours.entry(), other.entry()));
    let principal = admitted(&auth, ours.secret()).await;
    assert_eq!(
        (principal.name.as_str(), &principal.scopes[..]),
        ("ci", &["read".to_owned(), "write".to_owned()][..])
    );
    assert_eq!(admitted(&auth, other.secret()).await.name, "bob@example.com");
    invalid(&auth, new_key("ci", &[]).secret(), "unknown").await;
    let mut changed = ours.secret().to_owned();
    changed.pop();
    for odd in [changed.clone(), format!("{changed}~"), format!("{}A", ours.secret()), "pt_".to_owned()] {
        invalid(&auth, &odd, "unknown").await;
    }
    invalid(&auth, ours.secret().strip_prefix("pt_").unwrap(), "not an API key of this server").await;
}

#[test]
fn keys_are_long_and_random_and_not_in_debug_output() {
    let (one, other) = (new_key("a", &[]), new_key("a", &[]));
    assert_ne!(one.secret(), other.secret());
    assert_eq!(one.secret().len(), 3 + 43);
    assert!(!format!("{one:?}").contains(one.secret()) && !one.entry().contains(one.secret()));
    let keys = Keys::parse(one.entry()).unwrap();
    assert_eq!(format!("{keys:?}"), "Keys { names: [\"a\"], file: None }");
}

#[tokio::test]
async fn a_chosen_password_is_not_accepted_as_a_key() {
    let hash = data_encoding::HEXLOWER.encode(&sha2::Sha256::digest("pt_password"));
    let text = format!("[[key]]\nname = \"a\"\nsha256 = \"{hash}\"\n");
    invalid(&accepting(&text), "pt_password", "unknown").await;
}

#[tokio::test]
async fn keys_expire() {
    let hour = Duration::from_secs(3600);
    let until = |expires| NewKey::generate("a", [], Some(expires)).unwrap();
    let key = until(SystemTime::now() + hour);
    admitted(&accepting(key.entry()), key.secret()).await;
    let key = until(SystemTime::now() - hour);
    invalid(&accepting(key.entry()), key.secret(), "has expired").await;
    let key = new_key("a", &[]);
    for (expires, open) in [
        ("2000-01-31", false),
        ("2000-01-31T12:00:00Z", false),
        ("\"2000-01-31\"", false),
        ("2999-01-31", true),
        ("2999-01-31T12:00:00.5Z", true),
        ("\"2999-01-31T12:00:00Z\"", true),
    ] {
        let auth = accepting(&format!("{}expires = {expires}\n", key.entry()));
        if open {
            admitted(&auth, key.secret()).await;
        } else {
            invalid(&auth, key.secret(), "has expired").await;
        }
    }
}

#[test]
fn errors_in_a_key_file_are_reported_without_secrets() {
    let key = new_key("ci", &[]);
    let entry = key.entry();
    let but = |from: &str, to: &str| problem(&entry.replace(from, to));
    for (problem, words) in [
        (problem("[[key]]\nname ="), "line 2"),
        (problem("[[key]]\nname = \"a\"\n"), "missing field `sha256`"),
        (problem(&format!("{entry}scope = [\"a\"]\n")), "line 5: unknown field `scope`"),
        (problem(&format!("{entry}\n{entry}")), "key \"ci\": another key has the same name"),
        (
            problem(&format!("{entry}\n{}", entry.replace("\"ci\"", "\"di\""))),
            "another key has the same hash",
        ),
        (but("\"ci\"", "\"two words\""), "a name has 1 to 64"),
        (but("\"ci\"", "\"https://a\""), "a name has 1 to 64"),
        (but("scopes = []", "scopes = [\"a b\"]"), "\"a b\" is not a scope"),
        (but("sha256 = \"", "sha256 = \"0"), "64 hexadecimal digits"),
        (problem(&format!("{entry}expires = 7\n")), "a date (2027-01-31)"),
        (problem(&format!("{entry}expires = 2027-01-31T12:00:00+02:00\n")), "a time in UTC"),
        (problem(&format!("{entry}expires = 12:00:00\n")), "a date (2027-01-31)"),
        (problem("[implies]\nadmin = [\"a b\"]"), "\"a b\" is not a scope"),
        (problem(&format!("[[key]]\nname = \"a\"\nsha256 = \"{}\"", key.secret())), "make another one"),
        (problem(&format!("[[key]]\nname = \"a\"\nscopes = \"{}\"", key.secret())), "line 3"),
        (problem(&format!("[[key]]\nname = \"a\"\nkey = \"{}\"", key.secret())), "unknown field `key`"),
    ] {
        assert!(problem.contains(words), "{words:?}: {problem}");
        assert!(!problem.contains(key.secret()), "{problem}");
    }
    let never = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 40);
    assert!(matches!(NewKey::generate("a", [], Some(never)), Err(AuthSetupError::Keys(_))));
    assert!(matches!(NewKey::generate("", [], None), Err(AuthSetupError::Keys(_))));
    assert!(matches!(NewKey::generate("a", ["\"".to_owned()], None), Err(AuthSetupError::Scope(_))));
}

#[tokio::test]
async fn scopes_of_keys_are_expanded() {
    let key = new_key("root", &["admin"]);
    let auth = accepting(&format!("{}\n[implies]\nadmin = [\"write\"]\nwrite = [\"read\"]\n", key.entry()));
    assert_eq!(admitted(&auth, key.secret()).await.scopes, ["admin", "write", "read"]);
}

#[tokio::test]
async fn keys_and_tokens_can_be_combined() {
    let (issuer, signer, _) = one_issuer().await;
    let key = new_key("ci", &[]);
    let oauth = OAuthServer::new(RESOURCE)
        .issuer_with_keys(issuer.name(), issuer.jwks_url())
        .require_scopes(["read"]);
    let auth = ready(Auth::new().keys(Keys::parse(key.entry()).unwrap()).oauth(oauth));
    assert_eq!(admitted(&auth, key.secret()).await.name, "ci");
    assert!(admitted(&auth, &signer.sign(&claims(&issuer))).await.name.ends_with(" alice"));
    invalid(&auth, new_key("x", &[]).secret(), "unknown").await;
    assert!(rejected(&auth, "pt_x").await.authenticate.contains("resource_metadata="));
}

#[tokio::test]
async fn without_keys_and_oauth_every_request_is_rejected() {
    let challenge = rejected(&Auth::new(), new_key("a", &[]).secret()).await;
    assert_eq!(challenge.status, StatusCode::UNAUTHORIZED);
}
