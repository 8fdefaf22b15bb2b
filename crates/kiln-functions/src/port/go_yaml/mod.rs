//! How go-yaml writes values that were not parsed from text: which strings it quotes, and the order of map keys.

pub(crate) mod duplicate_keys;

use std::cmp::Ordering;

use kiln_krm::record::{is_base_60, is_old_bool};
use kiln_yaml::Document;

/// Compares two string keys. Numbers in them are compared by value: `a2` comes before `a10`.
pub(crate) fn compare_keys(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut after_digit = false;
    for (place, (x, y)) in a.iter().zip(&b).enumerate() {
        if x == y {
            after_digit = is_digit(*x);
            continue;
        }
        return match (x.is_alphabetic(), y.is_alphabetic()) {
            (true, true) => x.cmp(y),
            // A number ends before a letter; otherwise letters come last.
            (true, false) if after_digit => Ordering::Less,
            (false, true) if after_digit => Ordering::Greater,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare_numbers(&a, &b, place),
        };
    }
    a.len().cmp(&b.len())
}

/// Compares the rest from `place` on, where neither is a letter.
fn compare_numbers(a: &[char], b: &[char], place: usize) -> Ordering {
    let at = |chars: &[char]| chars.get(place).copied().unwrap_or('\0');
    let mut start = 0;
    if at(a) == '0' || at(b) == '0' {
        let before = a.get(..place).unwrap_or_default().iter().rev();
        let mut digits = before.take_while(|char| is_digit(**char));
        start = i64::from(digits.any(|digit| *digit != '0'));
    }
    let number = |chars: &[char]| {
        let digits = chars.get(place..).unwrap_or_default().iter();
        let digits = digits.take_while(|char| is_digit(**char));
        digits.fold((start, 0usize), |(number, length), digit| {
            let digit = i64::from(u32::from(*digit)) - i64::from(u32::from('0'));
            (number.wrapping_mul(10).wrapping_add(digit), length + 1)
        })
    };
    number(a).cmp(&number(b)).then_with(|| at(a).cmp(&at(b)))
}

fn is_digit(char: char) -> bool {
    char.is_ascii_digit()
}

/// Whether go-yaml v3 quotes the text: it, or a parser of YAML 1.1, would not read it as a string.
pub(crate) fn is_other(text: &str) -> bool {
    // Most texts begin with a letter that begins no other type.
    let may_be = text.bytes().next().is_none_or(|first| {
        matches!(first, b'0'..=b'9' | b'.' | b'+' | b'-' | b'~' | b'<')
            || b"nNyYtTfFoO".contains(&first)
    });
    may_be && (is_old_bool(text) || is_base_60(text) || !is_string(text))
}

fn is_string(text: &str) -> bool {
    let mut document = Document::new_mapping();
    let node = document.new_scalar(text, "");
    document.node(node).tag() == "!!str"
}
