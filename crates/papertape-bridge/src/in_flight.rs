//! The requests of a host that have no response yet, as they are seen in bytes that pass unchanged.

use papertape::server::Limits;
use papertape::wire::frame::PieceKind;
use papertape::wire::message::{self, Bounds, Message, Notification, Payload, Rejected};
use papertape::wire::{Decoder, Framing, Id, RpcError};
use serde::Deserialize;

use crate::refusal;

/// How many requests are known at most. What is beyond gets no error.
const MOST: usize = 1_000;

const CANCELLED: &str = "notifications/cancelled";

/// The requests of a host that a server process has not responded to.
pub(crate) struct InFlight {
    from_host: Decoder,
    from_server: Decoder,
    waiting: Vec<Id>,
    framing: Framing,
    bounds: Bounds,
}

impl InFlight {
    /// Of a host with this framing.
    pub(crate) fn new(framing: Framing) -> Self {
        let limits = Limits::default();
        Self {
            from_host: Decoder::new(limits.frame),
            from_server: Decoder::new(limits.frame),
            waiting: Vec::new(),
            framing,
            bounds: Bounds { depth: limits.depth, batch: limits.batch },
        }
    }

    /// Bytes that are about to be passed to the server.
    pub(crate) fn host_sends(&mut self, bytes: &[u8]) {
        self.from_host.push(bytes);
        while let Some(piece) = self.from_host.next_piece() {
            let PieceKind::Frame(body) = piece.kind else { continue };
            for_each_message(body, self.bounds, |message| match message {
                Ok(Message::Request(request)) if self.waiting.len() < MOST => self.waiting.push(request.id),
                Ok(Message::Notification(Notification { method, params: Some(params) }))
                    if method == CANCELLED =>
                {
                    let cancelled = CancelledId::of(params.get());
                    self.waiting.retain(|id| Some(id) != cancelled.as_ref());
                }
                _ => {}
            });
        }
    }

    /// Bytes of the server.
    pub(crate) fn server_sends(&mut self, bytes: &[u8]) {
        self.from_server.push(bytes);
        while let Some(piece) = self.from_server.next_piece() {
            let PieceKind::Frame(body) = piece.kind else { continue };
            for_each_message(body, self.bounds, |message| {
                if let Ok(Message::Response(response)) = message
                    && let Some(responded) = response.id
                {
                    self.waiting.retain(|id| *id != responded);
                }
            });
        }
    }

    /// What the host gets in place of the responses of a server that has exited.
    pub(crate) fn errors(mut self, message: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        match (self.from_server.finish(), self.framing) {
            (None, _) => {}
            // The last line of the server has no end: these do not belong to it.
            (Some(_), Framing::Line) => bytes.push(b'\n'),
            // The host takes what follows for the rest of the body.
            (Some(_), _) => return Vec::new(),
        }
        for id in self.waiting {
            bytes.extend(refusal::frame(id, RpcError::internal(message), self.framing));
        }
        bytes
    }
}

/// The messages of a frame, which may be a batch.
fn for_each_message(body: &[u8], bounds: Bounds, mut each: impl FnMut(Result<Message<'_>, Rejected>)) {
    match message::parse(body, bounds) {
        Ok(Payload::Single(message)) => each(Ok(message)),
        Ok(Payload::Batch(members)) => {
            members.iter().for_each(|member| each(message::parse_member(member)));
        }
        Err(_) => {}
    }
}

/// The parameters of `notifications/cancelled`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelledId<'a> {
    #[serde(borrow)]
    request_id: &'a serde_json::value::RawValue,
}

impl CancelledId<'_> {
    fn of(params: &str) -> Option<Id> {
        let cancelled: CancelledId<'_> = serde_json::from_str(params).ok()?;
        Id::parse(cancelled.request_id.get()).ok()
    }
}

#[cfg(test)]
mod tests {
    use papertape::wire::Framing;
    use serde_json::{Value, json};

    use super::InFlight;

    fn request(id: &Value) -> String {
        format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}))
    }

    fn response(id: &Value) -> String {
        format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "result": {}}))
    }

    fn ids(in_flight: InFlight) -> Vec<Value> {
        let bytes = String::from_utf8(in_flight.errors("gone")).unwrap();
        let errors = bytes.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        errors.map(|error| error["id"].clone()).collect()
    }

    #[test]
    fn requests_wait_until_their_responses() {
        let mut in_flight = InFlight::new(Framing::Line);
        for id in [json!(1), json!("1"), json!(2), json!(3)] {
            in_flight.host_sends(request(&id).as_bytes());
        }
        in_flight.host_sends(b"garbage\n{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n");
        let cancelled =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}});
        in_flight.host_sends(format!("{cancelled}\n").as_bytes());
        // In pieces, with a request of its own.
        let sent = request(&json!(2)) + &response(&json!(1));
        let (start, end) = sent.split_at(sent.len() - 5);
        in_flight.server_sends(start.as_bytes());
        in_flight.server_sends(end.as_bytes());
        assert_eq!(ids(in_flight), [json!("1"), json!(2)]);
    }

    #[test]
    fn a_batch_has_several() {
        let mut in_flight = InFlight::new(Framing::Line);
        let batch = |messages: [String; 2]| format!("[{},{}]\n", messages[0].trim(), messages[1].trim());
        in_flight.host_sends(batch([request(&json!(1)), request(&json!(2))]).as_bytes());
        in_flight.server_sends(batch([response(&json!(2)), request(&json!(1))]).as_bytes());
        assert_eq!(ids(in_flight), [json!(1)]);
    }

    #[test]
    fn errors_are_not_part_of_what_the_server_has_not_ended() {
        for (framing, expected) in [(Framing::Line, true), (Framing::ContentLength, false)] {
            let mut in_flight = InFlight::new(framing);
            in_flight.host_sends(request(&json!(1)).as_bytes());
            let unfinished: &[u8] =
                if expected { b"{\"jsonrpc\":" } else { b"Content-Length: 100\r\n\r\n{\"jsonrpc\":" };
            in_flight.server_sends(unfinished);
            let errors = in_flight.errors("gone");
            assert_eq!(errors.starts_with(b"\n{"), expected);
            assert_eq!(errors.is_empty(), !expected);
        }
    }
}
