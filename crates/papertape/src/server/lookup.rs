//! What a transport may want to know of a request before it is served.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::arguments;
use super::dispatch::{LONGEST_URI, Params, Service};
use super::registry::Offer;
use super::seal::Sealer;
use super::tool::Registered;
use crate::protocol::completion::Reference;
use crate::protocol::method;
use crate::wire::RpcError;
use crate::wire::message;

impl Service {
    pub(crate) fn name(&self) -> &str {
        &self.identity.name
    }

    pub(crate) fn sealer(&self) -> Option<&Sealer> {
        self.sealer.as_ref()
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Arc<Registered>> {
        self.tools.find(name)
    }

    /// The arguments of a call, bounded as they will be when it is served.
    pub(crate) fn read_arguments(&self, params: &Params<'_>) -> Result<Map<String, Value>, RpcError> {
        arguments::read("params.arguments", params.arguments, self.limits.tree)
    }

    /// What somebody must be allowed to do to be served this.
    pub(crate) fn scopes(&self, name: &str, params: &Params<'_>) -> Vec<String> {
        let subject = |raw| message::string(raw).unwrap_or_default();
        match name {
            method::TOOLS_CALL => params
                .name
                .and_then(|name| self.tools.find(&subject(name)))
                .map(|tool| tool.scopes().to_vec()),
            method::PROMPTS_GET => params
                .name
                .and_then(|name| self.prompts.find(&subject(name)))
                .map(|prompt| prompt.scopes().to_vec()),
            method::RESOURCES_READ | method::SUBSCRIBE => {
                params.uri.map(|uri| self.resource_scopes(&subject(uri)))
            }
            method::LISTEN => params.notifications.as_ref().map(|wanted| {
                let uris = wanted.resource_subscriptions.iter().take(self.limits.subscriptions);
                uris.flat_map(|uri| self.resource_scopes(uri)).collect()
            }),
            // What something may be filled in with is part of it.
            method::COMPLETE => {
                params.reference.and_then(|raw| serde_json::from_str(raw.get()).ok()).map(|reference| {
                    match reference {
                        Reference::Prompt { name } => self
                            .prompts
                            .find(&name)
                            .map(|prompt| prompt.scopes().to_vec())
                            .unwrap_or_default(),
                        Reference::Resource { uri } => match self.templates.find(&uri) {
                            Some(template) => template.scopes().to_vec(),
                            None => self.resource_scopes(&uri),
                        },
                    }
                })
            }
            _ => None,
        }
        .unwrap_or_default()
    }

    fn resource_scopes(&self, uri: &str) -> Vec<String> {
        // Longer ones will be refused, whatever they are.
        if uri.len() > LONGEST_URI {
            return Vec::new();
        }
        if let Some(resource) = self.resources.find(uri).or_else(|| self.skills.file(uri)) {
            return resource.scopes().to_vec();
        }
        // Of all that it fits: if the first makes nothing of it, the next one is tried.
        let templates = self.templates.snapshot();
        let fitting = templates.offers.iter().filter(|template| template.match_uri(uri).is_some());
        fitting.flat_map(|template| template.scopes()).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Params;
    use crate::{Server, Skill, Skills};

    #[test]
    fn every_file_of_a_skill_needs_its_scopes() {
        let outer = Skill::new("outer", "d", "b").file("a.txt", "a").scopes(["read"]);
        let inner = Skill::new("inner", "d", "b").under("outer").scopes(["read", "deep"]);
        let server = Server::new("s", "1").skills(Skills::new().skill(outer).skill(inner));
        let service = server.build().unwrap();
        for (path, scopes) in [
            ("SKILL.md", &["read"][..]),
            ("a.txt", &["read"]),
            ("inner/SKILL.md", &["read", "deep"]),
            ("none", &[]),
        ] {
            let params = format!(r#"{{"uri":"skill://outer/{path}"}}"#);
            let params: Params<'_> = serde_json::from_str(&params).unwrap();
            assert_eq!(service.scopes("resources/read", &params), scopes, "{path}");
        }
        let bad = Skill::new("bad", "d", "b").scopes(["two words"]);
        let server = Server::new("s", "1").skills(Skills::new().skill(bad));
        assert!(server.check().unwrap_err().to_string().contains("no scope"));
    }
}
