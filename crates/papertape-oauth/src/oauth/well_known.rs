//! Where the metadata of an authorization server is.

use url::Url;

/// The URLs of an issuer's metadata, in the order in which they are tried: RFC 8414, then OpenID Connect Discovery with the
/// path appended and with the path prepended.
pub(crate) fn authorization_server_metadata(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        paths.push(format!("{path}/.well-known/openid-configuration"));
    }
    let at = |path: &String| {
        let mut url = issuer.clone();
        url.set_path(path);
        url.set_query(None);
        url.set_fragment(None);
        url
    };
    paths.iter().map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(issuer: &str) -> Vec<String> {
        let issuer = Url::parse(issuer).unwrap();
        authorization_server_metadata(&issuer).iter().map(Url::to_string).collect()
    }

    #[test]
    fn an_issuer_with_a_path_has_three_locations() {
        let expected = [
            "https://as.example/.well-known/oauth-authorization-server/t/1",
            "https://as.example/.well-known/openid-configuration/t/1",
            "https://as.example/t/1/.well-known/openid-configuration",
        ];
        assert_eq!(urls("https://as.example/t/1"), expected);
        assert_eq!(urls("https://as.example/t/1/"), expected);
    }

    #[test]
    fn an_issuer_without_a_path_has_two_locations() {
        let expected = [
            "https://as.example/.well-known/oauth-authorization-server",
            "https://as.example/.well-known/openid-configuration",
        ];
        assert_eq!(urls("https://as.example"), expected);
        assert_eq!(urls("https://as.example/"), expected);
    }
}
