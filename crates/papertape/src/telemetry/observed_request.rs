//! A request that may end in many ways, one of which is that its future is dropped.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{CANCELLED, Network, Observed, Operation, Outcome, Subject};
use crate::protocol::Revision;

/// A request that is observed until [`ObservedRequest::end`]. If it is dropped before, it was cancelled.
#[derive(Debug)]
pub(crate) struct ObservedRequest<'a> {
    observed: Observed,
    method: Cow<'a, str>,
    name: Option<String>,
    uri: Option<String>,
    revision: Option<Revision>,
    ended: bool,
}

impl<'a> ObservedRequest<'a> {
    /// A request that is about to be sent; `describe` returns the name and the URI of what it is about, and its revision.
    pub(crate) fn send(
        method: &'a str,
        network: Network,
        server: Option<&(String, u16)>,
        describe: impl FnOnce() -> (Option<String>, Option<String>, Option<Revision>),
    ) -> Self {
        let observed = Observed::send(method, network, server);
        let (name, uri, revision) = if observed.is_observed() { describe() } else { (None, None, None) };
        let request = Self::new(observed, method.into(), name, uri, revision);
        request.observed.name(&request.operation());
        request
    }

    /// A request that has come in and is about nothing in particular.
    pub(crate) fn serve(observed: Observed, method: String, revision: Revision) -> ObservedRequest<'static> {
        ObservedRequest::new(observed, method.into(), None, None, Some(revision))
    }

    fn new(
        observed: Observed,
        method: Cow<'a, str>,
        name: Option<String>,
        uri: Option<String>,
        revision: Option<Revision>,
    ) -> Self {
        let request = Self { observed, method, name, uri, revision, ended: false };
        request.observed.describe(&request.operation());
        request
    }

    fn operation(&self) -> Operation<'_> {
        let subject = Subject::of(&self.method, self.name.as_deref(), self.uri.as_deref());
        Operation { method: &self.method, subject, revision: self.revision }
    }

    /// Adds the trace that the request is part of to its `_meta`, if its revision allows that. `meta` is called only if
    /// there is something to add.
    pub(crate) fn trace<'m>(&self, meta: impl FnOnce() -> Option<&'m mut Map<String, Value>>) {
        #[cfg(feature = "opentelemetry")]
        if self.revision.is_some_and(Revision::has_open_meta) {
            super::trace_context::add(&self.observed.span, meta);
        }
        #[cfg(not(feature = "opentelemetry"))]
        drop(meta);
    }

    /// Whether it is of use to know more of how it ends than that it does.
    pub(crate) fn is_observed(&self) -> bool {
        self.observed.is_observed()
    }

    /// The id of the request, once it has been sent.
    pub(crate) fn record_id(&self, id: i64) {
        self.observed.record_id(id);
    }

    pub(crate) fn end(mut self, outcome: &Outcome<'_>) {
        self.ended = true;
        self.observed.end(&self.operation(), outcome);
    }
}

impl Drop for ObservedRequest<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.observed.end(&self.operation(), &CANCELLED);
        }
    }
}
