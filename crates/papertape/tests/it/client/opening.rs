//! How a session is opened with servers that are older, newer, slower or worse than expected.

use std::sync::{Arc, Mutex};

use papertape::client::{ClientOptions, ErrorKind};
use papertape::protocol::Revision;
use serde_json::{Value, json};

use super::log::Log;
use super::pids::{Left, Pids, left, until};
use super::{
    ONCE_IT_RUNS, SHORT, broken, code, end, heard, lives, lives_and_ends, not_opened, open, open_with,
    patient, run, says, timed_out,
};

const PROBED: [&str; 3] = ["server/discover", "initialize", "notifications/initialized"];

/// A client that does not wait long for servers that do not know the probe.
fn impatient() -> ClientOptions {
    patient().probe_timeout(SHORT)
}

#[test]
fn a_modern_server_is_opened_with_one_request() {
    run(async {
        for words in [&["well-behaved"][..], &["well-behaved", "--modern"]] {
            let client = open(words).await;
            assert_eq!(client.revision(), Revision::MODERN);
            assert_eq!(client.server().name, "faulty well-behaved");
            assert_eq!(client.server().version, "1.0.0");
            assert!(client.capabilities().tools.is_some() && client.capabilities().prompts.is_none());
            assert_eq!(heard(&client).await, ["server/discover"]);
            client.ping().await.unwrap();
            assert_eq!(heard(&client).await.last().unwrap(), "server/discover", "there is no ping any more");
            lives_and_ends(client).await;
        }
    });
}

#[test]
fn a_legacy_server_is_opened_with_initialize_in_the_same_process() {
    run(async {
        let pids = Pids::new();
        let client = open(&["well-behaved", "--legacy", "--pids", pids.path()]).await;
        assert_eq!(client.revision(), Revision::V2025_11_25);
        assert_eq!(client.server().name, "faulty well-behaved");
        assert!(client.capabilities().tools.is_some());
        assert_eq!(heard(&client).await, PROBED);
        client.ping().await.unwrap();
        assert_eq!(heard(&client).await.last().unwrap(), "ping");
        lives_and_ends(client).await;
        pids.are_gone_now(1);
    });
}

#[test]
fn a_requested_revision_is_the_only_one_tried() {
    run(async {
        for revision in Revision::ALL {
            let client = open_with(&["well-behaved"], patient().revision(revision)).await;
            assert_eq!(client.revision(), revision);
            let expected = if revision.opens_with_handshake() { &PROBED[1..] } else { &PROBED[..1] };
            assert_eq!(heard(&client).await, expected);
            lives_and_ends(client).await;
        }
    });
}

#[test]
fn an_unsupported_pinned_revision_is_an_error() {
    run(async {
        let pids = Pids::new();
        let wanted = Revision::MODERN;
        let error =
            not_opened(&["well-behaved", "--legacy", "--pids", pids.path()], patient().revision(wanted))
                .await;
        assert!(
            matches!(error.kind(), ErrorKind::Unsupported { wanted: Some(named), .. } if *named == wanted),
            "{error:?}"
        );
        says(
            &error,
            &[
                "server/discover",
                "does not support revision 2026-07-28, and does not name those that it supports",
            ],
        );

        let wanted = Revision::V2025_06_18;
        let error =
            not_opened(&["well-behaved", "--modern", "--pids", pids.path()], patient().revision(wanted))
                .await;
        assert_eq!(code(&error), -32022);
        says(&error, &["initialize", "only 2026-07-28 is supported"]);

        let words = &["initialize-version", "2024-11-05", "--pids", pids.path()];
        let error = not_opened(words, patient().revision(wanted)).await;
        says(&error, &["does not support revision 2025-06-18", "but 2024-11-05"]);
        pids.are_gone_now(3);
    });
}

// C-01
#[test]
fn a_banner_before_the_first_response_is_skipped_and_logged_once() {
    run(async {
        let (log, _guard) = Log::of_this_thread();
        let client = open(&["banner"]).await;
        assert_eq!(client.revision(), Revision::MODERN);
        lives(&client).await;
        let lines = log.lines();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("Welcome to the server!"), "{lines:?}");
        assert!(!lines[0].contains('\u{1b}'), "escapes must not reach a terminal: {lines:?}");
        end(client).await;

        let client = open(&["banner", "--legacy"]).await;
        lives_and_ends(client).await;
    });
}

