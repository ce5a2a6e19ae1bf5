//! The protected resource in a build without the feature `oauth`: a type without values.

use std::time::SystemTime;

use serde_json::Value;

use super::challenge::Refusal;
use crate::Principal;

#[derive(Debug)]
pub(super) enum ResourceServer {}

impl ResourceServer {
    pub(super) async fn check(&self, _: &str) -> Result<(Principal, Option<SystemTime>), Refusal> {
        match *self {}
    }

    pub(super) fn recheck(&self, _: &str, _: &Principal) -> Option<Recheck> {
        match *self {}
    }

    pub(super) fn required_scopes(&self) -> &[String] {
        match *self {}
    }

    pub(super) fn metadata_url(&self) -> &str {
        match *self {}
    }

    pub(super) fn metadata(&self, _: &str) -> Option<Value> {
        match *self {}
    }
}

pub(super) enum Recheck {}

impl Recheck {
    pub(super) async fn revoked(self) {
        match self {}
    }
}
