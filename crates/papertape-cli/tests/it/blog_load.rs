//! Many concurrent searches while the directory is indexed again. Row G12 of docs/behaviour.md.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::blog::{beside, index};
use crate::http::{Served, open, post, request, response};
use crate::process::Process;
use crate::scratch;

const CLIENTS: u64 = 50;
const FILES: usize = 2_000;

/// Rewrites every file, each with the number of the round.
fn write_all(folder: &Path, time: &str) {
    for number in 0..FILES {
        let text =
            format!("# Note {number}\n\nLanterns of {time}.\n\n## More of {time}\n\nNumber {number}.\n");
        fs::write(folder.join(format!("{number}.md")), text).unwrap();
    }
}

/// What a client gets from one search after another, until it is over and once more. Gives how many there were, and the
/// time that the last one was of.
fn search_until(over: &AtomicBool, address: SocketAddr, id: u64) -> (u64, String) {
    let mut stream = open(address);
    let arguments = json!({"query": "lanterns", "top_k": 20});
    let call = request(id, "tools/call", json!({"name": "search_blog", "arguments": arguments}));
    let mut searches = 0;
    loop {
        let last = over.load(Ordering::SeqCst);
        stream.write_all(&post(&call)).unwrap();
        let (status, body) = response(&mut stream);
        assert_eq!(status, 200, "{body}");
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_ne!(answer["result"]["isError"], true, "{body}");
        let hits = answer["result"]["structuredContent"]["hits"].as_array().unwrap();
        assert_eq!(hits.len(), 20, "{body}");
        let mut times: Vec<&str> = hits
            .iter()
            .map(|hit| hit["preview"].as_str().unwrap())
            .map(|preview| if preview.contains("yesterday") { "yesterday" } else { "today" })
            .collect();
        times.dedup();
        assert_eq!(times.len(), 1, "of two generations: {body}");
        searches += 1;
        if last {
            return (searches, times[0].to_owned());
        }
    }
}

#[test]
fn reindexing_does_not_disturb_fifty_searching_clients() {
    let folder = scratch("blog_load").join("docs");
    fs::create_dir(&folder).unwrap();
    write_all(&folder, "yesterday");
    index(&folder, &[]).is_clean();
    let mut serve = beside(&folder, ["serve", "blog", "--index", "docs/.papertape", "--http", "127.0.0.1:0"]);
    let server = Served::start(&mut serve);
    let before = AtomicBool::new(true);
    assert_eq!(search_until(&before, server.address, 0), (1, "yesterday".to_owned()));
    write_all(&folder, "today");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (over, address) = (&over, server.address);
        let clients: Vec<_> =
            (1..=CLIENTS).map(|id| scope.spawn(move || search_until(over, address, id))).collect();
        let indexed = Process::start(&mut beside(&folder, ["index", "docs"])).finish();
        over.store(true, Ordering::SeqCst);
        let results: Vec<(u64, String)> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        indexed.is_clean();
        for (searches, time) in results {
            assert!(searches > 1, "{searches}");
            assert_eq!(time, "today");
        }
    });
}
