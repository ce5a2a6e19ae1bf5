//! Sessions by the thousand: who goes when there are too many.

use std::sync::Arc;

use super::{HttpSession, IDLE, MOST, MOST_STREAMS, Sessions};
use crate::protocol::Revision;
use crate::server::session::Session;
use crate::server::{Server, ServiceCore};

fn service() -> Arc<ServiceCore> {
    Arc::clone(Server::new("x", "1").build().unwrap().core())
}

/// The id of a new session.
fn mint(sessions: &Sessions) -> String {
    let session = Session::new(None);
    session.set_legacy(Revision::NEWEST_LEGACY);
    sessions.mint(&session).unwrap()
}

fn find(sessions: &Sessions, id: &str, service: &ServiceCore) -> Arc<HttpSession> {
    sessions.find(id, None, service).unwrap()
}

#[tokio::test(start_paused = true)]
async fn new_sessions_do_not_evict_active_ones() {
    let service = service();
    let sessions = Sessions::new(&service);
    let id = mint(&sessions);
    let http_session = find(&sessions, &id, &service);
    let stream = http_session.listen().unwrap();
    let idle = mint(&sessions);
    drop(find(&sessions, &idle, &service));
    for _ in 0..MOST {
        tokio::time::advance(std::time::Duration::from_millis(1)).await;
        drop(find(&sessions, &mint(&sessions), &service));
    }
    assert_eq!(sessions.count(), MOST);
    assert!(
        Arc::ptr_eq(&http_session, &find(&sessions, &id, &service)),
        "though it was not used for the longest time"
    );
    assert!(!http_session.session.is_closing());
    drop(stream);
    // It was forgotten, and not ended.
    drop(find(&sessions, &idle, &service));
    assert_eq!(sessions.count(), MOST);
}

#[tokio::test(start_paused = true)]
async fn idle_sessions_are_evicted_for_new_ones() {
    let service = service();
    let sessions = Sessions::new(&service);
    for _ in 0..10 {
        drop(find(&sessions, &mint(&sessions), &service));
    }
    tokio::time::advance(IDLE * 2).await;
    drop(find(&sessions, &mint(&sessions), &service));
    assert_eq!(sessions.count(), 1);
}

#[tokio::test]
async fn closed_streams_of_other_sessions_make_room() {
    let service = service();
    let sessions = Sessions::new(&service);
    let mine = find(&sessions, &mint(&sessions), &service);
    let mut left = 0;
    'full: loop {
        let http_session = find(&sessions, &mint(&sessions), &service);
        for _ in 0..MOST_STREAMS {
            if http_session.open(&Session::new(None)).is_err() {
                break 'full;
            }
            left += 1;
        }
    }
    assert!(left > 10_000, "{left}");
    assert!(mine.open(&Session::new(None)).is_err());
    sessions.forget_past();
    assert!(mine.open(&Session::new(None)).is_ok());
}
