//! Glob patterns of the engine: `*`, `?`, `[a-z]`, `[^a]` and `\`.

/// Whether the complete text matches.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Positions after the last star, and in the text where it ends. Only the last star needs to be
    // extended, so the time is bounded by the product of both lengths.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            p += 1;
            star = Some((p, t));
        } else if let Some(next) = one(pattern, p, text[t]) {
            p = next;
            t += 1;
        } else if let Some((after, at)) = star {
            p = after;
            t = at + 1;
            star = Some((after, t));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

/// Returns the position after the element at `p` if it matches the byte.
fn one(pattern: &[u8], p: usize, byte: u8) -> Option<usize> {
    match *pattern.get(p)? {
        b'?' => Some(p + 1),
        b'[' => class(pattern, p + 1, byte),
        b'\\' if p + 1 < pattern.len() => (pattern[p + 1] == byte).then_some(p + 2),
        literal => (literal == byte).then_some(p + 1),
    }
}

fn class(pattern: &[u8], start: usize, byte: u8) -> Option<usize> {
    let is_negated = pattern.get(start) == Some(&b'^');
    let mut p = start + usize::from(is_negated);
    let mut is_member = false;
    // Without a closing bracket the class ends with the pattern.
    while p < pattern.len() && pattern[p] != b']' {
        if pattern[p] == b'\\' && p + 1 < pattern.len() {
            is_member |= pattern[p + 1] == byte;
            p += 2;
        } else if pattern.get(p + 1) == Some(&b'-') && p + 2 < pattern.len() {
            let (a, b) = (pattern[p], pattern[p + 2]);
            is_member |= (a.min(b)..=a.max(b)).contains(&byte);
            p += 3;
        } else {
            is_member |= pattern[p] == byte;
            p += 1;
        }
    }
    (is_member != is_negated).then_some((p + 1).min(pattern.len()))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        let cases = [
            ("*", "", true),
            ("user:*", "user:1", true),
            ("user:*", "users:1", false),
            ("*:1", "a:1:1", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("h?llo", "hello", true),
            ("h?llo", "hllo", false),
            ("h[ae]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-c]llo", "hbllo", true),
            ("h[c-a]llo", "hbllo", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("[\\]]", "]", true),
            ("[a", "a", true),
            ("", "", true),
            ("", "a", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_are_no_problem() {
        let pattern = "*a".repeat(50) + "b";
        assert!(!matches(pattern.as_bytes(), "a".repeat(5000).as_bytes()));
    }
}
