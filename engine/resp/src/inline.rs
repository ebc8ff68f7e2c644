//! Inline commands: words on a line, quoted as the engine's `sdssplitargs` understands it.

use crate::encode;
use crate::error::ProtocolError;

/// Splits `line` and writes it to `out` as an array of bulk strings. `args` receives the position
/// of each argument in `out`.
pub(crate) fn split(line: &[u8], out: &mut Vec<u8>, args: &mut Vec<(u32, u32)>) -> Result<(), ProtocolError> {
    let words = words(line).ok_or(ProtocolError::UnbalancedQuotes)?;
    out.clear();
    args.clear();
    encode::array(out, words.len());
    for word in words {
        encode::bulk(out, &word);
        let end = out.len() - 2;
        args.push(((end - word.len()) as u32, end as u32));
    }
    Ok(())
}

fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = line.trim_ascii_start();
    // The engine handles the line as a C string, which a NUL byte ends.
    while !rest.is_empty() && rest[0] != 0 {
        let (word, after) = next(rest)?;
        words.push(word);
        rest = after.trim_ascii_start();
    }
    Some(words)
}

fn next(line: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut word = Vec::new();
    let mut i = 0;
    loop {
        match line.get(i) {
            None | Some(b' ' | b'\t' | b'\r' | b'\n' | 0) => return Some((word, &line[i..])),
            Some(b'"') => i = double_quoted(line, i + 1, &mut word)?,
            Some(b'\'') => i = single_quoted(line, i + 1, &mut word)?,
            Some(&other) => {
                word.push(other);
                i += 1;
            }
        }
    }
}

fn double_quoted(line: &[u8], mut i: usize, word: &mut Vec<u8>) -> Option<usize> {
    loop {
        match *line.get(i)? {
            b'"' => return closed(line, i + 1),
            b'\\' => i = escape(line, i + 1, word)?,
            other => {
                word.push(other);
                i += 1;
            }
        }
    }
}

fn escape(line: &[u8], i: usize, word: &mut Vec<u8>) -> Option<usize> {
    let hex = |at: usize| line.get(at).and_then(|&b| char::from(b).to_digit(16));
    if let (Some(b'x'), Some(high), Some(low)) = (line.get(i), hex(i + 1), hex(i + 2)) {
        word.push((high * 16 + low) as u8);
        return Some(i + 3);
    }
    word.push(match *line.get(i)? {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'a' => 7,
        other => other,
    });
    Some(i + 1)
}

fn single_quoted(line: &[u8], mut i: usize, word: &mut Vec<u8>) -> Option<usize> {
    loop {
        match *line.get(i)? {
            b'\'' => return closed(line, i + 1),
            b'\\' if line.get(i + 1) == Some(&b'\'') => {
                word.push(b'\'');
                i += 2;
            }
            other => {
                word.push(other);
                i += 1;
            }
        }
    }
}

/// A closing quote must be followed by a space or the end of the line.
fn closed(line: &[u8], i: usize) -> Option<usize> {
    line.get(i).is_none_or(|b| b.is_ascii_whitespace() || *b == 0).then_some(i)
}

#[cfg(test)]
mod tests {
    use super::words;

    fn split(line: &str) -> Option<Vec<String>> {
        Some(words(line.as_bytes())?.into_iter().map(|w| String::from_utf8(w).unwrap()).collect())
    }

    #[test]
    fn quotes_and_escapes() {
        assert_eq!(split("  set  a b "), Some(vec!["set".into(), "a".into(), "b".into()]));
        assert_eq!(split(r#"a "b c" 'd e'"#), Some(vec!["a".into(), "b c".into(), "d e".into()]));
        assert_eq!(split(r#""\x41\n\"" '\''"#), Some(vec!["A\n\"".into(), "'".into()]));
        assert_eq!(split(r#"a"b""#), Some(vec!["ab".into()]));
        assert_eq!(split(r#"a "b"#), None);
        assert_eq!(split(r#""a"b"#), None);
        assert_eq!(split(""), Some(vec![]));
    }
}
