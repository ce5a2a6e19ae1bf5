//! The scanner alone: its result does not depend on how the input is split.

use proptest::prelude::{Strategy, any, prop, prop_oneof, proptest};
use proptest::test_runner::Config;

use super::super::scan::{Bounds, Event, Fault, Part, Scanner};

const BOUNDS: Bounds = Bounds { block: 300, headers: 6, url: 40 };

/// What a scanner made of some bytes.
#[derive(Debug, PartialEq)]
struct Verdict {
    good: usize,
    heads: usize,
    bodies: usize,
    blank: usize,
    fault: Option<Fault>,
    part: Part,
}

fn scan<'bytes>(pieces: impl IntoIterator<Item = &'bytes [u8]>) -> Verdict {
    let mut scanner = Scanner::new(BOUNDS);
    let mut verdict = Verdict { good: 0, heads: 0, bodies: 0, blank: 0, fault: None, part: Part::Start };
    'pieces: for mut piece in pieces {
        while !piece.is_empty() {
            let step = scanner.step(piece);
            verdict.good += step.taken;
            piece = &piece[step.taken..];
            match step.event {
                Event::More => assert!(piece.is_empty(), "it stopped without a reason"),
                Event::Blank => verdict.blank += step.taken,
                Event::Head => verdict.heads += 1,
                Event::Body => verdict.bodies += 1,
                Event::Fault(fault) => {
                    verdict.fault = Some(fault);
                    break 'pieces;
                }
            }
        }
    }
    verdict.part = scanner.part();
    verdict
}

fn same_in_pieces(bytes: &[u8]) {
    let whole = scan([bytes]);
    assert_eq!(scan(bytes.chunks(1)), whole, "byte by byte");
    for cut in 0..=bytes.len() {
        let (one, two) = bytes.split_at(cut);
        assert_eq!(scan([one, two]), whole, "cut at {cut}");
    }
}

/// Pieces of requests, good and bad.
const PIECES: &[&str] = &[
    "GET / HTTP/1.1\r\n",
    "POST /a HTTP/1.1\r\n",
    "CONNECT a:1 HTTP/1.1\r\n",
    "GET / HTTP/1.0\r\n",
    "Host: localhost\r\n",
    "hOST:\t[::1]:80 \r\n",
    "Content-Length: 3\r\n",
    "Content-Length: 30\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding : chunked\r\n",
    "X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n",
    "\r\n",
    "\n",
    "\r",
    " ",
    "\0",
    ":",
    "3\r\nabc\r\n",
    "a;b=c\r\n0123456789\r\n",
    "0\r\n",
    "0\r\n\r\n",
    "abc",
    "FFFFFFFFFFFFFFFFF",
    "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

const GOOD: &[&str] = &[
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "\r\nPOST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: a\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n",
];

fn input() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => prop::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        3 => prop::sample::select(GOOD).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(Config { cases: 400, failure_persistence: None, ..Config::default() })]

    #[test]
    fn the_result_does_not_depend_on_chunking(bytes in input()) {
        same_in_pieces(&bytes);
    }

    #[test]
    fn pipelined_requests_are_separated(requests in prop::collection::vec(prop::sample::select(GOOD), 0..10)) {
        let verdict = scan([requests.concat().as_bytes()]);
        assert_eq!((verdict.heads, verdict.fault, verdict.part), (requests.len(), None, Part::Start));
    }
}

#[test]
fn limits_are_exact_to_the_byte() {
    let head = |length: usize| {
        let rest = "GET / HTTP/1.1\r\nHost: a\r\nA: \r\n\r\n".len();
        format!("GET / HTTP/1.1\r\nHost: a\r\nA: {}\r\n\r\n", "b".repeat(length - rest))
    };
    assert_eq!(scan([head(300).as_bytes()]).fault, None);
    let over = scan([head(301).as_bytes()]);
    assert_eq!((over.good, over.fault.and_then(|fault| fault.status.get(..3))), (300, Some("431")));
    let url = |length: usize| format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "b".repeat(length - 1));
    assert_eq!(scan([url(40).as_bytes()]).fault, None);
    assert_eq!(scan([url(41).as_bytes()]).fault.and_then(|fault| fault.status.get(..3)), Some("414"));
    let headers = |count: usize| format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "a: b\r\n".repeat(count - 1));
    assert_eq!(scan([headers(6).as_bytes()]).fault, None);
    assert_eq!(scan([headers(7).as_bytes()]).fault.and_then(|fault| fault.status.get(..3)), Some("431"));
}
