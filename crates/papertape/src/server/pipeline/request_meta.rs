//! `_meta` of a request to what each part of it is for.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::RequestMeta;
use crate::protocol::meta::{CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION};
use crate::wire::members::{self, Name};

/// What the names of the protocol's own members begin with.
const RESERVED: &str = "io.modelcontextprotocol/";

impl RequestMeta<'_> {
    /// The identity of the client, in stateless revisions.
    pub(crate) fn client_info(&self) -> Option<&RawValue> {
        self.client_info
    }

    /// What does not belong to the protocol, as the JSON of an object; `None` if there is nothing.
    pub(crate) fn other(&self) -> Option<Box<str>> {
        let other = self.other.iter().map(|(name, value)| (&**name, *value));
        (!self.other.is_empty()).then(|| members::object(other).into())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RequestMeta<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MetaVisitor)
    }
}

struct MetaVisitor;

impl<'de> Visitor<'de> for MetaVisitor {
    type Value = RequestMeta<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut meta = RequestMeta::default();
        while let Some(Name(name)) = map.next_key()? {
            let value: &'de RawValue = map.next_value()?;
            let (place, name) = match &*name {
                PROTOCOL_VERSION => (&mut meta.protocol_version, PROTOCOL_VERSION),
                CLIENT_INFO => (&mut meta.client_info, CLIENT_INFO),
                CLIENT_CAPABILITIES => (&mut meta.client_capabilities, CLIENT_CAPABILITIES),
                LOG_LEVEL => (&mut meta.log_level, LOG_LEVEL),
                "progressToken" => (&mut meta.progress_token, "progressToken"),
                "traceparent" => (&mut meta.traceparent, "traceparent"),
                "tracestate" => (&mut meta.tracestate, "tracestate"),
                "baggage" => (&mut meta.baggage, "baggage"),
                reserved if reserved.starts_with(RESERVED) => continue,
                _ => {
                    meta.other.push((name, value));
                    continue;
                }
            };
            // A name given twice could be read either way.
            if place.replace(value).is_some() {
                return Err(A::Error::duplicate_field(name));
            }
        }
        Ok(meta)
    }
}
