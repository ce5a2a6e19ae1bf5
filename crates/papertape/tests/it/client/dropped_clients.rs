//! Clients that leave without a word: nothing of the server stays.

use std::io::Write;
use std::time::Duration;

use papertape::stdio::connect_with;
use rustix::process::{Signal, getpid};
use serde_json::json;

use super::pids::{Left, Pids, left, until};
use super::{end, faulty, in_time, is_closed, legacy, lives, not_opened, open, patient, run};
use crate::own_process::{again, alone, alone_at};
use crate::process::Process;

// C-14
#[test]
fn a_client_that_is_dropped_takes_its_server_with_it() {
    run(async {
        let pids = Pids::new();
        let client = open(&["grandchild", "--pids", pids.path()]).await;
        lives(&client).await;
        drop(client);
        pids.are_gone(2).await;
    });
}

// C-14
#[test]
fn the_last_clone_that_is_dropped_ends_the_server_and_no_other() {
    run(async {
        let pids = Pids::new();
        let client = open(&["well-behaved", "--pids", pids.path()]).await;
        drop(client.clone());
        lives(&client).await;
        let call = client.clone();
        let call = tokio::spawn(async move { call.call("hang", json!({})).await });
        lives(&client).await;
        drop(client);
        assert_eq!(left(pids.all()[0]), Left::Running);
        // Its future held the last one.
        call.abort();
        pids.are_gone(1).await;
    });
}

#[test]
fn closing_one_clone_closes_them_all() {
    run(async {
        let client = open(&["well-behaved"]).await;
        let (other, waiting) = (client.clone(), client.clone());
        let waiting = tokio::spawn(async move { waiting.call("hang", json!({})).await });
        lives(&client).await;
        assert_eq!(client.close().await.unwrap().code(), Some(0));
        is_closed(&waiting.await.unwrap().unwrap_err());
        let error = other.call("echo", json!({})).await.unwrap_err();
        is_closed(&error);
        assert_eq!(error.exit().unwrap().code(), Some(0));
        assert_eq!(other.clone().close().await.unwrap().code(), Some(0));
        assert_eq!(other.close().await.unwrap().code(), Some(0));
    });
}

// C-14
#[test]
fn an_opening_that_is_dropped_half_way_leaves_nothing() {
    run(async {
        for mode in ["never-opens", "probe-silent"] {
            let pids = Pids::new();
            tokio::select! {
                opened = connect_with(faulty(&[mode, "--pids", pids.path()]), patient()) => panic!("{opened:?}"),
                _ = pids.wait_for(1) => {}
            }
            pids.are_gone(1).await;
        }
    });
}

// C-14
#[test]
fn a_runtime_that_is_dropped_leaves_nothing_running() {
    for threads in [None, Some(2)] {
        let runtime = || match threads {
            None => tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
            Some(count) => tokio::runtime::Builder::new_multi_thread()
                .worker_threads(count)
                .enable_all()
                .build()
                .unwrap(),
        };
        let pids = Pids::new();
        let (first, second, third) = (runtime(), runtime(), runtime());
        // The client outlives the runtime.
        let client = first.block_on(in_time(open(&["grandchild", "never", "--pids", pids.path()])));
        drop(first);
        // The client has gone when the runtime goes, and its server was about to.
        drop(second.block_on(in_time(open(&["ignores-term", "--pids", pids.path()]))));
        drop(second);
        // There was no client yet.
        let words = ["never-opens", "--pids", pids.path()];
        third.block_on(async {
            tokio::spawn(connect_with(faulty(&words), patient()));
            in_time(pids.wait_for(4)).await;
        });
        drop(third);
        assert_eq!(pids.all().len(), 4);
        run(async {
            for pid in pids.all() {
                // Without a runtime the process is not reaped.
                until("the end of a server", || left(pid) != Left::Running).await;
            }
            let error = client.call("echo", json!({})).await.unwrap_err();
            is_closed(&error);
            // The task that would report its exit status is gone.
            in_time(client.close()).await;
        });
    }
}

// C-13
#[test]
fn a_server_whose_client_is_killed_sees_the_end_of_its_input() {
    const NAME: &str = "client::dropped_clients::a_server_whose_client_is_killed_sees_the_end_of_its_input";
    is_gone_with_its_client(NAME, &["well-behaved"], 1);
}

// C-13, C-11
#[test]
fn a_server_that_ignores_signals_ends_when_its_client_is_killed() {
    const NAME: &str =
        "client::dropped_clients::a_server_that_ignores_signals_ends_when_its_client_is_killed";
    is_gone_with_its_client(NAME, &["ignores-term"], 1);
}

// C-13, C-12
#[test]
fn child_processes_of_a_server_end_when_its_client_is_killed() {
    const NAME: &str = "client::dropped_clients::child_processes_of_a_server_end_when_its_client_is_killed";
    is_gone_with_its_client(NAME, &["grandchild", "never"], 2);
}

/// Kills a client of a server, with a signal that cannot be handled: nothing of the server may stay. `name` is that of the
/// test, `started` the number of processes that the server is.
fn is_gone_with_its_client(name: &str, words: &[&str], started: usize) {
    if let Some(path) = alone_at() {
        // This is the client.
        run(async {
            let words: Vec<&str> = words.iter().copied().chain(["--pids", &path]).collect();
            let client = connect_with(faulty(&words), legacy()).await.unwrap();
            lives(&client).await;
            let mut pids = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
            pids.write_all(format!("{}\n", getpid().as_raw_nonzero()).as_bytes()).unwrap();
            std::future::pending::<()>().await;
        });
        return;
    }
    let pids = Pids::new();
    let client = Process::start(&mut again(name, pids.path()));
    run(async {
        let mut all = pids.wait_for(started + 1).await;
        assert_eq!(all.pop(), Some(client.pid()));
        client.signal(Signal::KILL);
        for pid in all {
            until("the end of the server", || left(pid) != Left::Running).await;
        }
    });
    assert!(client.wait().status.code().is_none());
}

// C-14
#[test]
fn a_hundred_servers_leave_no_descriptor_and_no_process() {
    alone("client::dropped_clients::a_hundred_servers_leave_no_descriptor_and_no_process", || {
        let open_files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let children = || std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
        run(async {
            let once = || async {
                end(open(&["well-behaved"]).await).await;
                drop(not_opened(&["exits"], legacy()).await);
            };
            once().await;
            let before = open_files();
            for _ in 0..50 {
                once().await;
            }
            assert_eq!(open_files(), before);
            assert_eq!(children(), "");
        });
    });
}

/// The wait for a call that is given up is over at once, whatever the server does.
#[test]
fn a_call_that_is_given_up_does_not_hold_up_the_end() {
    run(async {
        let client = open(&["well-behaved"]).await;
        let given_up = tokio::time::timeout(Duration::from_millis(1), client.call("hang", json!({}))).await;
        assert!(given_up.is_err());
        end(client).await;
    });
}
