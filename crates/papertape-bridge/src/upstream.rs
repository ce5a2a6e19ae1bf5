//! One server behind the bridge, with the session that the bridge has with it.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape::Client;
use papertape::client::{ClientError, ClientOptions};
use papertape::protocol::LogLevel;
use tokio::time::sleep;

use crate::bridge::Connect;
use crate::exchange::{Exchange, Hosts};
use crate::host::Host;
use crate::lock;
use crate::relay::Relayed;

/// The timeout of a request that is passed on: the host decides how long it waits.
pub(crate) const FOREVER: Duration = Duration::from_secs(60 * 60 * 24);

/// How long a request waits for the input of its host.
const INPUT_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// How many requests wait for the input of their hosts.
const MOST_WAITING: usize = 1_000;

pub(crate) struct Upstream {
    /// Distinguishes this session from others with the same server.
    pub(crate) id: u64,
    pub(crate) client: Client,
    pub(crate) exchange: Arc<Exchange>,
    /// Requests whose hosts have been asked for input, and have to make them again.
    waiting: Mutex<HashMap<u64, Relayed>>,
    last_number: AtomicU64,
}

impl Upstream {
    /// Connects to a server on behalf of a host.
    pub(crate) async fn connect(
        connect: &Connect,
        host: &Host,
        hosts: Hosts,
    ) -> Result<Arc<Self>, ClientError> {
        let exchange = Exchange::new(hosts);
        let (asks, logs, notifies) = (Arc::clone(&exchange), Arc::clone(&exchange), Arc::clone(&exchange));
        let mut options = ClientOptions::new()
            .task_timeout(FOREVER)
            .on_request(host.capabilities.clone(), move |method, params| {
                let asks = Arc::clone(&asks);
                async move { asks.ask(method, params).await }
            })
            .on_log(move |message| logs.log(message))
            .on_notification(move |method, params| notifies.notify(method, params));
        if let Some(client) = &host.client {
            options = options.identity(&client.name, &client.version);
        }
        let client = connect(options).await?;
        if client.capabilities().logging.is_some() {
            // The bridge leaves out what the host does not want.
            if let Err(error) = client.set_log_level(LogLevel::Debug).await {
                tracing::warn!("the server sends no log messages: {error}");
            }
        }
        let (waiting, last_number) = Default::default();
        Ok(Arc::new(Self { id: RandomState::new().hash_one(()), client, exchange, waiting, last_number }))
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Keeps a request until its host makes it again, or has let the time pass.
    pub(crate) fn keep_waiting(self: &Arc<Self>, number: u64, relayed: Relayed) {
        let mut waiting = lock(&self.waiting);
        if waiting.len() >= MOST_WAITING {
            return tracing::warn!("too many requests wait for input: the latest is cancelled");
        }
        let round = relayed.round();
        waiting.insert(number, relayed);
        drop(waiting);
        let upstream = Arc::downgrade(self);
        tokio::spawn(async move {
            sleep(INPUT_TIMEOUT).await;
            let Some(upstream) = upstream.upgrade() else { return };
            let mut waiting = lock(&upstream.waiting);
            let expired = waiting.get(&number).is_some_and(|relayed| relayed.round() == round);
            let expired = if expired { waiting.remove(&number) } else { None };
            drop(waiting);
            drop(expired);
        });
    }

    pub(crate) fn take_waiting(&self, number: u64) -> Option<Relayed> {
        lock(&self.waiting).remove(&number)
    }
}
