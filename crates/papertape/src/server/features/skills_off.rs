//! Without the feature `skills` a server offers none.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::protocol::{ResourceDefinition, Revision, SkillDefinition};
use crate::server::catalog::registry::{Listed, Registry};
use crate::server::features::resource::RegisteredResource;
use crate::server::handler::error::SetupError;
use crate::server::handler::middleware::Middleware;

#[derive(Debug, Default)]
pub(crate) struct SkillCatalog {
    pub(crate) list: Registry<ListedSkill>,
}

#[derive(Debug)]
pub(crate) enum ListedSkill {}

impl Listed for ListedSkill {
    type Definition = SkillDefinition;
    const KIND: &'static str = "skill";
    const LIST: &'static str = "skills";

    fn key(&self) -> &str {
        match *self {}
    }

    fn definition(&self, _: Revision) -> SkillDefinition {
        match *self {}
    }

    fn scopes(&self) -> &[String] {
        match *self {}
    }
}

impl SkillCatalog {
    pub(crate) fn is_empty(&self) -> bool {
        true
    }

    pub(crate) fn mount(&mut self, _: &SkillCatalog, _: &[Middleware]) -> Result<(), SetupError> {
        Ok(())
    }

    pub(crate) fn file(&self, _: &str) -> Option<Arc<RegisteredResource>> {
        None
    }

    pub(crate) fn file_uris(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    pub(crate) fn directory(&self, _: &str) -> Option<&BTreeMap<String, ResourceDefinition>> {
        None
    }
}
