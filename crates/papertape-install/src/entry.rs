//! One server as an entry of a file: its members in the order and with the names of a host.

use std::fmt;

use serde_json::{Map, Value};

use crate::hosts::{EntryShape, Host};

/// A server to install.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry(Kind);

#[derive(Clone, PartialEq, Eq)]
enum Kind {
    Process { command: String, args: Vec<String>, env: Vec<(String, String)> },
    Http { url: String, headers: Vec<(String, String)> },
}

/// What is written into a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Data {
    Text(String),
    List(Vec<String>),
    Members(Vec<(String, Data)>),
}

impl Entry {
    /// A program to start.
    pub fn process<S: Into<String>>(command: impl Into<String>, args: impl IntoIterator<Item = S>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self(Kind::Process { command: command.into(), args, env: Vec::new() })
    }

    /// A server at a URL.
    pub fn http(url: impl Into<String>) -> Self {
        Self(Kind::Http { url: url.into(), headers: Vec::new() })
    }

    /// With environment variables; a server at a URL has none.
    #[must_use]
    pub fn with_env(mut self, variables: Vec<(String, String)>) -> Self {
        if let Kind::Process { env, .. } = &mut self.0 {
            *env = variables;
        }
        self
    }

    /// With HTTP headers; a program has none.
    #[must_use]
    pub fn with_headers(mut self, given: Vec<(String, String)>) -> Self {
        if let Kind::Http { headers, .. } = &mut self.0 {
            *headers = given;
        }
        self
    }

    /// Whether it has values that may be secret.
    #[must_use]
    pub fn has_secrets(&self) -> bool {
        match &self.0 {
            Kind::Process { env, .. } => !env.is_empty(),
            Kind::Http { headers, .. } => !headers.is_empty(),
        }
    }

    /// Its members, as this host writes them; `None` if the host cannot have such a server.
    pub(crate) fn data(&self, host: &Host) -> Option<Data> {
        let EntryShape { kind, source, tools, url: url_member, url_type, headers: headers_member } =
            host.shape();
        let text = |name: &str, value: &Option<String>| {
            value.as_ref().map(|value| (name.to_owned(), Data::Text(value.clone())))
        };
        let map = |name: &str, pairs: &[(String, String)]| {
            let members = pairs.iter().map(|(name, value)| (name.clone(), Data::Text(value.clone())));
            (!pairs.is_empty()).then(|| (name.to_owned(), Data::Members(members.collect())))
        };
        let mut members = Vec::new();
        match &self.0 {
            Kind::Process { command, args, env } => {
                members.extend(text("source", source));
                members.extend(text("type", kind));
                members.push(("command".to_owned(), Data::Text(command.clone())));
                members.push(("args".to_owned(), Data::List(args.clone())));
                members.extend(map("env", env));
            }
            Kind::Http { url, headers } => {
                let member = url_member.as_ref()?;
                members.extend(text("type", url_type));
                members.push((member.clone(), Data::Text(url.clone())));
                let name = headers_member.as_deref().unwrap_or("headers");
                members.extend(map(name, headers));
            }
        }
        members.extend(tools.as_ref().map(|tools| ("tools".to_owned(), Data::List(tools.clone()))));
        Some(Data::Members(members))
    }
}

impl Data {
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Data::Text(text) => Value::String(text.clone()),
            Data::List(list) => list.iter().map(|text| Value::String(text.clone())).collect(),
            Data::Members(members) => {
                let members = members.iter().map(|(name, data)| (name.clone(), data.to_value()));
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }
}

/// Without variables and headers, which may be secret.
impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, value) = match &self.0 {
            Kind::Process { command, .. } => ("command", command),
            Kind::Http { url, .. } => ("url", url),
        };
        f.debug_struct("Entry").field(name, value).finish_non_exhaustive()
    }
}
