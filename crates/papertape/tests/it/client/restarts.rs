//! Server processes that exit and are started again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape::Client;
use papertape::client::{CallOptions, Change, ClientOptions, ErrorKind, Restart, SubscriptionFilter};
use papertape::protocol::{LogLevel, Revision};
use papertape::stdio::{ServerCommand, connect_with};
use serde_json::json;

use super::pids::Pids;
use super::{LONG, end, fault, faulty, is_closed, legacy, lives, patient, run, says};

fn at_once(times: u16) -> Restart {
    Restart::at_most(times).within(LONG).delays(Duration::ZERO, Duration::ZERO)
}

async fn open(words: &[&str], options: ClientOptions, restart: Restart) -> Client {
    connect_with(faulty(words), options.restart(restart)).await.unwrap()
}

#[test]
fn a_server_that_has_exited_is_started_again() {
    run(async {
        for options in [patient, legacy] {
            let client = open(&["exits-in-call"], options(), at_once(3)).await;
            let revision = client.revision();
            for _ in 0..3 {
                // The call that was running fails with the reason and is not repeated.
                is_closed(&fault(&client).await);
                // A later one waits for the new process.
                lives(&client).await;
                assert_eq!(client.revision(), revision);
            }
            end(client).await;
        }
    });
}

#[test]
fn a_task_that_a_restart_has_lost_is_named_as_such() {
    run(async {
        let client = open(&["exits-in-call"], patient(), at_once(3)).await;
        let mut task = client.task("t1");
        is_closed(&fault(&client).await);
        lives(&client).await;
        let restarted = "the server process was started again in the meantime";
        says(&task.wait().await.unwrap_err(), &["waiting for the task \"t1\" failed", restarted]);
        says(&task.poll().await.unwrap_err(), &[restarted]);
        // One that was made after the restart is another matter.
        let error = client.task("t1").wait().await.unwrap_err().to_string();
        assert!(!error.contains(restarted), "{error}");
        end(client).await;
    });
}

#[test]
fn the_number_of_restarts_is_limited() {
    run(async {
        let numbers: Arc<Mutex<Vec<u64>>> = Arc::default();
        let restarted = Arc::clone(&numbers);
        let restart = at_once(2).on_restart(move |number| restarted.lock().unwrap().push(number));
        let client = open(&["exits-in-call"], patient(), restart).await;
        for _ in 0..2 {
            is_closed(&fault(&client).await);
            lives(&client).await;
        }
        is_closed(&fault(&client).await);
        // One that is sent before the exit is known, perhaps, and one that is not sent.
        is_closed(&client.ping().await.unwrap_err());
        let error = client.ping().await.unwrap_err();
        is_closed(&error);
        assert_eq!(error.exit().unwrap().code(), Some(3), "{error:?}");
        let text = error.to_string();
        assert_eq!(error.stage(), "the request was not sent");
        assert!(!text.contains("before it responded") && text.contains("exited (exit status 3)"), "{text}");
        assert!(text.contains("it was started again 2 times within "), "{text}");
        assert!(text.contains("which is the limit"), "{text}");
        assert_eq!(*numbers.lock().unwrap(), [1, 2]);
        let why = client.why_closed().unwrap().to_string();
        assert!(why.contains("exited (exit status 3)") && why.contains("which is the limit"), "{why}");
        assert_eq!(client.close().await.unwrap().code(), Some(3));
    });
}

#[test]
fn a_server_that_exits_at_every_start_is_given_up() {
    run(async {
        let pids = Pids::new();
        let flag = format!("{}.started", pids.path());
        let faulty = faulty(&[]);
        let script = format!(
            "if [ -e '{flag}' ]; then echo 'no licence' >&2; exit 7; fi; touch '{flag}'; exec \"$0\" exits-in-call"
        );
        let program = format!("{faulty:?}").split('"').nth(1).unwrap().to_owned();
        let command = ServerCommand::new("sh").args(["-c", &script, &program]);
        let client = connect_with(command, patient().restart(at_once(4))).await.unwrap();
        is_closed(&fault(&client).await);
        // It waits until there is nothing to wait for.
        let error = client.call("echo", json!({"text": "?"})).await.unwrap_err();
        is_closed(&error);
        assert_eq!(error.exit().unwrap().code(), Some(7), "{error:?}");
        assert_eq!(error.stderr().matches("no licence").count(), 4, "{error:?}");
        client.close().await;
        std::fs::remove_file(flag).unwrap();
    });
}

#[test]
fn an_error_does_not_quote_the_stderr_of_the_process_before() {
    run(async {
        let pids = Pids::new();
        let flag = format!("{}.started", pids.path());
        let faulty = faulty(&[]);
        let script = format!(
            "if [ ! -e '{flag}' ]; then echo 'disk full' >&2; touch '{flag}'; fi; exec \"$0\" exits-in-call"
        );
        let program = format!("{faulty:?}").split('"').nth(1).unwrap().to_owned();
        let command = ServerCommand::new("sh").args(["-c", &script, &program]);
        let client = connect_with(command, patient().restart(at_once(2))).await.unwrap();
        is_closed(&fault(&client).await);
        lives(&client).await;
        let error = fault(&client).await;
        is_closed(&error);
        assert!(!error.stderr().contains("disk full"), "{}", error.stderr());
        client.close().await;
        std::fs::remove_file(flag).unwrap();
    });
}

