//! Values of single options: numbers, ratios, ranges, lists, addresses. Error messages state the
//! expected form.

use crate::keys::Pattern;
use crate::options::{Size, Target, Wave};

pub fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| "is not a number in the allowed range".into())
}

pub fn positive(text: &str) -> Result<u64, String> {
    match number(text)? {
        0 => Err("must be greater than 0".into()),
        value => Ok(value),
    }
}

pub fn real(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err("is not a number".into()),
    }
}

/// `a:b`.
pub fn ratio(text: &str) -> Result<(u64, u64), String> {
    let (left, right) = text.split_once(':').ok_or("is not a ratio such as 1:10")?;
    match (number(left)?, number(right)?) {
        (0, 0) => Err("generates no requests".into()),
        both => Ok(both),
    }
}

/// `min-max`.
pub fn range(text: &str) -> Result<(u64, u64), String> {
    let (low, high) = text.split_once('-').ok_or("is not a range such as 10-100")?;
    let (low, high) = (number(low)?, number(high)?);
    if low > high { Err("starts above its end".into()) } else { Ok((low, high)) }
}

/// `percent:seconds`.
pub fn wave(text: &str) -> Result<Wave, String> {
    let wrong = || "is not a wave such as 25:90 (1 to 90 percent, 1 to 86400 seconds)".to_owned();
    let (percent, seconds) = text.split_once(':').ok_or_else(wrong)?;
    match (number::<u64>(percent), number(seconds)) {
        (Ok(percent @ 1..=90), Ok(seconds @ 1..=86_400)) => {
            Ok(Wave { share: percent as f64 / 100.0, seconds })
        }
        _ => Err(wrong()),
    }
}

/// `size:weight,...`.
pub fn sizes(text: &str) -> Result<Size, String> {
    let mut list = Vec::new();
    for item in text.split(',') {
        let (size, weight) = item.split_once(':').ok_or("is not a list such as 100:70,500:30")?;
        list.push((number(size)?, positive(weight)?));
    }
    Ok(Size::List(list))
}

pub fn percentiles(text: &str) -> Result<Vec<f64>, String> {
    let values = text.split(',').map(real).collect::<Result<Vec<_>, _>>()?;
    match values.iter().all(|value| (0.0..=100.0).contains(value)) {
        true => Ok(values),
        false => Err("has a percentile outside 0 to 100".into()),
    }
}

pub fn pattern(text: &str) -> Result<Pattern, String> {
    match text {
        "R" => Ok(Pattern::Random),
        "S" => Ok(Pattern::Sequential),
        "P" => Ok(Pattern::Parallel),
        "G" => Ok(Pattern::Gaussian),
        "Z" => Ok(Pattern::Zipf),
        _ => Err("is not a key pattern; the patterns are R, S, P, G and Z".into()),
    }
}

/// One pattern for SETs and one for GETs.
pub fn patterns(text: &str) -> Result<(Pattern, Pattern), String> {
    let (set, get) = text.split_once(':').ok_or("is not a pair of key patterns such as R:R")?;
    match (pattern(set)?, pattern(get)?) {
        both if (both.0 == Pattern::Parallel) != (both.1 == Pattern::Parallel) => {
            Err("has P on only one side; P must be on both".into())
        }
        both => Ok(both),
    }
}

/// Splits a line into words like a shell: quotes of both kinds, and a backslash before a character.
pub fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', Some('"') | None) => {
                word.get_or_insert_default().push(letters.next().ok_or("ends with a backslash")?);
            }
            (_, Some(open)) if letter == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (_, None) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    match (quote, words.is_empty()) {
        (Some(_), _) => Err("has an unterminated quote".into()),
        (None, true) => Err("is not a command".into()),
        (None, false) => Ok(words),
    }
}

/// `avg:1` or `p99:2.5`, milliseconds.
pub fn target(text: &str) -> Result<Target, String> {
    let wrong = "is not a limit such as avg:1 or p99:1, in milliseconds";
    let (what, limit) = text.split_once(':').ok_or(wrong)?;
    let percentile = match what.strip_prefix('p') {
        _ if what == "avg" => None,
        Some(digits) => Some(real(digits)?).filter(|percentile| (0.0..=100.0).contains(percentile)),
        None => return Err(wrong.into()),
    };
    match real(limit.trim_end_matches("ms"))? {
        limit if limit > 0.0 => Ok(Target { percentile, micros: limit * 1_000.0 }),
        _ => Err(wrong.into()),
    }
}

/// `host:port`; IPv6 addresses in brackets.
pub fn address(text: &str) -> Result<(String, u16), String> {
    let (host, port) = text.rsplit_once(':').ok_or("is not an address of the form host:port")?;
    Ok((host.trim_start_matches('[').trim_end_matches(']').into(), number(port)?))
}

pub fn addresses(text: &str) -> Result<Vec<(String, u16)>, String> {
    text.split(',').map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_like_in_a_shell() {
        assert_eq!(
            words("hset __key__ \"a b\" 'c\"d' e\\ f").unwrap(),
            ["hset", "__key__", "a b", "c\"d", "e f"]
        );
        assert_eq!(words("set k ''").unwrap(), ["set", "k", ""]);
        assert!(words("get \"k").unwrap_err().contains("quote"));
        assert!(words("  ").is_err());
    }

    #[test]
    fn limits_apply_to_the_average_or_a_percentile() {
        assert_eq!(target("avg:1"), Ok(Target { percentile: None, micros: 1_000.0 }));
        assert_eq!(target("p99.9:0.5ms"), Ok(Target { percentile: Some(99.9), micros: 500.0 }));
        assert!(target("p99").is_err() && target("max:1").is_err() && target("avg:0").is_err());
    }
}
