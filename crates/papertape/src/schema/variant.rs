//! Of a choice that nothing fits, the alternative that was meant.

use papertape_schema::{ErrorKind, ValidationError};
use serde_json::Value;

/// What is wrong with each alternative of a choice.
type Alternatives<'v> = [Vec<ValidationError<'v>>];

/// What a value was meant to be.
#[derive(Debug)]
pub(super) enum Meant<'e> {
    /// This alternative, but for these errors. `tag` is where the value says so; `alone` is if no other could be meant.
    Variant { errors: &'e [ValidationError<'e>], tag: Option<&'e str>, alone: bool },
    /// No alternative has the value that stands at this place; these are those they have.
    Tag { at: &'e str, options: Vec<&'e Value> },
    /// These members are missing in every alternative.
    Lacking(Vec<&'e str>),
    /// Each alternative has another one of these members, and the value has others.
    OneMember { names: Vec<&'e str>, unknown: &'e [String] },
    /// That cannot be said.
    Nothing,
}

/// The alternatives of a choice that nothing fits, if the error is about one.
pub(super) fn alternatives<'e>(kind: &'e ErrorKind<'e>) -> Option<&'e Alternatives<'e>> {
    match kind {
        ErrorKind::AnyOf(alternatives) | ErrorKind::OneOf(alternatives) => Some(alternatives),
        _ => None,
    }
}

/// What the value at a place was meant to be.
pub(super) fn meant<'e>(context: &'e Alternatives<'e>, at: &str) -> Meant<'e> {
    let candidates: Vec<Candidate<'e>> = context
        .iter()
        .map(|errors| Candidate::new(errors, at))
        .filter(|candidate| !candidate.is_of_another_type)
        .collect();
    let Some(best) = candidates.iter().min_by_key(|candidate| candidate.distance()) else {
        return Meant::Nothing;
    };
    if let Some(&(at, _)) = best.tags.first() {
        let tags = candidates.iter().flat_map(|candidate| &candidate.tags);
        return Meant::Tag {
            at,
            options: tags.filter(|(other, _)| *other == at).map(|(_, option)| *option).collect(),
        };
    }
    let alone = candidates.len() == 1;
    // The other alternatives say which member distinguishes them.
    let tag = candidates.iter().flat_map(|candidate| &candidate.tags).map(|(at, _)| *at).next();
    if !alone && tag.is_none() {
        let everywhere = |name: &&str| candidates.iter().all(|candidate| candidate.missing.contains(name));
        let lacking: Vec<&str> = best.missing.iter().copied().filter(everywhere).collect();
        if !lacking.is_empty() {
            return Meant::Lacking(lacking);
        }
        if candidates.iter().all(Candidate::has_another_member) {
            let names =
                candidates.iter().filter_map(|candidate| candidate.missing.first().copied()).collect();
            return Meant::OneMember { names, unknown: best.unknown };
        }
        // A choice by member, of which one is there.
        if candidates.iter().filter(|candidate| !candidate.has_another_member()).count() == 1 {
            return Meant::Variant { errors: best.errors, tag: None, alone: true };
        }
    }
    Meant::Variant { errors: best.errors, tag, alone }
}

/// An alternative, and how far the value is from it.
struct Candidate<'e> {
    errors: &'e [ValidationError<'e>],
    is_of_another_type: bool,
    /// Members that must have one certain value and have another: where they are, and that value.
    tags: Vec<(&'e str, &'e Value)>,
    missing: Vec<&'e str>,
    unknown: &'e [String],
}

impl<'e> Candidate<'e> {
    fn new(errors: &'e [ValidationError<'e>], at: &str) -> Self {
        let mut new =
            Self { errors, is_of_another_type: false, tags: Vec::new(), missing: Vec::new(), unknown: &[] };
        for error in errors {
            let place = error.pointer();
            let is_member = place.rsplit_once('/').is_some_and(|(parent, _)| parent == at);
            match error.kind() {
                ErrorKind::Type(_) | ErrorKind::Enum(_) | ErrorKind::Const(_) if place == at => {
                    new.is_of_another_type = true;
                }
                ErrorKind::Enum([only]) if is_member => new.tags.push((place, only)),
                ErrorKind::Const(only) if is_member => new.tags.push((place, only)),
                ErrorKind::Required(name) if place == at => new.missing.push(name),
                ErrorKind::AdditionalProperties(names) if place == at => new.unknown = names,
                _ => {}
            }
        }
        new
    }

    fn has_another_member(&self) -> bool {
        !self.missing.is_empty() && !self.unknown.is_empty()
    }

    fn distance(&self) -> (bool, bool, usize) {
        (!self.tags.is_empty(), self.has_another_member(), self.errors.len())
    }
}
