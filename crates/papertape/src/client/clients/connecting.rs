//! Connecting to all servers of a file at once.

use tokio::task::JoinSet;

use super::{Clients, ServerFailure};
use crate::client::config::{ConfigError, ServersFile};
use crate::client::{ClientError, ClientOptions, ErrorKind};
use crate::wire::error::excerpt;

impl Clients {
    /// Connects to all servers of a file that has been read; see [`Clients::from_config`].
    pub async fn connect(file: &ServersFile, options: impl Fn(&str) -> ClientOptions) -> Self {
        let mut clients = Self::new();
        let mut opening = JoinSet::new();
        let enabled = file.names().filter(|name| !file.is_disabled(name));
        for (index, name) in enabled.enumerate() {
            // Prefixes are those of all servers of the file: one that fails does not rename the tools of others.
            clients.put(name.to_owned(), None);
            let options = options(name);
            let server = file.read_server(name);
            let path = file.path().display().to_string();
            let name = name.to_owned();
            opening.spawn(async move {
                let opened = match server {
                    Some(Ok(server)) => server.connect(options).await,
                    Some(Err(problem)) => {
                        Err(failed(&name, ErrorKind::Config(ConfigError::in_file(&path, &problem))))
                    }
                    None => Err(failed(&name, ErrorKind::NotConnected("it is not in the file".to_owned()))),
                };
                (index, name, opened)
            });
        }
        let mut results = Vec::new();
        while let Some(joined) = opening.join_next().await {
            match joined {
                Ok(result) => results.push(result),
                // A panic while connecting is a defect of ours; the other servers can be used.
                Err(error) => tracing::error!("connecting to a server failed: {error}"),
            }
        }
        results.sort_by_key(|(index, ..)| *index);
        for (_, name, opened) in results {
            match opened {
                Ok(client) => drop(clients.put(name, Some(client))),
                Err(error) => clients.failures.push(ServerFailure { server: name, error }),
            }
        }
        clients
    }
}

fn failed(name: &str, kind: ErrorKind) -> ClientError {
    ClientError::local(format!("connecting to the server {}", excerpt(name)), kind)
}
