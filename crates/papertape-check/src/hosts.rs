//! What hosts, SDKs and model APIs do with a fault: read from `hosts.toml`, which says how each was found out.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

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
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Effect {
    host: String,
    effect: String,
    evidence: String,
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
    }
}
