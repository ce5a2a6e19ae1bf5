//! Sessions by the thousand: who goes when there are too many.

use std::sync::Arc;

use super::{IDLE, MOST, MOST_STREAMS, Session, Sessions};
use crate::link::Link;
use crate::protocol::Revision;
use crate::server::{Server, Service};

fn service() -> Arc<Service> {
    Server::new("x", "1").build().unwrap()
}

/// The id of a new session.
fn mint(sessions: &Sessions) -> String {
    let link = Link::new(None);
    link.set_legacy(Revision::NEWEST_LEGACY);
    sessions.mint(&link).unwrap()
}

fn find(sessions: &Sessions, id: &str, service: &Service) -> Arc<Session> {
    sessions.find(id, None, service).unwrap()
}

#[tokio::test(start_paused = true)]
async fn strangers_do_not_drive_out_who_is_there() {
    let service = service();
    let sessions = Sessions::new(&service);
    let id = mint(&sessions);
    let session = find(&sessions, &id, &service);
    let news = session.listen().unwrap();
    let idle = mint(&sessions);
    drop(find(&sessions, &idle, &service));
    for _ in 0..MOST {
        tokio::time::advance(std::time::Duration::from_millis(1)).await;
        drop(find(&sessions, &mint(&sessions), &service));
    }
    assert_eq!(sessions.count(), MOST);
    assert!(
        Arc::ptr_eq(&session, &find(&sessions, &id, &service)),
        "though it was not used for the longest time"
    );
    assert!(!session.link.is_closing());
    drop(news);
    // It was forgotten, and not ended.
    drop(find(&sessions, &idle, &service));
    assert_eq!(sessions.count(), MOST);
}

#[tokio::test(start_paused = true)]
async fn who_is_idle_is_forgotten_when_others_come() {
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
async fn what_strangers_leave_behind_makes_room() {
    let service = service();
    let sessions = Sessions::new(&service);
    let mine = find(&sessions, &mint(&sessions), &service);
    let mut left = 0;
    'full: loop {
        let session = find(&sessions, &mint(&sessions), &service);
        for _ in 0..MOST_STREAMS {
            if session.open(&Link::new(None)).is_err() {
                break 'full;
            }
            left += 1;
        }
    }
    assert!(left > 10_000, "{left}");
    assert!(mine.open(&Link::new(None)).is_err());
    sessions.forget_past();
    assert!(mine.open(&Link::new(None)).is_ok());
}
