//! `papertape tape to-har`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::document;
use crate::tape_tools::{HTTP, STDIO, tape, tool, tool_of};

/// What HAR 1.2 requires.
fn assert_archive(archive: &Value, entries: usize) {
    let log = &archive["log"];
    assert!(
        log["version"].is_string()
            && log["creator"]["name"].is_string()
            && log["creator"]["version"].is_string()
    );
    let list = log["entries"].as_array().unwrap();
    assert_eq!(list.len(), entries);
    for entry in list {
        assert!(entry["startedDateTime"].as_str().unwrap().ends_with('Z') && entry["cache"].is_object());
        let timings = ["send", "wait", "receive"].map(|name| entry["timings"][name].as_f64().unwrap());
        let sum: f64 = timings.iter().sum();
        assert!(
            timings.iter().all(|time| *time >= 0.0) && (sum - entry["time"].as_f64().unwrap()).abs() < 1e-9
        );
        for (side, strings, lists) in [
            ("request", &["method", "url", "httpVersion"][..], &["cookies", "headers", "queryString"][..]),
            ("response", &["statusText", "httpVersion", "redirectURL"], &["cookies", "headers"]),
        ] {
            let side = &entry[side];
            assert!(strings.iter().all(|name| side[name].is_string()), "{side}");
            assert!(lists.iter().all(|name| side[name].is_array()), "{side}");
            assert!(side["headersSize"].is_i64() && side["bodySize"].is_i64());
            for header in side["headers"].as_array().unwrap() {
                assert!(header["name"].is_string() && header["value"].is_string());
            }
        }
        let content = &entry["response"]["content"];
        assert!(
            entry["response"]["status"].is_u64()
                && content["size"].is_i64()
                && content["mimeType"].is_string()
        );
    }
}

#[test]
fn a_tape_of_http_is_an_archive() {
    let path = tape("tape_har", HTTP);
    let out = path.with_extension("har");
    let end = tool(&["to-har", "--out", out.to_str().unwrap()], &path);
    end.is_clean();
    assert!(end.output.is_empty());
    let archive: Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    assert_archive(&archive, 2);
    assert_eq!(archive["log"]["entries"][0]["startedDateTime"], "2026-09-21T14:13:20.001000Z");
    assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_tape_of_stdio_is_an_archive() {
    let end = tool_of(&["to-har"], STDIO);
    end.is_clean();
    let archive = document(&end);
    assert_archive(&archive, 4);
    let urls: Vec<_> = archive["log"]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["request"]["url"].as_str().unwrap())
        .collect();
    assert_eq!(
        urls,
        [
            "stdio://server/initialize",
            "stdio://server/tools/call?name=add",
            "stdio://server/tools/call?name=add",
            "stdio://server/ping"
        ]
    );
}
