//! The names of members, headers, parameters and variables whose values are secrets.

/// HTTP headers, in lower case.
pub(super) const HEADERS: [&str; 10] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
    "api-key",
    "x-auth-key",
    "x-auth-token",
    "x-goog-api-key",
    "mcp-session-id",
];

/// Names in lower case, without `-` and `_`.
const ALWAYS: [&str; 25] = [
    "accesskey",
    "accesstoken",
    "apikey",
    "apisecret",
    "apitoken",
    "authorization",
    "authtoken",
    "awssecretaccesskey",
    "bearertoken",
    "clientassertion",
    "clientsecret",
    "codeverifier",
    "devicecode",
    "idtoken",
    "passphrase",
    "passwd",
    "password",
    "personalaccesstoken",
    "privatekey",
    "proxyauthorization",
    "refreshtoken",
    "registrationaccesstoken",
    "secretaccesskey",
    "secretkey",
    "sessiontoken",
];

/// Names that mean something else, too: their values are secrets if they look like one.
const SOMETIMES: [&str; 4] = ["cookie", "credential", "credentials", "xapikey"];

/// Names whose values are secrets, unless they are one of `NO_SECRETS`, or a count.
const MOSTLY: [&str; 5] = ["bearer", "otp", "pwd", "secret", "token"];

/// What stands in place of a secret, or says something about it, in lower case.
const NO_SECRETS: [&str; 28] = [
    "a",
    "any",
    "bool",
    "boolean",
    "cannot",
    "empty",
    "expected",
    "false",
    "incorrect",
    "invalid",
    "is",
    "missing",
    "must",
    "nil",
    "no",
    "none",
    "not",
    "null",
    "number",
    "optional",
    "required",
    "str",
    "string",
    "the",
    "true",
    "undefined",
    "unknown",
    "yes",
];

/// The ends of environment variables.
const VARIABLES: [&str; 10] = [
    "ACCESS_KEY",
    "ACCESS_KEY_ID",
    "API_KEY",
    "APIKEY",
    "CREDENTIALS",
    "PASSWD",
    "PASSWORD",
    "PRIVATE_KEY",
    "SECRET",
    "TOKEN",
];

/// Whether the value of this name is a secret.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    const LONGEST: usize = 64;
    if name.len() > LONGEST || name.is_empty() || value.is_empty() {
        return false;
    }
    if is_variable(name) {
        return true;
    }
    let plain = plain(name);
    is_password(&plain)
        || MOSTLY.contains(&&*plain) && is_possible(&plain, value)
        || SOMETIMES.contains(&&*plain) && looks_random(value)
}

/// Whether the word after `name: ` in a text is a secret: prose has colons, too.
pub(super) fn is_secret_label(name: &str, value: &str) -> bool {
    let plain = plain(name);
    let is_secret = is_secret(name, value) && (is_password(&plain) || plain == "pwd" || looks_random(value));
    is_secret && is_possible(&plain, value)
}

/// Whether all strings and numbers of an object of this name are secrets.
pub(super) fn is_secret_object(name: &str) -> bool {
    matches!(&*plain(name), "secrets" | "credentials" | "passwords")
}

/// A name in lower case, without `-` and `_`.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect()
}

fn is_password(plain: &str) -> bool {
    ALWAYS.contains(&plain) || plain.ends_with("password")
}

fn is_possible(plain: &str, value: &str) -> bool {
    const SHORTEST_NUMBER: usize = 6;
    const LONGEST_WORD: usize = 16;
    // The number of tokens, and the working directory.
    let is_count = plain == "token" && value.len() < SHORTEST_NUMBER && value.parse::<f64>().is_ok();
    let is_path = plain == "pwd" && value.starts_with(['/', '~']);
    if value.len() > LONGEST_WORD {
        return !is_path;
    }
    let word = value.trim_end_matches(['.', ',', ':', ';']).to_ascii_lowercase();
    !(is_count || is_path || NO_SECRETS.contains(&&*word))
}

/// Whether an option of this name (`--api-key`) has a secret as its value.
pub(super) fn is_secret_option(option: &str) -> bool {
    let name = option.trim_start_matches('-').to_ascii_lowercase().replace('_', "-");
    let ends = [
        "token",
        "secret",
        "password",
        "passwd",
        "passphrase",
        "api-key",
        "apikey",
        "access-key",
        "secret-key",
    ];
    option.starts_with('-') && ends.iter().any(|end| name == *end || name.ends_with(&format!("-{end}")))
}

/// Whether a header of this name has a secret as its value.
pub(super) fn is_secret_header(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let ends = ["token", "secret", "password", "api-key", "apikey", "auth-key"];
    // With a `-` before it the end is a word: a short value is a secret too.
    let is_word = |before: &str| before.ends_with('-') && !value.is_empty();
    HEADERS.contains(&&*name)
        || ends
            .iter()
            .filter_map(|end| name.strip_suffix(end))
            .any(|before| is_word(before) || looks_random(value))
}

/// Whether it is an environment variable that holds a secret: `GITHUB_TOKEN`, but not `TOKENS` or `token`.
pub(super) fn is_variable(name: &str) -> bool {
    let shape = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let ends =
        |end: &str| name.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('_'));
    shape && VARIABLES.iter().any(|end| ends(end))
}

/// A long word with a digit in it.
fn looks_random(value: &str) -> bool {
    const SHORTEST: usize = 16;
    /// How many bytes are looked at.
    const LONGEST: usize = 128;
    let bytes = || value.bytes().take(LONGEST);
    value.len() >= SHORTEST
        && bytes().all(|byte| byte.is_ascii_graphic())
        && bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{is_secret, is_secret_header};

    #[test]
    fn short_values_are_secrets_where_the_name_says_so() {
        for name in ["X-Custom-Token", "x-vault-secret", "x-admin-password", "x-service-api-key"] {
            assert!(is_secret_header(name, "hunter2"), "{name}");
        }
        for name in ["x-max-tokens", "x-tokenizer", "accept", "xtoken"] {
            assert!(!is_secret_header(name, "hunter2"), "{name}");
        }
        for name in ["db_password", "adminPassword", "user-password"] {
            assert!(is_secret(name, "hunter2"), "{name}");
        }
    }

    #[test]
    fn names_are_distinguished() {
        for name in [
            "password",
            "access_token",
            "clientSecret",
            "X-API-Key",
            "GITHUB_TOKEN",
            "AWS_ACCESS_KEY_ID",
            "TOKEN",
        ] {
            assert!(is_secret(name, "abcdefghijklmnop1"), "{name}");
        }
        for name in
            ["progressToken", "requestId", "tokens", "passwords", "name", "code", "MAX_TOKENS", "nextCursor"]
        {
            assert!(!is_secret(name, "abcdefghijklmnop1"), "{name}");
        }
        for name in ["token", "secret", "pwd", "passwd", "bearer", "otp"] {
            assert!(is_secret(name, "abc1") && is_secret(name, "493021"), "{name}");
            assert!(!is_secret(&format!("{name}s"), "abc1"), "{name}");
        }
        assert!(!is_secret("token", "5") && !is_secret("secret", "required") && !is_secret("PWD", "/root"));
        assert!(!is_secret("password", ""));
    }
}
