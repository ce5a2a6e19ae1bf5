//! Cyclic references that do not descend into the value.

use std::collections::HashMap;

use crate::node::{InPlaceKeyword, Keyword, Node, NodeId, ObjectKeyword};

/// The `$ref` of a cycle, in which the same value would be checked for ever.
pub(crate) fn find<'s>(nodes: &[Node], references: &HashMap<NodeId, &'s str>) -> Option<&'s str> {
    let mut state = vec![State::New; nodes.len()];
    for start in 0..nodes.len() {
        // Depth first, without recursion: a node is left when it is seen for the second time.
        let mut todo = vec![start];
        while let Some(&id) = todo.last() {
            match state.get(id) {
                Some(State::New) => {
                    mark(&mut state, id, State::Open);
                    let next = nodes.get(id).map(in_place).unwrap_or_default();
                    if let Some(&again) = next.iter().find(|next| state.get(**next) == Some(&State::Open)) {
                        let in_cycle = |id: &&NodeId| references.contains_key(*id);
                        let with_reference = [id, again];
                        let found = with_reference.iter().chain(&todo).find(in_cycle);
                        return found.and_then(|id| references.get(id)).copied();
                    }
                    todo.extend(next.into_iter().filter(|next| state.get(*next) == Some(&State::New)));
                }
                _ => {
                    mark(&mut state, id, State::Done);
                    todo.pop();
                }
            }
        }
    }
    None
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Open,
    Done,
}

fn mark(states: &mut [State], id: NodeId, to: State) {
    if let Some(state) = states.get_mut(id) {
        *state = to;
    }
}

/// The nodes that a node's own value is checked against. (The target of a dynamic reference is known only then.)
fn in_place(node: &Node) -> Vec<NodeId> {
    let mut found = Vec::new();
    for keyword in &node.keywords {
        match keyword {
            Keyword::InPlace(keyword) => match keyword {
                InPlaceKeyword::Ref(id) | InPlaceKeyword::Not(id) => found.push(*id),
                InPlaceKeyword::AllOf(ids) | InPlaceKeyword::AnyOf(ids) | InPlaceKeyword::OneOf(ids) => {
                    found.extend(ids);
                }
                InPlaceKeyword::If(parts) => {
                    found.push(parts.condition);
                    found.extend(parts.then);
                    found.extend(parts.otherwise);
                }
                InPlaceKeyword::DynamicRef(_) => {}
            },
            Keyword::Object(ObjectKeyword::DependentSchemas(schemas)) => {
                found.extend(schemas.iter().map(|(_, id)| *id));
            }
            _ => {}
        }
    }
    found
}
