//! What hosts, SDKs and model APIs do with a fault: read from `hosts.toml`, which says how each was found out.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use serde::Deserialize;

use crate::portability::Pattern;

const FILE: &str = include_str!("../hosts.toml");

static HOSTS: LazyLock<Hosts> = LazyLock::new(|| {
    // A test shows that the file is valid.
    toml::from_str(FILE).unwrap_or_default()
});

/// A host, SDK or model API that a finding affects.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Affected {
    /// Its name.
    pub name: String,
    /// What it does.
    pub effect: String,
    /// The version that was tried, and when.
    pub evidence: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hosts {
    /// Effects by code.
    #[serde(default)]
    effects: BTreeMap<String, Vec<Effect>>,
    /// What is not portable.
    #[serde(default)]
    rules: Vec<Rule>,
    /// How long hosts wait for the first response.
    #[serde(default)]
    timeouts: Vec<Timeout>,
}

/// A pattern in definitions that some hosts do not accept.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    /// The code of its findings; which hosts are affected is among the effects of this code.
    pub(crate) code: String,
    pub(crate) pattern: Pattern,
    /// What was found, as the beginning of a sentence.
    pub(crate) cause: String,
    pub(crate) remedy: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Effect {
    host: String,
    effect: String,
    evidence: String,
}

/// The rules of portability.
pub(crate) fn rules() -> &'static [Rule] {
    &HOSTS.rules
}

/// How long a host waits for the first response of a server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timeout {
    host: String,
    seconds: u64,
    evidence: String,
}

impl Timeout {
    /// How long it waits.
    pub(crate) fn within(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// What it does with a server that takes longer.
    pub(crate) fn affected(&self) -> Affected {
        Affected {
            name: self.host.clone(),
            effect: format!("gives up after {} s, unless it is configured otherwise", self.seconds),
            evidence: self.evidence.clone(),
        }
    }
}

/// How long hosts wait for the first response.
pub(crate) fn timeouts() -> &'static [Timeout] {
    &HOSTS.timeouts
}

/// What breaks on findings with this code.
pub(crate) fn affected(code: &str) -> Vec<Affected> {
    let effects = HOSTS.effects.get(code).map(Vec::as_slice).unwrap_or_default();
    effects
        .iter()
        .map(|effect| Affected {
            name: effect.host.clone(),
            effect: effect.effect.clone(),
            evidence: effect.evidence.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{FILE, Hosts};
    use crate::code::Code;

    #[test]
    fn the_file_is_valid_and_names_only_codes_that_exist() {
        let hosts: Hosts = toml::from_str(FILE).unwrap();
        for code in hosts.effects.keys() {
            assert!(Code::find(code).is_some(), "hosts.toml has effects of {code}");
        }
        for rule in &hosts.rules {
            assert!(Code::find(&rule.code).is_some(), "hosts.toml has a rule for {}", rule.code);
        }
    }

    #[test]
    fn every_effect_says_what_it_is_known_from() {
        let hosts: Hosts = toml::from_str(FILE).unwrap();
        for effect in hosts.effects.values().flatten() {
            let (how, when) = effect.evidence.rsplit_once(", ").unwrap();
            let is_date = |text: &str| text.len() == 7 && text.starts_with("202") && text.contains('-');
            assert!(!how.is_empty() && is_date(when), "{}: {}", effect.host, effect.evidence);
        }
    }
}
