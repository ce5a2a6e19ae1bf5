use proptest::prelude::{Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

use super::{Decoder, Framing, PieceKind};

/// What comes out for bytes that come in with cuts at the given places: one word per piece, skipped runs joined.
fn decode(bytes: &[u8], limit: usize, cuts: &[usize]) -> (Vec<String>, Vec<u8>) {
    let mut decoder = Decoder::new(limit);
    let (mut words, mut raw) = (Vec::<String>::new(), Vec::new());
    let mut note = |piece: super::Piece<'_>| {
        raw.extend_from_slice(piece.raw);
        let word = match piece.kind {
            PieceKind::Frame(body) => format!("frame {}", body.escape_ascii()),
            PieceKind::Unfinished(body) => format!("unfinished {}", body.escape_ascii()),
            PieceKind::Blank | PieceKind::Skipped => return,
            PieceKind::Broken(error) => format!("broken: {error}"),
        };
        words.push(word);
    };
    let mut from = 0;
    for &to in cuts.iter().chain([&bytes.len()]) {
        let to = to.clamp(from, bytes.len());
        decoder.push(&bytes[from..to]);
        while let Some(piece) = decoder.next_piece() {
            note(piece);
        }
        from = to;
    }
    if let Some(piece) = decoder.finish() {
        note(piece);
    }
    (words, raw)
}

fn check(bytes: &[u8], expected: &[&str]) {
    let (words, raw) = decode(bytes, 64, &[]);
    assert_eq!(words, expected, "{}", bytes.escape_ascii());
    assert_eq!(raw, bytes);
    for at in 0..bytes.len() {
        assert_eq!(decode(bytes, 64, &[at]).0, expected, "cut at {at}: {}", bytes.escape_ascii());
    }
}

#[test]
fn lines() {
    check(
        b"{}\n[]\r\n\n  \t\n\xEF\xBB\xBF{}\n1",
        &["frame {}", "frame []\\r", "frame \\xef\\xbb\\xbf{}", "unfinished 1"],
    );
    check(b"\n \n{}\n", &["frame {}"]);
    check(b"hello\n", &["frame hello"]);
    check(b"content\n", &["frame content"]);
    check(b"conten", &["unfinished conten"]);
}

#[test]
fn a_long_line_is_refused_once_and_the_next_is_read() {
    let mut bytes = vec![b'x'; 200];
    bytes.extend_from_slice(b"\n{}\n");
    check(&bytes, &["broken: the frame is too large: the limit is 64 bytes", "frame {}"]);
}

#[test]
fn headers() {
    check(b"Content-Length: 2\r\n\r\n{}", &["frame {}"]);
    check(b"content-length:2\n\n{}CONTENT-LENGTH: \t2 \r\n\r\n[]", &["frame {}", "frame []"]);
    check(
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\nX-Y: z\r\n\r\n{}\r\nContent-Length: 0\r\n\r\n",
        &["frame {}", "frame "],
    );
    check(b"\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n\xe2\x82\xac", &["frame \\xe2\\x82\\xac"]);
    check(b"{}\nContent-Length: 2\r\n\r\n{}\n", &["frame {}", "frame Content-Length: 2\\r", "frame {}"]);
}

#[test]
fn broken_headers_end_the_stream() {
    for length in ["-5", "abc", "1e3", "0x10", "+5", "", "99999999999999999999"] {
        let bytes = format!("Content-Length: {length}\r\n\r\n{{}}");
        check(
            bytes.as_bytes(),
            &[&format!("broken: broken Content-Length framing: Content-Length is \"{length}\"")],
        );
    }
    check(
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        &["broken: broken Content-Length framing: two Content-Length headers, 2 and 3"],
    );
    check(
        b"Content-Type: x\r\n\r\n{}",
        &["broken: broken Content-Length framing: the headers have no Content-Length"],
    );
    check(b"Content-Length: 5\r\n\r\n{}", &["broken: the input ended inside a Content-Length frame"]);
    let endless = [&b"Content-Length: 2\r\nX: "[..], &[b'x'; 9000]].concat();
    let (words, raw) = decode(&endless, 64, &[]);
    assert_eq!(words, ["broken: broken Content-Length framing: the header block is longer than 8192 bytes"]);
    assert_eq!(raw, endless);
}

#[test]
fn a_long_body_is_skipped_and_an_absurd_one_ends_the_stream() {
    let too_large = "broken: the frame is too large: the limit is 64 bytes";
    let long = [b"Content-Length: 100\r\n\r\n", &[b'x'; 100][..], b"Content-Length: 2\r\n\r\n{}"].concat();
    check(&long, &[too_large, "frame {}"]);
    check(b"Content-Length: 4294967296\r\n\r\n{}", &[too_large]);
}

#[test]
fn a_frame_is_sealed_in_either_framing() {
    let mut out = b"before".to_vec();
    out.extend_from_slice("\"é\"".as_bytes());
    Framing::ContentLength.seal(&mut out, 6);
    assert_eq!(out, "beforeContent-Length: 4\r\n\r\n\"é\"".as_bytes());
    Framing::Line.seal(&mut out, 0);
    assert!(out.ends_with(b"\"\n"));
}

fn streams() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        any::<Vec<u8>>(),
        prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'{'), Just(b'x')], 0..200),
        Just(b"Content-Length: 2\r\n\r\n{}".to_vec()),
        Just(b"content-length: 70\n\n".to_vec()),
        Just(b"{}\n".to_vec()),
        Just(b"\r\n".to_vec()),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

use proptest::prelude::Just;

proptest! {
    #[test]
    fn frames_are_the_same_however_the_bytes_are_split(bytes in streams(), mut cuts in prop::collection::vec(0..900usize, 0..8)) {
        cuts.sort_unstable();
        let (whole, raw) = decode(&bytes, 64, &[]);
        prop_assert_eq!(&raw, &bytes);
        let (split, raw) = decode(&bytes, 64, &cuts);
        prop_assert_eq!(raw, bytes);
        prop_assert_eq!(split, whole);
    }
}
