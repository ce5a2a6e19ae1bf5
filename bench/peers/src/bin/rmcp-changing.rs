//! rmcp on Streamable HTTP: clients that listen hear that its list of tools has changed, with every SIGUSR1.

use rmcp::{
    ErrorData, ServerHandler,
    model::{ServerCapabilities, ServerConfig, SubscriptionFilter},
    service::SubscriptionContext,
    transport::{StreamableHttpService, streamable_http_server::session::local::LocalSessionManager},
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

#[derive(Clone)]
struct Changing {
    changed: watch::Receiver<u64>,
}

impl ServerHandler for Changing {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changed = self.changed.clone();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changed.changed() => {
                    if change.is_err() || context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut told = signal(SignalKind::user_defined1())?;
    let (change, changed) = watch::channel(0);
    tokio::spawn(async move {
        while told.recv().await.is_some() {
            change.send_modify(|number| *number += 1);
        }
    });
    let changing = Changing { changed };
    let service: StreamableHttpService<Changing, LocalSessionManager> =
        StreamableHttpService::new(move || Ok(changing.clone()), Default::default(), Default::default());
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("at http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}