#[test]
fn a_client_that_is_closed_while_it_waits_for_a_restart_ends() {
    run(async {
        let restart = Restart::at_most(3).delays(LONG, LONG).longest_wait(LONG);
        let client = open(&["exits-in-call"], patient(), restart).await;
        is_closed(&fault(&client).await);
        let options = CallOptions::new().total_timeout(Duration::from_millis(50));
        let error = client.call_with("echo", json!({}), options).await.unwrap_err();
        assert_eq!(super::timed_out(&error), Duration::from_millis(50));
        let waiting = tokio::spawn({
            let client = client.clone();
            async move { client.ping_with(CallOptions::new()).await }
        });
        client.close().await;
        is_closed(&waiting.await.unwrap().unwrap_err());
    });
}

#[test]
fn a_request_does_not_wait_for_a_late_restart() {
    run(async {
        let (exited, mut exits) = tokio::sync::mpsc::unbounded_channel();
        let restart = Restart::at_most(3).delays(LONG, LONG);
        let restart = restart.on_exit(move |why, delay| exited.send((why.exit(), delay)).unwrap());
        let client = open(&["exits-in-call"], patient(), restart).await;
        is_closed(&fault(&client).await);
        let (exit, delay) = exits.recv().await.unwrap();
        assert_eq!((exit.unwrap().code(), delay), (Some(3), LONG));
        let error = client.call("echo", json!({})).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Restarting(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains("it is started again in ") && text.contains("exit status 3"), "{text}");
        assert!(client.why_closed().is_none());
        client.close().await;
    });
}

#[test]
fn no_process_is_left_when_the_client_is_dropped() {
    run(async {
        let pids = Pids::new();
        let client = open(&["exits-in-call", "--pids", pids.path()], patient(), at_once(3)).await;
        is_closed(&fault(&client).await);
        lives(&client).await;
        drop(client);
        pids.are_gone(2).await;
    });
}

#[test]
fn subscriptions_are_renewed_and_report_what_may_have_changed() {
    run(async {
        // It tells of the change and exits, at each subscription.
        let client = open(&["changes", "exit"], patient(), at_once(3)).await;
        assert!(client.revision() == Revision::MODERN);
        if let Ok(mut changes) = client.listen(SubscriptionFilter::new().tools()).await {
            let mut seen = 0;
            while let Ok(Some(change)) = changes.next().await {
                assert_eq!(change, Change::Tools);
                seen += 1;
                assert!(seen < 20);
            }
            assert!(seen >= 1);
        }
        is_closed(&client.ping().await.unwrap_err());
        client.close().await;
    });
}

/// A server of a session-based revision in shell, which writes what it is sent into a file. It exits when a resource is to be
/// read, and at a subscription if it runs for the n-th time, where n is the last argument.
fn session_based(record: &str) -> ServerCommand {
    const SCRIPT: &str = r#"
        echo started >> "$1"
        while IFS= read -r line; do
            echo "$line" >> "$1"
            id=${line#*'"id":'}
            id=${id%%[,\}]*}
            result='{}'
            case $line in
                *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{"listChanged":true},"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}' ;;
                *'"notifications/'*) continue ;;
                *'"resources/read"'*) exit 3 ;;
                *'"resources/subscribe"'*) [ "$(grep -c started "$1")" = "$2" ] && exit 4 ;;
            esac
            echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$result}"
        done"#;
    ServerCommand::new("sh").args(["-c", SCRIPT, "server", record])
}

/// Follows a resource with a log level set, through the exit of the server. What the server was sent.
async fn follow(exits_again: &str) -> String {
    let pids = Pids::new();
    let record = format!("{}.record", pids.path());
    let command = session_based(&record).args([exits_again]);
    let client = connect_with(command, legacy().restart(at_once(4))).await.unwrap();
    client.set_log_level(LogLevel::Warning).await.unwrap();
    let filter = SubscriptionFilter::new().tools().resource("x:y");
    let mut changes = client.listen(filter).await.unwrap();
    is_closed(&client.read("x:y").await.unwrap_err());
    let mut seen = [changes.next().await.unwrap(), changes.next().await.unwrap()];
    seen.sort_by_key(|change| format!("{change:?}"));
    assert_eq!(seen, [Some(Change::Resource("x:y".to_owned())), Some(Change::Tools)]);
    client.ping().await.unwrap();
    client.close().await;
    let sent = std::fs::read_to_string(&record).unwrap();
    std::fs::remove_file(record).unwrap();
    sent
}

#[test]
fn subscriptions_and_the_log_level_of_a_session_are_renewed() {
    run(async {
        let sent = follow("none").await;
        let second = sent.split("started\n").nth(2).unwrap();
        assert!(second.contains(r#""level":"warning""#) && second.contains(r#""uri":"x:y""#), "{sent}");
        assert!(!second.contains("resources/read"), "repeated: {sent}");
    });
}

#[test]
fn subscriptions_are_renewed_although_the_server_exits_again_at_once() {
    run(async {
        let sent = follow("2").await;
        assert_eq!(sent.matches("started").count(), 3, "{sent}");
        assert_eq!(sent.matches("resources/subscribe").count(), 3, "{sent}");
    });
}
