//! `WWW-Authenticate` headers to challenges (RFC 9110, section 11.6.1).
//!
//! One header may have several challenges and one challenge several parameters, both parted by commas: a word that is not
//! followed by `=` begins a new challenge.

use http::{HeaderMap, header};

/// The most of one header that is read, and the most challenges and parameters.
const LONGEST: usize = 16 * 1024;
const MOST: usize = 64;

/// One way in which a server wants to be shown who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub(crate) scheme: String,
    parameters: Vec<(String, String)>,
}

impl Challenge {
    /// A parameter's value; names have no case.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Whether a token would answer this challenge.
    fn wants_token(&self) -> bool {
        self.scheme.eq_ignore_ascii_case("bearer") || self.scheme.eq_ignore_ascii_case("dpop")
    }
}

/// What a server says to a request whose token is missing or not good enough.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) resource_metadata: Option<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) error: Option<String>,
    pub(crate) description: Option<String>,
    /// Only a token that is bound to a key will do.
    pub(crate) dpop: bool,
}

/// What the challenges of a response want together: the first that names a thing is heard.
pub(crate) fn wanted(headers: &HeaderMap) -> Wanted {
    let mut wanted = Wanted::default();
    let mut bearer = false;
    for challenge in challenges(headers).iter().filter(|challenge| challenge.wants_token()) {
        let get = |name| challenge.get(name).map(str::to_owned);
        wanted.resource_metadata = wanted.resource_metadata.or_else(|| get("resource_metadata"));
        wanted.error = wanted.error.or_else(|| get("error"));
        wanted.description = wanted.description.or_else(|| get("error_description"));
        if wanted.scopes.is_empty() {
            wanted.scopes = challenge.get("scope").map(split).unwrap_or_default();
        }
        bearer |= challenge.scheme.eq_ignore_ascii_case("bearer");
        wanted.dpop |= challenge.scheme.eq_ignore_ascii_case("dpop");
    }
    wanted.dpop &= !bearer;
    wanted
}

/// A list of scopes to scopes.
pub(crate) fn split(scopes: &str) -> Vec<String> {
    scopes.split_ascii_whitespace().map(str::to_owned).collect()
}

/// Every challenge of a response. What cannot be read is left out.
pub(crate) fn challenges(headers: &HeaderMap) -> Vec<Challenge> {
    let mut found = Vec::new();
    for value in headers.get_all(header::WWW_AUTHENTICATE).iter().take(MOST) {
        if let Ok(text) = value.to_str()
            && text.len() <= LONGEST
        {
            parse(text, &mut found);
        }
    }
    found
}

fn parse(text: &str, found: &mut Vec<Challenge>) {
    let mut rest = text.trim_start_matches(is_gap);
    while !rest.is_empty() && found.len() < MOST {
        let Some((word, after)) = token(rest) else {
            // Not a word: read on after the next comma.
            rest = rest.split_once(',').map_or("", |(_, after)| after).trim_start_matches(is_gap);
            continue;
        };
        let next = after.trim_start_matches([' ', '\t']);
        match (next.strip_prefix('='), found.last_mut()) {
            (Some(next), Some(challenge)) => {
                let (value, after) = value(next.trim_start_matches([' ', '\t']));
                if challenge.parameters.len() < MOST {
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
        rest = rest.trim_start_matches(is_gap);
    }
}

fn is_gap(c: char) -> bool {
    matches!(c, ' ' | '\t' | ',')
}

/// The word at the beginning, and what comes after it.
fn token(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(c)));
    let (word, rest) = text.split_at_checked(end.unwrap_or(text.len()))?;
    (!word.is_empty()).then_some((word, rest))
}

/// The value at the beginning, without its quotes, and what comes after it.
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
    fn several_challenges_in_one_header_and_in_several() {
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
    fn what_is_wanted_comes_from_challenges_for_tokens_alone() {
        let mut headers = HeaderMap::new();
        headers.append(
            header::WWW_AUTHENTICATE,
            r#"Basic scope="no", bearer scope="a b", resource_metadata="https://x/y""#.parse().unwrap(),
        );
        let wanted = wanted(&headers);
        assert_eq!(wanted.scopes, ["a", "b"]);
        assert_eq!(wanted.resource_metadata.as_deref(), Some("https://x/y"));
        assert!(!wanted.dpop);
    }

    proptest::proptest! {
        #[test]
        fn any_header_is_read_to_its_end(text in "[ -~\t]{0,200}") {
            let found = read(&[&text]);
            proptest::prop_assert!(found.len() <= MOST);
        }

        #[test]
        fn what_is_quoted_comes_out_as_it_went_in(value in "[ -~]{0,50}") {
            let quoted = value.replace('\\', "\\\\").replace('"', "\\\"");
            let text = format!("Basic realm=x, Bearer a=\"{quoted}\", b=c");
            let found = read(&[&text]);
            proptest::prop_assert_eq!(found[1].get("a"), Some(value.as_str()));
            proptest::prop_assert_eq!(found[1].get("b"), Some("c"));
        }
    }

    #[test]
    fn nonsense_ends_and_finds_nothing() {
        for text in ["", ",,,", "=", "==,", "\"", "Bearer =", "\"a\" b=\"", "@@@@", "Bearer a=\"\\"] {
            assert!(read(&[text]).len() <= 1, "{text}");
        }
        assert_eq!(read(&["Bearer abc123==, Basic realm=x"]).last().unwrap().get("realm"), Some("x"));
    }
}
