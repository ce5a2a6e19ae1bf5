//! Fallbacks: handlers of names that are not registered.
//!
//! What is resolved to a fallback is a feature like any other, made for the name that was requested: scopes, middleware, limits
//! and cancellation are the same.

use std::sync::Arc;

use crate::server::features::method::RegisteredMethod;
use crate::server::features::prompt::RegisteredPrompt;
use crate::server::features::resource::RegisteredResource;
use crate::server::features::tool::RegisteredTool;

/// The fallbacks of a server, each under a name of no meaning.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fallbacks {
    pub(crate) tool: Option<RegisteredTool>,
    pub(crate) resource: Option<RegisteredResource>,
    pub(crate) prompt: Option<RegisteredPrompt>,
    pub(crate) method: Option<RegisteredMethod>,
    pub(crate) notification: Option<RegisteredMethod>,
}

impl Fallbacks {
    /// The fallback as a tool of that name.
    pub(crate) fn tool(&self, name: &str) -> Option<Arc<RegisteredTool>> {
        self.tool.as_ref().map(|tool| Arc::new(tool.mounted(name.to_owned(), &[])))
    }

    /// The fallback as the resource with that URI.
    pub(crate) fn resource(&self, uri: &str) -> Option<Arc<RegisteredResource>> {
        self.resource.as_ref().map(|resource| Arc::new(resource.at(uri)))
    }

    /// The fallback as a prompt of that name.
    pub(crate) fn prompt(&self, name: &str) -> Option<Arc<RegisteredPrompt>> {
        self.prompt.as_ref().map(|prompt| Arc::new(prompt.mounted(name.to_owned(), &[])))
    }

    /// The fallback as a notification of that name.
    pub(crate) fn notification(&self, name: &str) -> Option<Arc<RegisteredMethod>> {
        self.notification.as_ref().map(|notification| Arc::new(notification.named(name)))
    }

    /// The fallback as a method of that name.
    pub(crate) fn method(&self, name: &str) -> Option<Arc<RegisteredMethod>> {
        self.method.as_ref().map(|method| Arc::new(method.named(name)))
    }
}