// C-15
#[test]
fn a_server_that_never_opens_is_given_up_and_ended() {
    run(async {
        let pids = Pids::new();
        let options = patient().probe_timeout(SHORT).open_timeout(ONCE_IT_RUNS);
        let error = not_opened(&["never-opens", "--pids", pids.path()], options).await;
        assert_eq!(timed_out(&error), ONCE_IT_RUNS);
        assert!(error.operation().contains("initialize"), "{error:?}");
        assert_eq!(error.stage(), "the request was sent; no response arrived");
        assert_eq!(error.bytes(), None);
        says(&error, &["did not respond within 3 s"]);
        pids.are_gone_now(1);

        let options = patient().open_timeout(ONCE_IT_RUNS).revision(Revision::MODERN);
        let error = not_opened(&["never-opens", "--pids", pids.path()], options).await;
        assert_eq!(timed_out(&error), ONCE_IT_RUNS);
        assert!(error.operation().contains("server/discover"), "{error:?}");
        pids.are_gone_now(2);
    });
}

// C-16
#[test]
fn a_server_that_ignores_the_probe_is_opened_with_initialize() {
    run(async {
        for mode in ["probe-silent", "probe-garbage"] {
            let pids = Pids::new();
            let client = open_with(&[mode, "--pids", pids.path()], impatient()).await;
            assert_eq!(client.revision(), Revision::V2025_11_25, "{mode}");
            assert_eq!(heard(&client).await, PROBED, "{mode}");
            lives_and_ends(client).await;
            pids.are_gone_now(1);
        }
    });
}

// C-16
#[test]
fn any_probe_error_of_a_legacy_server_leads_to_initialize() {
    run(async {
        for error in ["-32601", "-32602", "-32600", "-32000", "-32603", "-32700", "-32001", "0", "404"] {
            let client = open(&["probe-error", error]).await;
            assert_eq!(client.revision(), Revision::V2025_11_25, "{error}");
            assert_eq!(heard(&client).await, PROBED, "{error}");
            end(client).await;
        }
    });
}

// C-16
#[test]
fn a_modern_error_code_does_not_lead_to_initialize() {
    run(async {
        let pids = Pids::new();
        for complaint in [-32020, -32021] {
            let error =
                not_opened(&["probe-error", &complaint.to_string(), "--pids", pids.path()], patient()).await;
            assert_eq!(code(&error), complaint);
            says(&error, &["`server/discover` failed", "what is that?"]);
        }
        pids.are_gone_now(2);
    });
}

// C-16
#[test]
fn a_probe_response_without_a_modern_revision_leads_to_initialize() {
    run(async {
        for mode in ["probe-empty", "probe-legacy-versions"] {
            let client = open(&[mode]).await;
            assert_eq!(client.revision(), Revision::V2025_11_25, "{mode}");
            assert_eq!(heard(&client).await, PROBED, "{mode}");
            lives_and_ends(client).await;
        }
    });
}

// C-16
#[test]
fn a_late_probe_response_counts() {
    run(async {
        // Before the answer to `initialize`, after it, and although that is refused.
        for mode in ["probe-late", "probe-out-of-order", "slow-start"] {
            let client = open_with(&[mode], impatient()).await;
            assert_eq!(client.revision(), Revision::MODERN, "{mode}");
            assert_eq!(client.server().name, format!("faulty {mode}"));
            assert_eq!(heard(&client).await, PROBED[..2], "{mode}");
            assert_eq!(client.newer_revision(), None, "{mode}");
            lives_and_ends(client).await;
        }
    });
}

// C-16
#[test]
fn a_late_probe_response_is_only_reported_as_newer_revision() {
    run(async {
        let client = open_with(&["probe-too-late"], impatient()).await;
        assert_eq!(client.revision(), Revision::V2025_11_25);
        lives(&client).await;
        until("the late answer", || client.newer_revision().is_some()).await;
        assert_eq!(client.newer_revision(), Some("2026-07-28"));
        assert_eq!(heard(&client).await[..3], PROBED);
        lives_and_ends(client).await;
    });
}

// C-16
#[test]
fn nothing_is_sent_while_the_probe_is_unread() {
    run(async {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let options = impatient().on_frame(move |frame| {
            sink.lock().unwrap().push((frame.time, String::from_utf8_lossy(frame.bytes).into_owned()));
        });
        let client = open_with(&["reads-late", "1500"], options).await;
        assert_eq!(client.revision(), Revision::MODERN);
        // It may be slow to answer what it has read; but before that there is no reason to ask anything else.
        for (time, frame) in seen.lock().unwrap().iter().filter(|(_, frame)| frame.contains("initialize")) {
            assert!(time.as_millis() > 1000, "{time:?}: {frame}");
        }
        lives_and_ends(client).await;
    });
}

// C-15
#[test]
fn a_server_that_reads_nothing_fails_at_the_opening_timeout() {
    run(async {
        let options = impatient().open_timeout(ONCE_IT_RUNS);
        let error = not_opened(&["never-reads"], options).await;
        assert_eq!(timed_out(&error), ONCE_IT_RUNS);
        assert_eq!(error.stage(), "the request was sent; the server has not read it");
        says(&error, &["did not respond within 3 s (limit: ClientOptions::open_timeout)"]);
    });
}

