//! Protocol violations of the client, recorded for the end of the test.

use std::collections::HashSet;

use serde_json::Value;

use crate::faulty::message::{META_CAPABILITIES, Message};

/// Everything that the client sent, and its protocol violations.
#[derive(Default)]
pub(crate) struct Judge {
    /// Methods, in order.
    pub(crate) heard: Vec<String>,
    /// Ids that were cancelled, in order.
    pub(crate) cancelled: Vec<Value>,
    /// Responses to this server's own requests, in order.
    pub(crate) answers: Vec<Value>,
    /// Protocol violations, with the reason.
    pub(crate) odd: Vec<String>,
    /// Ids of this server's own requests without a response.
    pub(crate) asked: HashSet<Value>,
    /// Ids the client has used.
    used: HashSet<Value>,
    /// The id of `initialize`.
    opening: Option<Value>,
    initialized: bool,
}

impl Judge {
    /// Records a line that is not a message.
    pub(crate) fn garbage(&mut self, bytes: &[u8], why: &str) {
        let excerpt = bytes.get(..200).unwrap_or(bytes);
        self.odd.push(format!("{}: {why}", excerpt.escape_ascii()));
    }

    /// Records a message.
    pub(crate) fn hear(&mut self, message: &Message) {
        if message.value["method"].is_string() {
            self.heard.push(message.method().to_owned());
        }
        if let Err(why) = self.check(message) {
            self.garbage(message.value.to_string().as_bytes(), why);
        }
    }

    fn check(&mut self, message: &Message) -> Result<(), &'static str> {
        let members = message.value.as_object().ok_or("no object")?;
        if message.value["jsonrpc"] != "2.0" {
            return Err("not JSON-RPC 2.0");
        }
        if members.get("params").is_some_and(|params| !params.is_object()) {
            return Err("params are not an object");
        }
        match (members.get("method"), members.get("id")) {
            (None, id) => {
                if !id.is_some_and(|id| self.asked.remove(id)) {
                    return Err("response to an unknown request id");
                }
                self.answers.push(message.value.clone());
                if members.contains_key("result") == members.contains_key("error") {
                    return Err("neither result nor error, or both");
                }
                Ok(())
            }
            (Some(Value::String(_)), None) => self.check_notification(message),
            (Some(Value::String(_)), Some(id)) => self.check_request(message, id),
            (Some(_), _) => Err("the method is not a string"),
        }
    }

    fn check_notification(&mut self, message: &Message) -> Result<(), &'static str> {
        match (message.method(), &self.opening) {
            ("notifications/cancelled", opening) => {
                let id = &message.params()["requestId"];
                self.cancelled.push(id.clone());
                if opening.as_ref() == Some(id) {
                    return Err("initialize cannot be cancelled");
                }
                if self.used.contains(id) { Ok(()) } else { Err("cancels what was never requested") }
            }
            ("notifications/initialized", Some(_)) => {
                self.initialized = true;
                Ok(())
            }
            ("notifications/progress" | "notifications/roots/list_changed", Some(_)) => Ok(()),
            (_, None) => Err("no client sends this notification without initialize"),
            (_, Some(_)) => Err("no client sends this notification"),
        }
    }

    fn check_request(&mut self, message: &Message, id: &Value) -> Result<(), &'static str> {
        if !id.is_string() && !id.is_i64() {
            return Err("the id is neither string nor integer");
        }
        if !self.used.insert(id.clone()) {
            return Err("the id was used before");
        }
        let token = message.meta("progressToken");
        if !token.is_null() && !token.is_string() && !token.is_i64() {
            return Err("the progress token is neither string nor integer");
        }
        if message.modern {
            let declared = message.meta(META_CAPABILITIES).is_object();
            return if declared { Ok(()) } else { Err("clientCapabilities are missing") };
        }
        match message.method() {
            "initialize" => {
                let params = message.params();
                let complete = params["protocolVersion"].is_string()
                    && params["capabilities"].is_object()
                    && params["clientInfo"]["name"].is_string()
                    && params["clientInfo"]["version"].is_string();
                if self.opening.replace(id.clone()).is_some() {
                    return Err("initialize comes but once");
                }
                if complete { Ok(()) } else { Err("initialize is incomplete") }
            }
            // A session-based server takes the probe for a legacy request.
            "ping" | "server/discover" => Ok(()),
            _ if self.initialized => Ok(()),
            _ => Err("comes before notifications/initialized"),
        }
    }
}
