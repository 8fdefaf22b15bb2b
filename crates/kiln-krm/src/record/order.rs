//! The order in which go-yaml writes the keys of a map: digits by number, letters after what is not a letter.

/// Whether go-yaml writes `left` before `right`.
pub(super) fn is_before(left: &str, right: &str) -> bool {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let Some(place) = left.iter().zip(&right).position(|(a, b)| a != b) else {
        return left.len() < right.len();
    };
    let (Some(a), Some(b)) = (left.get(place).copied(), right.get(place).copied()) else {
        return false;
    };
    match (a.is_alphabetic(), b.is_alphabetic()) {
        (true, true) => return a < b,
        (true, false) | (false, true) => {
            // Right after a digit a letter comes first, elsewhere last.
            let follows_digit = place > 0 && left.get(place - 1).is_some_and(|c| is_digit(*c));
            return a.is_alphabetic() == follows_digit;
        }
        (false, false) => {}
    }
    // A run of digits that differs in its zeros continues a number that began before.
    let continues = (a == '0' || b == '0')
        && left
            .iter()
            .take(place)
            .rev()
            .take_while(|c| is_digit(**c))
            .any(|c| *c != '0');
    let start = i64::from(continues);
    let (left_number, left_len) = number(&left, place, start);
    let (right_number, right_len) = number(&right, place, start);
    (left_number, left_len, a) < (right_number, right_len, b)
}

/// The number that the digits from `place` on spell behind `start`, and how many they are.
fn number(text: &[char], place: usize, start: i64) -> (i64, usize) {
    let digits = text.iter().skip(place).take_while(|c| is_digit(**c));
    let mut count = 0;
    let value = digits.fold(start, |value, digit| {
        count += 1;
        let digit = i64::from(*digit as u32) - i64::from(b'0');
        value.wrapping_mul(10).wrapping_add(digit)
    });
    (value, count)
}

/// Decimal digits; beyond ASCII, numbers of other kinds are rare enough in keys to be taken for digits too.
fn is_digit(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_digit()
    } else {
        c.is_numeric()
    }
}

/// A stable sort that bears with an order that contradicts itself, as one with overflowing numbers can.
pub(super) fn sort<T: Copy>(items: &mut Vec<T>, is_before: impl Fn(&T, &T) -> bool) {
    let mut width = 1;
    while width < items.len() {
        let mut merged = Vec::with_capacity(items.len());
        for pair in items.chunks(width * 2) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let (Some((a, rest_left)), Some((b, rest_right))) =
                (left.split_first(), right.split_first())
            {
                if is_before(b, a) {
                    merged.push(*b);
                    right = rest_right;
                } else {
                    merged.push(*a);
                    left = rest_left;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        *items = merged;
        width *= 2;
    }
}
