//! Properties of the parsers: they find the same requests and replies regardless of how the bytes
//! are split, do not panic and do not read beyond the input.

use proptest::collection::vec;
use proptest::prelude::*;
use resp::{Limits, ProtocolError, ReplyScanner, RequestParser, encode, slot};

/// Returns all requests in `bytes`, fed in pieces of the sizes `cuts`, and the error that ended
/// parsing, if any.
fn requests(bytes: &[u8], cuts: &[usize]) -> (Vec<Vec<Vec<u8>>>, Option<ProtocolError>) {
    let limits = Limits { bulk: 1 << 16, args: 1000, request: 1 << 17 };
    let mut parser = RequestParser::default();
    let (mut found, mut buffer, mut rest) = (Vec::new(), Vec::new(), bytes);
    let mut cuts = cuts.iter().cycle();
    while !rest.is_empty() {
        let n = cuts.next().map_or(rest.len(), |&cut| cut.clamp(1, rest.len()));
        buffer.extend_from_slice(&rest[..n]);
        rest = &rest[n..];
        loop {
            match parser.parse(&buffer, &limits) {
                Ok(Some(len)) => {
                    assert!(len > 0 && len <= buffer.len());
                    let args = parser.args(&buffer[..len]);
                    if !args.is_empty() {
                        found.push(args.iter().map(<[u8]>::to_vec).collect());
                    }
                    buffer.drain(..len);
                }
                Ok(None) => break,
                Err(error) => return (found, Some(error)),
            }
        }
    }
    (found, None)
}

fn replies(bytes: &[u8], cuts: &[usize]) -> (Vec<Vec<u8>>, Option<ProtocolError>) {
    let mut scanner = ReplyScanner::default();
    let (mut found, mut buffer, mut rest) = (Vec::new(), Vec::new(), bytes);
    let mut cuts = cuts.iter().cycle();
    while !rest.is_empty() {
        let n = cuts.next().map_or(rest.len(), |&cut| cut.clamp(1, rest.len()));
        buffer.extend_from_slice(&rest[..n]);
        rest = &rest[n..];
        loop {
            match scanner.scan(&buffer) {
                Ok(Some(len)) => {
                    assert!(len > 0 && len <= buffer.len());
                    found.push(buffer.drain(..len).collect());
                }
                Ok(None) => break,
                Err(error) => return (found, Some(error)),
            }
        }
    }
    (found, None)
}

fn frame() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        vec(any::<u8>(), 0..40).prop_map(|bytes| {
            let mut out = Vec::new();
            encode::bulk(&mut out, &bytes);
            out
        }),
        any::<i64>().prop_map(|n| format!(":{n}\r\n").into_bytes()),
        "[+-][ -~]{0,30}".prop_map(|line| (line + "\r\n").into_bytes()),
        Just(b"$-1\r\n".to_vec()),
        Just(b"*-1\r\n".to_vec()),
        Just(b"_\r\n".to_vec()),
        Just(b"#t\r\n".to_vec()),
        Just(b",3.14\r\n".to_vec()),
        Just(b"(12345678901234567890\r\n".to_vec()),
        Just(b"=7\r\ntxt:abc\r\n".to_vec()),
    ];
    leaf.prop_recursive(4, 64, 6, |inner| {
        (prop_oneof![Just(b'*'), Just(b'~'), Just(b'>'), Just(b'%'), Just(b'|')], vec(inner, 0..6)).prop_map(
            |(kind, mut items)| {
                if matches!(kind, b'%' | b'|') && items.len() % 2 == 1 {
                    items.pop();
                }
                let n = if matches!(kind, b'%' | b'|') { items.len() / 2 } else { items.len() };
                let mut out = format!("{}{n}\r\n", char::from(kind)).into_bytes();
                out.extend(items.concat());
                if kind == b'|' {
                    out.extend_from_slice(b"+described\r\n");
                }
                out
            },
        )
    })
}

