//! One server behind the bridge, with the session that the bridge has with it.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use papertape::Client;
use papertape::client::{ClientError, ClientOptions, ErrorKind, Restart};
use papertape::protocol::LogLevel;
use tokio::sync::Notify;

use crate::bridge::Connect;
use crate::exchange::Exchange;
use crate::host::Host;
use crate::notices::Notices;

/// The timeout of a request that is passed on: the host decides how long it waits.
pub(crate) const FOREVER: Duration = Duration::from_secs(60 * 60 * 24);

/// How a server is connected to.
#[derive(Clone)]
pub(crate) struct Connector {
    /// Empty if it is the only one.
    pub(crate) name: String,
    pub(crate) connect: Connect,
    pub(crate) restart: Option<Restart>,
    /// The option that sets the timeout of that, for errors.
    pub(crate) timeout_option: Option<&'static str>,
    pub(crate) notices: Notices,
}

pub(crate) struct Upstream {
    /// Distinguishes this session from others with the same server.
    pub(crate) id: u64,
    /// The name of the server, if there are several.
    pub(crate) name: Option<String>,
    pub(crate) client: Client,
    pub(crate) exchange: Arc<Exchange>,
    /// Notified when the server process was started again.
    pub(crate) restarted: Arc<Notify>,
}

impl Connector {
    /// The name, if there are several servers.
    pub(crate) fn shown_name(&self) -> Option<&str> {
        Some(&*self.name).filter(|name| !name.is_empty())
    }

    /// `the server`, and its name.
    fn the_server(&self) -> String {
        self.shown_name().map_or_else(|| "the server".to_owned(), |name| format!("the server {name}"))
    }

    /// The error with the option that has set the timeout.
    fn limited(&self, error: ClientError) -> ClientError {
        match self.timeout_option {
            Some(option) => error.limited_by(option),
            None => error,
        }
    }

    /// The restarts of a server process, which are told to users.
    fn restarts(&self, policy: Restart, restarted: &Arc<Notify>) -> Restart {
        let (exited, again, restarted) = (self.clone(), self.clone(), Arc::clone(restarted));
        policy
            .on_exit(move |why, delay| {
                let (server, seconds) = (exited.the_server(), delay.as_secs_f64());
                let what = match (why.kind(), why.exit()) {
                    (ErrorKind::Closed, Some(exit)) => format!("has exited ({exit})"),
                    (ErrorKind::Closed, None) => "has ended".to_owned(),
                    _ => format!("could not be started again: {}", exited.limited(why)),
                };
                exited.notices.say(format_args!("{server} {what}; it is started again in {seconds} s"));
            })
            .on_restart(move |number| {
                again
                    .notices
                    .say(format_args!("{} was started again (restart {number})", again.the_server()));
                restarted.notify_one();
            })
    }
}

impl Upstream {
    /// Connects to a server on behalf of a host.
    pub(crate) async fn connect(
        connector: &Connector,
        host: &Host,
        exchange: Arc<Exchange>,
    ) -> Result<Arc<Self>, ClientError> {
        let restarted = Arc::default();
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
        if let Some(policy) = &connector.restart {
            options = options.restart(connector.restarts(policy.clone(), &restarted));
        }
        let client = (connector.connect)(options).await.map_err(|error| connector.limited(error))?;
        if client.capabilities().logging.is_some() {
            // The bridge leaves out what the host does not want.
            if let Err(error) = client.set_log_level(LogLevel::Debug).await {
                tracing::warn!("the server sends no log messages: {error}");
            }
        }
        let (id, name) = (RandomState::new().hash_one(()), connector.shown_name().map(str::to_owned));
        Ok(Arc::new(Self { id, name, client, exchange, restarted }))
    }
}
