//! Inline commands: words on a line, quoted as `sdssplitargs` of Valkey 9.1 understands it.

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
    let mut rest = skip_blanks(line);
    while !rest.is_empty() {
        let (word, after) = next(rest)?;
        words.push(word);
        rest = skip_blanks(after);
    }
    Some(words)
}

/// Skips what `isspace` accepts, which includes the vertical tab.
fn skip_blanks(line: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| matches!(byte, b'\t'..=b'\r' | b' ');
    &line[line.iter().take_while(|byte| is_blank(byte)).count()..]
}

/// Returns the first word without its quotes, and the rest of the line. `None`: a quote is not
/// closed.
fn next(line: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut word = Vec::new();
    let mut open = None;
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        at += 1;
        match (open, byte) {
            (None, b' ' | b'\t' | b'\r' | b'\n') => return Some((word, &line[at..])),
            (None, b'"' | b'\'') => open = Some(byte),
            (Some(quote), _) if byte == quote => open = None,
            (Some(b'"'), b'\\') => at += escape(&line[at..], &mut word),
            (Some(b'\''), b'\\') if line[at..].starts_with(b"'") && line.len() > at + 1 => {
                word.push(b'\'');
                at += 1;
            }
            _ => word.push(byte),
        }
    }
    open.is_none().then_some((word, &[]))
}

/// Appends the character that follows a backslash, and returns its length in the line. As in the
/// engine, a backslash is an ordinary character unless something follows the escape sequence.
fn escape(rest: &[u8], word: &mut Vec<u8>) -> usize {
    let hex = |byte: u8| char::from(byte).to_digit(16);
    if let [b'x', high, low, _, ..] = *rest {
        if let (Some(high), Some(low)) = (hex(high), hex(low)) {
            word.push((high * 16 + low) as u8);
            return 3;
        }
    }
    let [byte, _, ..] = *rest else {
        word.push(b'\\');
        return 0;
    };
    word.push(match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'a' => 7,
        other => other,
    });
    1
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
        assert_eq!(split("a 'b"), None);
        assert_eq!(split(r#""a"b'c'"#), Some(vec!["abc".into()]));
        assert_eq!(split(r#"a "\""#), Some(vec!["a".into(), "\\".into()]));
        assert_eq!(split(r"a '\'"), Some(vec!["a".into(), "\\".into()]));
        assert_eq!(split("\x0ba\x0b\x0c \x0b b"), Some(vec!["a\x0b\x0c".into(), "b".into()]));
        assert_eq!(split(r#"a "" ''"#), Some(vec!["a".into(), "".into(), "".into()]));
        assert_eq!(split(r#"a "b\"#), None);
        assert_eq!(split(""), Some(vec![]));
    }
}
