//! Keywords whose schemas are for the same value.

use super::{At, Run, Scope};
use crate::error::{ErrorKind, ValidationError};
use crate::marks::Marks;
use crate::node::{DynamicRef, If, InPlaceKeyword, NodeId};

impl<'v> Run<'v> {
    pub(super) fn check_in_place(
        &mut self,
        keyword: &'v InPlaceKeyword,
        at: &At<'_>,
        mut marks: Option<&mut Marks>,
    ) -> bool {
        match keyword {
            InPlaceKeyword::Ref(id) => self.check(*id, at, marks),
            InPlaceKeyword::DynamicRef(reference) => self.check(self.target(reference, at.scope), at, marks),
            InPlaceKeyword::AllOf(ids) => {
                let mut valid = true;
                for id in ids {
                    if !self.check(*id, at, marks.as_deref_mut()) {
                        if !self.goes_on() {
                            return false;
                        }
                        valid = false;
                    }
                }
                valid
            }
            InPlaceKeyword::AnyOf(ids) => self.check_any(ids, at, marks),
            InPlaceKeyword::OneOf(ids) => self.check_one(ids, at, marks),
            InPlaceKeyword::Not(id) => {
                let is_valid = self.is_valid(*id, at, None);
                self.holds(!is_valid, at, || ErrorKind::Not)
            }
            InPlaceKeyword::If(parts) => self.check_if(parts, at, marks),
        }
    }

    /// The target of a dynamic reference: the outermost resource that has its name.
    fn target(&self, reference: &DynamicRef, scope: &Scope<'_>) -> NodeId {
        let scopes = std::iter::successors(Some(scope), |scope| scope.outer);
        let found = scopes.filter_map(|scope| self.validator.dynamic.get(&(scope.resource, reference.name)));
        found.last().copied().unwrap_or(reference.initial)
    }

    /// Checks without collecting errors.
    pub(super) fn is_valid(&mut self, id: NodeId, at: &At<'_>, marks: Option<&mut Marks>) -> bool {
        let errors = self.errors.take();
        let valid = self.check(id, at, marks);
        self.errors = errors;
        valid
    }

    /// Checks one of several alternatives: only if the value is valid by it, what it has evaluated counts.
    fn is_alternative(&mut self, id: NodeId, at: &At<'_>, marks: Option<&mut Marks>) -> bool {
        let Some(marks) = marks else { return self.is_valid(id, at, None) };
        let mut own = Marks::of(at.value);
        let valid = self.is_valid(id, at, Some(&mut own));
        if valid {
            marks.add(&own);
        }
        valid
    }

    /// The errors of a value by one alternative.
    pub(super) fn errors_of(&mut self, id: NodeId, at: &At<'_>) -> Vec<ValidationError<'v>> {
        let outer = self.errors.replace(Vec::new());
        self.check(id, at, None);
        std::mem::replace(&mut self.errors, outer).unwrap_or_default()
    }

    fn check_any(&mut self, ids: &'v [NodeId], at: &At<'_>, mut marks: Option<&mut Marks>) -> bool {
        let mut valid = false;
        for id in ids {
            valid |= self.is_alternative(*id, at, marks.as_deref_mut());
            if valid && marks.is_none() {
                return true;
            }
        }
        if !valid && self.goes_on() {
            let errors = ids.iter().map(|id| self.errors_of(*id, at)).collect();
            self.fail(at, || ErrorKind::AnyOf(errors));
        }
        valid
    }

    fn check_one(&mut self, ids: &'v [NodeId], at: &At<'_>, mut marks: Option<&mut Marks>) -> bool {
        let mut found = 0;
        for id in ids {
            if self.is_alternative(*id, at, marks.as_deref_mut()) {
                found += 1;
                if found > 1 {
                    return self.fail(at, || ErrorKind::OneOfSeveral);
                }
            }
        }
        if found == 0 && self.goes_on() {
            let errors = ids.iter().map(|id| self.errors_of(*id, at)).collect();
            self.fail(at, || ErrorKind::OneOf(errors));
        }
        found == 1
    }

    fn check_if(&mut self, parts: &'v If, at: &At<'_>, mut marks: Option<&mut Marks>) -> bool {
        let branch = match self.is_alternative(parts.condition, at, marks.as_deref_mut()) {
            true => parts.then,
            false => parts.otherwise,
        };
        branch.is_none_or(|id| self.check(id, at, marks))
    }
}
