//! What is valid, and not accepted by every host, SDK and model API: by the rules of `hosts.toml`.
//!
//! - `pattern`: what rules look for
//! - `prompts`: what is not portable in the results of `prompts/get`

mod pattern;
mod prompts;

#[cfg(test)]
mod tests;

pub(crate) use pattern::Pattern;
pub(crate) use prompts::inspect_prompts;

use crate::code::Code;
use crate::definitions::Lists;
use crate::definitions::entry::Entries;
use crate::finding::Finding;
use crate::hosts;

/// What is not portable: one finding for each rule, which names the entries concerned.
pub(crate) fn inspect(lists: &Lists, entries: &Entries<'_>) -> Vec<Finding> {
    let rules = hosts::rules().iter();
    let findings = rules.filter_map(|rule| {
        let code = Code::find(&rule.code)?;
        rule.pattern.find(lists, entries).finding(code, &rule.cause, &rule.remedy)
    });
    findings.collect()
}
