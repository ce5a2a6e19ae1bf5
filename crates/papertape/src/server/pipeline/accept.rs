//! Messages that get no response: notifications, and responses to requests of the server's own.

use serde_json::value::RawValue;

use super::Params;
use crate::protocol::method;
use crate::server::session::Session;
use crate::wire::error::excerpt;
use crate::wire::message::{Message, Notification, Response};
use crate::wire::{Id, RpcError};

/// Takes a message that has no response: a notification, or the response to a request of the server's own.
pub(crate) fn accept(message: Message<'_>, session: &Session) {
    match message {
        Message::Notification(notification) => accept_notification(&notification, session),
        Message::Response(response) => accept_response(&response, session),
        Message::Request(_) => {}
    }
}

fn accept_notification(notification: &Notification<'_>, session: &Session) {
    match &*notification.method {
        method::INITIALIZED => session.set_initialized(),
        method::CANCELLED => {
            let params = Params::read(notification.params).unwrap_or_default();
            if let Some(id) = params.request_id.and_then(|raw| Id::parse(raw.get()).ok()) {
                session.cancel(&id);
            }
        }
        other => tracing::debug!(method = excerpt(other), "ignored a notification"),
    }
}

fn accept_response(response: &Response<'_>, session: &Session) {
    let result = match (response.result, response.error) {
        (Some(result), None) => Ok(RawValue::to_owned(result)),
        (_, error) => Err(error
            .and_then(|error| serde_json::from_str(error.get()).ok())
            .unwrap_or_else(|| RpcError::internal("the response has neither a result nor a valid error"))),
    };
    if !response.id.as_ref().is_some_and(|id| session.take_response(id, result)) {
        tracing::info!(id = ?response.id, "ignored a response to no request");
    }
}