// C-16
#[test]
fn a_server_broken_by_the_probe_is_restarted_with_initialize() {
    run(async {
        let pids = Pids::new();
        let client = open_with(&["probe-breaks", "--pids", pids.path()], impatient()).await;
        assert_eq!(client.revision(), Revision::V2025_11_25);
        let [first, second] = pids.all()[..] else { panic!("{:?}", pids.all()) };
        assert_eq!((left(first), left(second)), (Left::Nothing, Left::Running));
        assert_eq!(heard(&client).await, PROBED[1..]);
        lives_and_ends(client).await;
        pids.are_gone_now(2);
    });
}

// C-16
#[test]
fn no_common_modern_revision_does_not_lead_to_initialize() {
    run(async {
        let pids = Pids::new();
        let error = not_opened(&["probe-unsupported", "--pids", pids.path()], patient()).await;
        let ErrorKind::Unsupported { theirs, wanted: None } = error.kind() else { panic!("{error:?}") };
        assert_eq!(theirs[..], ["2099-01-01"]);
        says(&error, &["no common revision", "2099-01-01", "2026-07-28", "2024-11-05"]);
        pids.are_gone_now(1);
    });
}

// C-16
#[test]
fn a_probe_error_with_a_common_revision_is_accepted() {
    run(async {
        let client = open(&["probe-unsupported", "2026-07-28"]).await;
        assert_eq!(client.revision(), Revision::MODERN);
        lives_and_ends(client).await;
    });
}

// C-16
#[test]
fn a_server_that_exits_on_the_probe_is_restarted_with_initialize() {
    run(async {
        let pids = Pids::new();
        let client = open(&["probe-exits", "--pids", pids.path()]).await;
        assert_eq!(client.revision(), Revision::V2025_11_25);
        let [first, second] = pids.all()[..] else { panic!("{:?}", pids.all()) };
        assert_eq!((left(first), left(second)), (Left::Nothing, Left::Running));
        assert_eq!(heard(&client).await, PROBED[1..]);
        lives_and_ends(client).await;
        pids.are_gone_now(2);
    });
}

#[test]
fn the_negotiated_revision_must_be_supported() {
    run(async {
        for revision in Revision::ALL.into_iter().filter(|revision| revision.opens_with_handshake()) {
            let client = open(&["initialize-version", revision.as_str()]).await;
            assert_eq!(client.revision(), revision);
            lives_and_ends(client).await;
        }
        let pids = Pids::new();
        for version in ["1999-01-01", "2026-07-28", "latest", ""] {
            let error = not_opened(&["initialize-version", version, "--pids", pids.path()], patient()).await;
            let ErrorKind::Unsupported { theirs, wanted: None } = error.kind() else { panic!("{error:?}") };
            assert_eq!(theirs[..], [version]);
            says(&error, &["initialize", "no common revision", version]);
        }
        pids.are_gone_now(4);
    });
}

#[test]
fn an_initialize_result_needs_only_the_revision() {
    run(async {
        let client = open(&["initialize-without", "serverInfo"]).await;
        assert_eq!(client.server().name, "");
        lives_and_ends(client).await;

        let client = open(&["initialize-without", "capabilities"]).await;
        assert!(client.capabilities().tools.is_none());
        lives_and_ends(client).await;

        let pids = Pids::new();
        let error = not_opened(&["initialize-without", "--pids", pids.path()], patient()).await;
        assert!(broken(&error).contains("protocolVersion"), "{error}");
        let bytes: Value = serde_json::from_slice(error.bytes().unwrap()).unwrap();
        assert_eq!(bytes["serverInfo"]["name"], "faulty initialize-without");
        pids.are_gone_now(1);
    });
}

#[test]
fn a_rejected_handshake_is_reported_with_the_servers_message() {
    run(async {
        let pids = Pids::new();
        let error = not_opened(&["initialize-error", "--pids", pids.path()], patient()).await;
        assert_eq!(code(&error), -32603);
        assert_eq!(error.stage(), "the response arrived");
        says(&error, &["initialize", "the licence has expired"]);
        pids.are_gone_now(1);
    });
}

#[test]
fn the_client_introduces_itself_by_the_name_it_was_given() {
    run(async {
        for revision in [Revision::NEWEST_LEGACY, Revision::MODERN] {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let sink = Arc::clone(&seen);
            let options = patient()
                .revision(revision)
                .identity("tester", "7.8.9")
                .on_frame(move |frame| sink.lock().unwrap().push(frame.bytes.to_vec()));
            let client = open_with(&["well-behaved"], options).await;
            let first: Value = serde_json::from_slice(&seen.lock().unwrap()[0]).unwrap();
            let params = &first["params"];
            let named = match revision.opens_with_handshake() {
                true => &params["clientInfo"],
                false => &params["_meta"]["io.modelcontextprotocol/clientInfo"],
            };
            assert_eq!(*named, json!({"name": "tester", "version": "7.8.9"}));
            end(client).await;
        }
    });
}
