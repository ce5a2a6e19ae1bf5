//! JSON files: members inserted and removed, with everything else as it is.

mod insert;
mod parse;
mod remove;

use std::collections::HashSet;

use serde_json::Value;

use crate::error::Fault;

pub(crate) use insert::{insert_member, insert_root, quoted, replace_value};
pub(crate) use parse::{Document, Kind, Member, Node, parse};
pub(crate) use remove::{is_blank, remove_member};

/// The node at a path of members; `None` if there is none.
pub(crate) fn find<'a>(root: &'a Node, path: &[&str]) -> Option<&'a Node> {
    path.iter().try_fold(root, |node, key| Some(&node.member(key)?.value))
}

/// The servers of a document. No container is one without servers.
///
/// # Errors
/// If the root or the container is not an object, or has a member twice: hosts use the last one, people read the first.
pub(crate) fn servers(
    text: &str,
    document: &Document,
    container: &str,
) -> Result<Vec<(String, Value)>, Fault> {
    let Some(root) = &document.root else { return Ok(Vec::new()) };
    unique(root, "the file")?;
    let Some(member) = root.member(container) else { return Ok(Vec::new()) };
    let members = unique(&member.value, &format!("\"{container}\""))?;
    Ok(members.iter().map(|member| (member.key.clone(), member.value.to_value(text))).collect())
}

/// The members of an object, none of which is there twice.
fn unique<'a>(node: &'a Node, name: &str) -> Result<&'a [Member], Fault> {
    let Some(members) = node.members() else {
        return Err(Fault::new(node.range.start, format!("{name} is not an object ({{..}})")));
    };
    let mut known = HashSet::new();
    for member in members {
        if !known.insert(member.key.as_str()) {
            return Err(Fault::new(member.key_range.start, format!("\"{}\" is there twice", member.key)));
        }
    }
    Ok(members)
}
