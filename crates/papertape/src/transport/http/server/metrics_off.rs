//! Without the feature `metrics` there are none: a type without values.

use http::StatusCode;

use super::options::Options;

#[derive(Debug)]
pub(crate) enum Metrics {}

/// A request being served.
pub(crate) struct Timed;

impl Metrics {
    pub(crate) fn new(_: &Options) -> Option<Self> {
        None
    }

    pub(crate) fn began(&self, _method: &str) -> Timed {
        match *self {}
    }

    pub(crate) fn responded(&self, _status: StatusCode) {
        match *self {}
    }

    pub(crate) fn stream_opened(&self) {
        match *self {}
    }

    pub(crate) fn stream_closed(&self) {
        match *self {}
    }
}
