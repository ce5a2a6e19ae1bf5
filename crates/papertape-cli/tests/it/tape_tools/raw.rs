//! `papertape tape raw`.

use papertape_testing::process::run;

use crate::papertape;
use crate::process::{OPEN, ping};
use crate::scratch;
use crate::tape_tools::{HTTP, STDIO, tool, tool_of};

#[test]
fn the_exact_bytes_come_back() {
    let path = scratch("tape_raw").join("session.tape");
    let input = [OPEN.as_bytes(), ping(1).as_bytes(), b"\xff\xfe \r\n\xe2\x9f\xa6", b"half"].concat();
    let served = run(papertape(["serve", "text", "--tape"]).arg(&path), &input[..]);
    assert_eq!(tool(&["raw", "--direction", "to-server"], &path).is_clean().output, input);
    assert_eq!(tool(&["raw", "--direction", "to-client"], &path).is_clean().output, served.output);
}

#[test]
fn one_source_of_a_tape_is_written() {
    assert_eq!(tool_of(&["raw", "--direction", "stderr"], STDIO).is_clean().output, b"listening\x1b[0m\n");
    let words = ["raw", "--direction", "to-client", "--exchange", "2"];
    assert_eq!(
        tool_of(&words, HTTP).is_clean().output,
        b"HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\n\r\n"
    );
    let words = ["raw", "--direction", "to-client", "--no-heads"];
    assert_eq!(
        tool_of(&words, HTTP).is_clean().output,
        b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"
    );
}
