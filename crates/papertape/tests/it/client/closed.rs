//! Whether a session has ended, and waiting for that.

use std::time::Duration;

use papertape::client::Restart;
use papertape::{Server, memory, streams};

use super::{LONG, fault, in_time, is_closed, lives, open, open_with, patient, run};

#[test]
fn a_session_that_is_closed_on_either_side_has_ended() {
    run(async {
        // By this side, and by the last clone of the client.
        for is_dropped in [false, true] {
            let client = memory::connect(Server::new("s", "1")).await.unwrap();
            let (clone, closed) = (client.clone(), client.closed());
            assert!(!client.is_closed());
            if is_dropped {
                drop((client, clone));
            } else {
                client.close().await;
                assert!(clone.is_closed());
                is_closed(&clone.ping().await.unwrap_err());
            }
            in_time(closed).await;
        }
        // By the server.
        let (ours, theirs) = tokio::io::duplex(1024);
        let (reader, writer) = tokio::io::split(ours);
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let server = tokio::spawn(async move {
            let (reader, writer) = tokio::io::split(theirs);
            tokio::select! {
                served = streams::serve(Server::new("s", "1"), reader, writer) => served.unwrap(),
                _ = stopped => {}
            }
        });
        let client = streams::connect(reader, writer).await.unwrap();
        assert!(!client.is_closed());
        stop.send(()).unwrap();
        in_time(client.closed()).await;
        assert!(client.is_closed());
        server.await.unwrap();
    });
}

#[test]
fn a_session_outlives_a_process_that_is_started_again() {
    run(async {
        let client = open(&["exits-in-call"]).await;
        is_closed(&fault(&client).await);
        in_time(client.closed()).await;
        assert!(client.is_closed());
        client.close().await;

        let restart = Restart::at_most(1).within(LONG).delays(Duration::ZERO, Duration::ZERO);
        let client = open_with(&["exits-in-call"], patient().restart(restart)).await;
        is_closed(&fault(&client).await);
        lives(&client).await;
        assert!(!client.is_closed());
        is_closed(&fault(&client).await);
        in_time(client.closed()).await;
        client.close().await;
    });
}
