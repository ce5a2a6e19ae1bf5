//! Challenges: the `WWW-Authenticate` header (RFC 9110, section 11.6.1).
//!
//! A header may have several challenges and a challenge several parameters, both separated by commas: a token that is not
//! followed by `=` begins a new challenge.

use http::{HeaderMap, header};

use crate::split_scopes;

/// The greatest length of a header, and number of challenges and of parameters of each.
const MAX_LENGTH: usize = 16 * 1024;
const MAX_COUNT: usize = 64;

/// One challenge of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Challenge {
    scheme: String,
    parameters: Vec<(String, String)>,
}

impl Challenge {
    /// The value of a parameter; names are case-insensitive.
    fn get(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    fn asks_for_token(&self) -> bool {
        self.scheme.eq_ignore_ascii_case("bearer") || self.scheme.eq_ignore_ascii_case("dpop")
    }
}

/// What the Bearer and DPoP challenges of a response require, together (RFC 6750, RFC 9449, RFC 9728).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TokenChallenge {
    pub(super) resource_metadata: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) error: Option<String>,
    error_description: Option<String>,
}

impl TokenChallenge {
    /// Of a parameter that several challenges have, the first value counts.
    pub(super) fn parse(headers: &HeaderMap) -> Self {
        let mut all = Self::default();
        for challenge in challenges(headers).iter().filter(|challenge| challenge.asks_for_token()) {
            let get = |name| challenge.get(name).map(str::to_owned);
            all.resource_metadata = all.resource_metadata.or_else(|| get("resource_metadata"));
            all.error = all.error.or_else(|| get("error"));
            all.error_description = all.error_description.or_else(|| get("error_description"));
            if all.scopes.is_empty() {
                all.scopes = challenge.get("scope").map(split_scopes).unwrap_or_default();
            }
        }
        all
    }

    /// The description of the error, else its code.
    pub(super) fn reason(&self) -> Option<&str> {
        self.error_description.as_deref().or(self.error.as_deref())
    }
}

/// Every challenge of a response. Malformed ones are skipped.
fn challenges(headers: &HeaderMap) -> Vec<Challenge> {
    let mut found = Vec::new();
    for value in headers.get_all(header::WWW_AUTHENTICATE).iter().take(MAX_COUNT) {
        if let Ok(text) = value.to_str()
            && text.len() <= MAX_LENGTH
        {
            parse(text, &mut found);
        }
    }
    found
}

fn parse(text: &str, found: &mut Vec<Challenge>) {
    let mut rest = text.trim_start_matches(is_separator);
    while !rest.is_empty() && found.len() < MAX_COUNT {
        let Some((word, after)) = token(rest) else {
            // Not a token: continue after the next comma.
            rest = rest.split_once(',').map_or("", |(_, after)| after).trim_start_matches(is_separator);
            continue;
        };
        let next = after.trim_start_matches([' ', '\t']);
        match (next.strip_prefix('='), found.last_mut()) {
            (Some(next), Some(challenge)) => {
                let (value, after) = value(next.trim_start_matches([' ', '\t']));
                if challenge.parameters.len() < MAX_COUNT {
                    challenge.parameters.push((word.to_owned(), value));
                }
                rest = after;
            }
            (Some(next), None) => rest = next,
            (None, _) => {
                found.push(Challenge { scheme: word.to_owned(), parameters: Vec::new() });
                rest = next;
            }
        }
        rest = rest.trim_start_matches(is_separator);
    }
}

fn is_separator(c: char) -> bool {
    matches!(c, ' ' | '\t' | ',')
}

/// Splits off the token at the beginning.
fn token(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(c)));
    let (word, rest) = text.split_at_checked(end.unwrap_or(text.len()))?;
    (!word.is_empty()).then_some((word, rest))
}

/// Splits off the value at the beginning, and takes its quotes away.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        let (word, rest) = text.split_at_checked(end).unwrap_or((text, ""));
        return (word.to_owned(), rest);
    };
    let mut value = String::new();
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => value.extend(letters.next()),
            other => value.push(other),
        }
    }
    (value, letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> Vec<Challenge> {
        let mut headers = HeaderMap::new();
        for text in texts {
            headers.append(header::WWW_AUTHENTICATE, text.parse().unwrap());
        }
        challenges(&headers)
    }

    #[test]
    fn several_challenges_in_one_header_or_in_several_are_parsed() {
        let found = read(&[
            r#"Basic realm="a, b", Bearer  scope="x y" , error=invalid_token, error_description="say \"hi\", Bearer""#,
            "DPoP algs=\"ES256\"",
        ]);
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].get("REALM"), Some("a, b"));
        assert_eq!(found[1].get("error"), Some("invalid_token"));
        assert_eq!(found[1].get("error_description"), Some("say \"hi\", Bearer"));
        assert_eq!(found[2].scheme, "DPoP");
    }

    #[test]
    fn only_bearer_and_dpop_challenges_count() {
        let mut headers = HeaderMap::new();
        headers.append(
            header::WWW_AUTHENTICATE,
            r#"Basic scope="no", bearer scope="a b", resource_metadata="https://x/y""#.parse().unwrap(),
        );
        let challenge = TokenChallenge::parse(&headers);
        assert_eq!(challenge.scopes, ["a", "b"]);
        assert_eq!(challenge.resource_metadata.as_deref(), Some("https://x/y"));
    }

    proptest::proptest! {
        #[test]
        fn any_header_is_parsed_to_its_end(text in "[ -~\t]{0,200}") {
            let found = read(&[&text]);
            proptest::prop_assert!(found.len() <= MAX_COUNT);
        }

        #[test]
        fn quoted_values_round_trip(value in "[ -~]{0,50}") {
            let quoted = value.replace('\\', "\\\\").replace('"', "\\\"");
            let text = format!("Basic realm=x, Bearer a=\"{quoted}\", b=c");
            let found = read(&[&text]);
            proptest::prop_assert_eq!(found[1].get("a"), Some(value.as_str()));
            proptest::prop_assert_eq!(found[1].get("b"), Some("c"));
        }
    }

    #[test]
    fn malformed_headers_have_at_most_one_challenge() {
        for text in ["", ",,,", "=", "==,", "\"", "Bearer =", "\"a\" b=\"", "@@@@", "Bearer a=\"\\"] {
            assert!(read(&[text]).len() <= 1, "{text}");
        }
        assert_eq!(read(&["Bearer abc123==, Basic realm=x"]).last().unwrap().get("realm"), Some("x"));
    }
}
