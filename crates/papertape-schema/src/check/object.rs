//! Keywords for objects.

use serde_json::{Map, Value};

use super::{At, Path, Run};
use crate::error::ErrorKind;
use crate::marks::Marks;
use crate::node::{Members, NodeId, ObjectKeyword, Rest, has_member};

impl<'v> Run<'v> {
    pub(super) fn check_object(
        &mut self,
        keyword: &'v ObjectKeyword,
        members: &Map<String, Value>,
        at: &At<'_>,
        mut marks: Option<&mut Marks>,
    ) -> bool {
        match keyword {
            ObjectKeyword::Required(names) => self.check_required(names, members, at),
            ObjectKeyword::DependentRequired(lists) => {
                let mut valid = true;
                for (_, names) in lists.iter().filter(|(name, _)| has_member(members, name)) {
                    valid &= self.check_required(names, members, at);
                    if !valid && !self.goes_on() {
                        return false;
                    }
                }
                valid
            }
            ObjectKeyword::DependentSchemas(schemas) => {
                let mut valid = true;
                for (_, id) in schemas.iter().filter(|(name, _)| has_member(members, name)) {
                    valid &= self.check(*id, at, marks.as_deref_mut());
                    if !valid && !self.goes_on() {
                        return false;
                    }
                }
                valid
            }
            ObjectKeyword::Members(schemas) => self.check_members(schemas, members, at, marks),
            ObjectKeyword::PropertyNames(id) => self.check_names(*id, members, at),
            ObjectKeyword::UnevaluatedProperties(rest) => {
                self.check_unevaluated_properties(*rest, members, at, marks)
            }
        }
    }

    fn check_required(&mut self, names: &'v [String], members: &Map<String, Value>, at: &At<'_>) -> bool {
        let mut valid = true;
        for name in names.iter().filter(|name| !has_member(members, name)) {
            valid = self.fail(at, || ErrorKind::Required(name));
            if !self.goes_on() {
                return false;
            }
        }
        valid
    }

    #[inline]
    fn check_member(&mut self, id: NodeId, name: &str, value: &Value, at: &At<'_>) -> bool {
        self.passes(id, value) || self.check_into_member(id, name, value, at)
    }

    #[inline(never)]
    fn check_into_member(&mut self, id: NodeId, name: &str, value: &Value, at: &At<'_>) -> bool {
        self.check(id, &At { value, path: &Path::Member(at.path, name), ..*at }, None)
    }

    fn check_members(
        &mut self,
        schemas: &'v Members,
        members: &Map<String, Value>,
        at: &At<'_>,
        mut marks: Option<&mut Marks>,
    ) -> bool {
        let mut valid = true;
        let mut refused = Vec::new();
        let mut next = 0;
        for (index, (name, value)) in members.iter().enumerate() {
            let named = schemas.named(name, &mut next);
            let mut is_evaluated = named.is_some();
            if let Some(id) = named {
                valid &= self.check_member(id, name, value, at);
            }
            for (pattern, id) in &schemas.patterns {
                if pattern.is_match(name) {
                    is_evaluated = true;
                    valid &= self.check_member(*id, name, value, at);
                }
            }
            if !is_evaluated {
                match schemas.rest {
                    Rest::Free => continue,
                    Rest::Refused if self.goes_on() => refused.push(name.clone()),
                    Rest::Refused => return false,
                    Rest::Schema(id) => valid &= self.check_member(id, name, value, at),
                }
            }
            if !valid && !self.goes_on() {
                return false;
            }
            if let Some(marks) = &mut marks {
                marks.mark(index);
            }
        }
        self.holds(refused.is_empty(), at, || ErrorKind::AdditionalProperties(refused)) && valid
    }

    fn check_names(&mut self, id: NodeId, members: &Map<String, Value>, at: &At<'_>) -> bool {
        let mut valid = true;
        for name in members.keys() {
            let value = Value::from(name.as_str());
            let here = At { value: &value, ..*at };
            if !self.is_valid(id, &here, None) {
                valid = false;
                if !self.goes_on() {
                    return false;
                }
                let errors = self.errors_of(id, &here);
                self.fail(at, || ErrorKind::PropertyNames(name.clone(), errors));
            }
        }
        valid
    }

    fn check_unevaluated_properties(
        &mut self,
        rest: Rest,
        members: &Map<String, Value>,
        at: &At<'_>,
        marks: Option<&mut Marks>,
    ) -> bool {
        let Some(marks) = marks else { return true };
        let left = members.iter().enumerate().filter(|(index, _)| !marks.has(*index));
        let mut valid = true;
        let mut refused = Vec::new();
        for (_, (name, value)) in left {
            match rest {
                Rest::Free => {}
                Rest::Refused if self.goes_on() => refused.push(name.clone()),
                Rest::Refused => return false,
                Rest::Schema(id) => valid &= self.check_member(id, name, value, at),
            }
            if !valid && !self.goes_on() {
                return false;
            }
        }
        marks.mark_all();
        self.holds(refused.is_empty(), at, || ErrorKind::UnevaluatedProperties(refused)) && valid
    }
}
