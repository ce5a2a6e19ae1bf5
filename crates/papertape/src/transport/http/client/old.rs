//! Servers of the first revision: one stream that carries every answer, and an address that takes every message.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;
use url::Url;

use super::Carrier;
use super::body::{self, Media, media};
use super::endpoint::shown;
use super::events::{End, For, Place};
use super::line::{Request, SAYING_NO};
use super::outgoing::Sent;
use crate::client::Trouble;
use crate::wire::error::excerpt;
use crate::wire::tape::Direction;

/// How long the stream may be silent about the address.
const ADDRESS: Duration = Duration::from_secs(10);

/// Why a server is none of the first revision.
pub(super) enum NotOld {
    /// It has no stream.
    NoStream(String),
    /// It has one, but not as it should be.
    Wrong(String),
}

impl Carrier {
    /// Opens the stream; where messages go from now on.
    pub(super) async fn open_old(self: &Arc<Self>) -> Result<Url, NotOld> {
        let request = Request { in_passing: false, ..self.get(&Place::default()) };
        let response = match self.line.send(&request).await {
            Ok(response) if response.status() == StatusCode::OK && media(&response) == Media::Events => {
                response
            }
            Ok(response) => return Err(NotOld::NoStream(format!("GET gives HTTP {}", response.status()))),
            Err(trouble) => return Err(NotOld::NoStream(trouble.kind.to_string())),
        };
        let (tell, told) = oneshot::channel();
        let this = Arc::clone(self);
        let stream = self.in_background(async move {
            let mut place = Place { address: Some(tell), ..Place::default() };
            let nobody = Notify::new();
            let whom = For { left: &nobody, opens: false };
            let end = this.line.read_events(response, &mut place, whom, |_| {}).await;
            // Without the stream nothing can be answered any more.
            if place.address.is_none() {
                let problem = match end {
                    End::Broken(problem) => Some(problem),
                    End::Done | End::Ended | End::BrokeOff(_) => None,
                };
                this.line.session.lose(problem);
            }
        });
        let address = match timeout(ADDRESS, told).await {
            Ok(Ok(address)) => self.same_origin(&address),
            _ => Err("its stream does not begin with an address".to_owned()),
        };
        match address {
            Ok(address) => {
                self.legacy.conversation().old = Some(address.clone());
                Ok(address)
            }
            Err(why) => {
                stream.abort();
                Err(NotOld::Wrong(format!("the server seems to be of the first revision, but {why}")))
            }
        }
    }

    /// An address that a server gave, if it is its own: credentials go there.
    fn same_origin(&self, address: &str) -> Result<Url, String> {
        let here = &self.line.sender.url;
        let there = here.join(address.trim()).map_err(|_| format!("{} is no address", excerpt(address)))?;
        if there.origin() == here.origin() {
            Ok(there)
        } else {
            Err(format!("it wants messages to go to another host, {}", shown(&there)))
        }
    }

    /// Sends a request whose answer comes on the stream.
    pub(super) async fn ask_old(&self, sent: &Sent, id: i64, address: Url) -> Result<(), Trouble> {
        let response = self.post_to(address, sent, Some(id)).await?;
        self.line.session.has_reached(id, "the request was sent; no answer came");
        if !response.status().is_success() {
            return self.refused(id, response).await;
        }
        let body = body::beginning(response, SAYING_NO).await;
        self.line.see(Direction::ToClient, &body);
        Ok(())
    }
}
