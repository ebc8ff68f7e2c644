//! values -> bytes.

/// Appends `value` in decimal. Formatting it with `fmt` would be a considerable part of the cost of
/// writing a request.
#[inline]
pub fn decimal(out: &mut Vec<u8>, value: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = value;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

fn counted(out: &mut Vec<u8>, kind: u8, n: usize) {
    out.push(kind);
    decimal(out, n as u64);
    out.extend_from_slice(b"\r\n");
}

/// The header of an array of `n` values.
pub fn array(out: &mut Vec<u8>, n: usize) {
    counted(out, b'*', n);
}

/// The header of a RESP3 map of `n` pairs.
pub fn map(out: &mut Vec<u8>, n: usize) {
    counted(out, b'%', n);
}

pub fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    counted(out, b'$', bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

pub fn integer(out: &mut Vec<u8>, value: i64) {
    out.push(b':');
    if value < 0 {
        out.push(b'-');
    }
    decimal(out, value.unsigned_abs());
    out.extend_from_slice(b"\r\n");
}

pub fn simple(out: &mut Vec<u8>, text: &str) {
    out.push(b'+');
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Appends an error reply. Line breaks in `text` would end the reply, so they become spaces, as in
/// the engine.
pub fn error(out: &mut Vec<u8>, text: &str) {
    out.push(b'-');
    out.extend(text.bytes().map(|b| if matches!(b, b'\r' | b'\n') { b' ' } else { b }));
    out.extend_from_slice(b"\r\n");
}

/// Appends a request: an array of bulk strings.
pub fn command<'a>(out: &mut Vec<u8>, args: impl ExactSizeIterator<Item = &'a [u8]>) {
    array(out, args.len());
    for arg in args {
        bulk(out, arg);
    }
}
