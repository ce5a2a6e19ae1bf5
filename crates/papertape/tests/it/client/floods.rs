//! Floods: however much a server sends, what the client holds is bounded. Each runs in a process of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use papertape::client::{CallOptions, Change, SubscriptionFilter};
use serde_json::json;

use super::{broken, end, fault, legacy, lives, lives_and_ends, open, open_with, run, text, text_of};
use crate::own_process::alone;

const MIB: usize = 1024 * 1024;

/// A figure from `/proc/self/status`, in bytes.
fn memory(key: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
}

/// The most that this process has grown by since it took `before`.
fn growth(before: usize) -> usize {
    memory("VmHWM").saturating_sub(before)
}

// C-09
#[test]
fn a_flood_of_progress_is_delivered_in_order_and_not_kept() {
    alone("client::floods::a_flood_of_progress_is_delivered_in_order_and_not_kept", || {
        run(async {
            let client = open(&["flood", "progress", "200000"]).await;
            lives(&client).await;
            let before = memory("VmRSS");
            let last = Arc::new(AtomicU64::new(0));
            let seen = Arc::clone(&last);
            let options = CallOptions::new().on_progress(move |progress| {
                let expected = seen.fetch_add(1, Ordering::Relaxed) + 1;
                assert!(progress.progress.to_bits() == f64::from(u32::try_from(expected).unwrap()).to_bits());
            });
            let result = client.call_with("fault", json!({}), options).await.unwrap();
            assert_eq!(text_of(&result), "200000");
            assert_eq!(last.load(Ordering::Relaxed), 200_000);
            let grown = growth(before);
            assert!(grown <= 32 * MIB, "{grown}");
            lives_and_ends(client).await;
        });
    });
}

// C-09
#[test]
fn a_flood_of_unread_messages_is_not_kept() {
    alone("client::floods::a_flood_of_unread_messages_is_not_kept", || {
        run(async {
            for kind in ["list-changed", "message"] {
                let client = open_with(&["flood", kind, "50000"], legacy()).await;
                lives(&client).await;
                let before = memory("VmRSS");
                // The other kind does not declare changes.
                let mut changes = match kind {
                    "list-changed" => Some(client.listen(SubscriptionFilter::new().tools()).await.unwrap()),
                    _ => None,
                };
                assert_eq!(text(&client, "fault").await, "50000");
                let grown = growth(before);
                assert!(grown <= 32 * MIB, "{kind}: {grown}");
                if let Some(changes) = &mut changes {
                    // However often it was said, it is one change.
                    assert_eq!(changes.next().await.unwrap(), Some(Change::Tools));
                }
                lives(&client).await;
                end(client).await;
                if let Some(mut changes) = changes {
                    assert_eq!(changes.next().await.unwrap(), None);
                }
            }
        });
    });
}

// C-23
#[test]
fn a_line_of_200_megabytes_costs_no_more_than_the_limit() {
    alone("client::floods::a_line_of_200_megabytes_costs_no_more_than_the_limit", || {
        run(async {
            for id in [&[][..], &["id-last"]] {
                let client = open(&[&["huge", "200000000"], id].concat()).await;
                lives(&client).await;
                let before = memory("VmRSS");
                let error = fault(&client).await;
                assert!(broken(&error).contains("too large: the limit is 16777216 bytes"), "{error}");
                // Answered after the end of the line.
                lives(&client).await;
                let grown = growth(before);
                assert!(grown <= (16 + 8) * MIB, "{grown}");
                lives_and_ends(client).await;
            }
        });
    });
}

// C-23
#[test]
fn a_line_without_end_costs_no_more_than_the_limit() {
    alone("client::floods::a_line_without_end_costs_no_more_than_the_limit", || {
        run(async {
            let client = open(&["endless"]).await;
            lives(&client).await;
            let before = memory("VmRSS");
            let error = fault(&client).await;
            assert!(broken(&error).contains("too large"), "{error}");
            super::hang(&client).await;
            let grown = growth(before);
            assert!(grown <= (16 + 8) * MIB, "{grown}");
            end(client).await;
        });
    });
}

// C-23
#[test]
fn a_result_of_100000_levels_costs_little() {
    alone("client::floods::a_result_of_100000_levels_costs_little", || {
        run(async {
            let client = open(&["deep", "50000"]).await;
            lives(&client).await;
            let before = memory("VmRSS");
            assert!(broken(&fault(&client).await).contains("nested deeper than"));
            lives(&client).await;
            let grown = growth(before);
            assert!(grown <= 8 * MIB, "{grown}");
            end(client).await;
        });
    });
}
