//! Notifications of generations that other processes commit.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_postgres::{AsyncMessage, Client};

use super::advance;
use super::connect::{Connector, Driver};
use super::fault::Fault;
use super::meta::Meta;
use super::write::CHANNEL;

/// How often the listening connection is checked. It also catches up then with what was committed
/// while notifications did not get through.
const PULSE: Duration = Duration::from_secs(15);

/// How long the response to that may take.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(4);

/// How long to wait before the second try to connect, and at most before later ones.
const PAUSE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// Listens until it is dropped, and begins again whenever the connection breaks.
pub(super) async fn listen(connector: Arc<Connector>, generations: Arc<watch::Sender<u64>>) {
    let mut pause = PAUSE.0;
    loop {
        let begun = Instant::now();
        let fault = receive(&connector, &generations).await;
        if begun.elapsed() > PULSE {
            pause = PAUSE.0; // it had worked
        }
        let why = fault.into_error("the database").to_string();
        tracing::debug!(why, "no notifications from the database");
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE.1);
    }
}

/// One connection's life.
async fn receive(connector: &Arc<Connector>, generations: &watch::Sender<u64>) -> Fault {
    let (client, driver, _) = match connector.open().await {
        Ok(opened) => opened,
        Err(fault) => return fault,
    };
    let (heard, mut hears) = watch::channel(());
    let mut driving = tokio::spawn(drive(driver, heard));
    let fault = loop {
        match timeout(RESPONSE_TIMEOUT, catch_up(&client, generations)).await {
            Ok(Ok(()) | Err(Fault::Missing | Fault::Foreign(_))) => {}
            Ok(Err(fault)) => break fault,
            Err(_) => break Fault::late("the listening connection", RESPONSE_TIMEOUT),
        }
        tokio::select! {
            _ = hears.changed() => {}
            () = sleep_until(Instant::now() + PULSE) => {}
            _ = &mut driving => break Fault::Lost("the connection was closed".to_owned()),
        }
    };
    driving.abort();
    fault
}

/// Queries the generation. To listen again does no harm.
async fn catch_up(client: &Client, generations: &watch::Sender<u64>) -> Result<(), Fault> {
    client.batch_execute(&format!("LISTEN {CHANNEL}")).await?;
    let meta = Meta::read(client).await?;
    advance(generations, meta.summary.generation);
    Ok(())
}

/// Drives the connection until it ends, and forwards each notification.
async fn drive(mut driver: Driver, heard: watch::Sender<()>) {
    while let Some(Ok(message)) = poll_fn(|cx| driver.poll_message(cx)).await {
        if let AsyncMessage::Notification(_) = message {
            heard.send_replace(());
        }
    }
}
