//! Numbers as Go prints them.

/// The shortest text of a number, with an exponent below 1e-4 and from 1e6 on.
pub(crate) fn shortest(number: f64) -> String {
    of_scientific(&format!("{number:e}"))
}

/// The same for a number with 32-bit precision.
pub(super) fn shortest_32(number: f64) -> String {
    of_scientific(&format!("{:e}", number as f32))
}

fn of_scientific(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text.to_owned();
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..6).contains(&exponent) && number_is_not_zero(mantissa) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", mantissa),
    };
    let digits: String = digits.chars().filter(|c| *c != '.').collect();
    let point = exponent + 1;
    let placed = match usize::try_from(point) {
        Ok(point) if point > 0 => match (digits.get(..point), digits.get(point..)) {
            (Some(whole), Some(fraction)) if !fraction.is_empty() => format!("{whole}.{fraction}"),
            _ => format!("{digits:0<point$}"),
        },
        _ => {
            let zeros = usize::try_from(-point).unwrap_or_default();
            format!("0.{}{digits}", "0".repeat(zeros))
        }
    };
    format!("{sign}{placed}")
}

fn number_is_not_zero(mantissa: &str) -> bool {
    mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'))
}

#[cfg(test)]
mod tests {
    use super::{shortest, shortest_32};

    #[test]
    fn numbers_have_exponents_where_go_has_them() {
        for (number, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (-12.5, "-12.5"),
            (100_000.0, "100000"),
            (999_999.5, "999999.5"),
            (1_000_000.0, "1e+06"),
            (1_000_660_000.0, "1.00066e+09"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (1e300, "1e+300"),
            (0.5, "0.5"),
        ] {
            assert_eq!(shortest(number), text);
        }
        assert_eq!(shortest_32(1_000_000.5), "1.0000005e+06");
        assert_eq!(shortest_32(0.1), "0.1");
    }
}
