//! What the caller's headers contain must not be in a report.

use crate::evidence::Evidence;
use crate::finding::Finding;

/// The values of the caller's headers, longest first.
#[derive(Debug, Default)]
pub(crate) struct Redactor(Vec<String>);

/// Shorter ones would be found everywhere.
const SHORTEST: usize = 6;

const REDACTED: &str = "[redacted]";

impl Redactor {
    /// Redacts the values of headers, and the tokens in them.
    pub(crate) fn new(headers: &[(String, String)]) -> Self {
        let mut secrets: Vec<String> = headers
            .iter()
            .flat_map(|(_, value)| [value.as_str(), value.split_once(' ').map_or("", |(_, token)| token)])
            .map(|secret| secret.trim().to_owned())
            .filter(|secret| secret.len() >= SHORTEST)
            .collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self(secrets)
    }

    /// Text without the secrets.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, REDACTED))
    }

    /// Takes the secrets out of a finding, whatever the server has made of them.
    pub(crate) fn redact_finding(&self, finding: &mut Finding) {
        finding.message = self.redact(&finding.message);
        finding.remedy = self.redact(&finding.remedy);
        finding.subject = finding.subject.as_deref().map(|subject| self.redact(subject));
        for evidence in &mut finding.evidence {
            match evidence {
                Evidence::Bytes { bytes, .. } => *bytes = self.redact_bytes(std::mem::take(bytes)),
                Evidence::Fact(fact) => *fact = self.redact(fact),
            }
        }
    }

    /// Bytes without the secrets.
    pub(crate) fn redact_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.0.iter().fold(bytes, |bytes, secret| {
            let Some(first) = memchr::memmem::find(&bytes, secret.as_bytes()) else { return bytes };
            let mut redacted = Vec::with_capacity(bytes.len());
            let (mut from, mut next) = (0, Some(first));
            while let Some(at) = next {
                redacted.extend_from_slice(bytes.get(from..at).unwrap_or_default());
                redacted.extend_from_slice(REDACTED.as_bytes());
                from = at + secret.len();
                next = memchr::memmem::find(bytes.get(from..).unwrap_or_default(), secret.as_bytes())
                    .map(|offset| from + offset);
            }
            redacted.extend_from_slice(bytes.get(from..).unwrap_or_default());
            redacted
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Redactor;

    #[test]
    fn tokens_are_found_with_and_without_their_scheme() {
        let headers = [("authorization".to_owned(), "Bearer secret-1".to_owned()), ("x".into(), "ab".into())];
        let redactor = Redactor::new(&headers);
        assert_eq!(redactor.redact("Bearer secret-1, secret-1, ab"), "[redacted], [redacted], ab");
        let bytes = redactor.redact_bytes(b"\xffsecret-1\xfesecret-1".to_vec());
        assert_eq!(bytes, b"\xff[redacted]\xfe[redacted]");
    }
}