proptest! {
    #[test]
    fn encoded_commands_are_parsed_back(
        commands in vec(vec(vec(any::<u8>(), 0..50), 1..8), 0..20),
        cuts in vec(1usize..30, 1..20),
    ) {
        let mut bytes = Vec::new();
        for args in &commands {
            encode::command(&mut bytes, args.iter().map(Vec::as_slice));
        }
        prop_assert_eq!(requests(&bytes, &cuts), (commands, None));
    }

    #[test]
    fn accepted_requests_reparse_to_the_same_request(bytes in near_request()) {
        let limits = Limits { bulk: 1 << 16, args: 1000, request: 1 << 17 };
        let (mut parser, mut rest) = (RequestParser::default(), &bytes[..]);
        while let Ok(Some(len)) = parser.parse(rest, &limits) {
            let args = parser.args(&rest[..len]);
            let words: Vec<_> = args.iter().map(<[u8]>::to_vec).collect();
            // An empty request is not forwarded.
            if !words.is_empty() {
                let mut canonical = Vec::new();
                encode::command(&mut canonical, words.iter().map(Vec::as_slice));
                prop_assert_eq!(args.raw, &canonical[..]);
                prop_assert_eq!(requests(args.raw, &[]), (vec![words], None));
            }
            rest = &rest[len..];
        }
    }

    #[test]
    fn nested_replies_have_the_correct_length(frames in vec(frame(), 0..10), cuts in vec(1usize..30, 1..20)) {
        prop_assert_eq!(replies(&frames.concat(), &cuts), (frames, None));
    }

    #[test]
    fn items_returns_every_value_of_an_array(frames in vec(frame(), 0..10)) {
        let mut whole = Vec::new();
        encode::array(&mut whole, frames.len());
        whole.extend(frames.concat());
        prop_assert_eq!(resp::items(&whole).unwrap(), frames);
    }

    #[test]
    fn splitting_the_input_does_not_change_the_result(bytes in near_protocol(), cuts in vec(1usize..30, 1..20)) {
        prop_assert_eq!(requests(&bytes, &[bytes.len()]), requests(&bytes, &cuts));
        prop_assert_eq!(replies(&bytes, &[bytes.len()]), replies(&bytes, &cuts));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in vec(any::<u8>(), 0..500)) {
        requests(&bytes, &[7]);
        replies(&bytes, &[7]);
        let _ = (resp::items(&bytes), resp::text(&bytes), resp::integer(&bytes));
        prop_assert!(slot::of_key(&bytes) < slot::SLOTS);
    }
}

/// Requests in which a few bytes were changed, so that lengths and terminators are sometimes
/// invalid.
fn near_request() -> impl Strategy<Value = Vec<u8>> {
    let count = prop_oneof![8 => Just(""), 1 => Just("0"), 1 => Just("+"), 1 => Just("-"), 1 => Just(" ")];
    let argument = (count.clone(), vec(any::<u8>(), 0..6), terminator(), terminator()).prop_map(
        |(sign, bytes, first, second)| {
            [b"$", sign.as_bytes(), bytes.len().to_string().as_bytes(), first, &bytes, second].concat()
        },
    );
    let request = (count, vec(argument, 0..4), terminator()).prop_map(|(sign, arguments, end)| {
        let head = [b"*", sign.as_bytes(), arguments.len().to_string().as_bytes(), end].concat();
        [head, arguments.concat()].concat()
    });
    let inline =
        ("[a-z \"'\\\\x]{0,12}", terminator()).prop_map(|(line, end)| [line.as_bytes(), end].concat());
    vec(prop_oneof![4 => request, 1 => inline], 0..6).prop_map(|requests| requests.concat())
}

fn terminator() -> impl Strategy<Value = &'static [u8]> {
    prop_oneof![20 => Just(&b"\r\n"[..]), 1 => Just(&b"\n"[..]), 1 => Just(&b"\rX"[..]), 1 => Just(&b"XX"[..])]
}

/// Protocol fragments in any order, so that the parsers get beyond the first byte.
fn near_protocol() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop_oneof![Just("*"), Just("$"), Just("%"), Just("|"), Just(">"), Just("~"), Just("+"), Just("-"), Just(":")]
            .prop_map(|text| text.as_bytes().to_vec()),
        4 => (0u32..12).prop_map(|n| n.to_string().into_bytes()),
        1 => Just(b"-1".to_vec()),
        1 => Just(b"99999999999999999999".to_vec()),
        6 => Just(b"\r\n".to_vec()),
        1 => Just(b"\n".to_vec()),
        1 => Just(b"\r".to_vec()),
        2 => vec(any::<u8>(), 0..12),
        1 => Just(b"\"a b\" 'c".to_vec()),
    ];
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}
