//! Go's `fmt.Sprintf` for the arguments that OPA passes: integers, other numbers and strings; every other value has
//! been converted to a string.

use kiln_go::quote;
use regorus::Value;

use super::bounded::BuiltinResult;
use super::limits::{Meter, OverLimit};

enum FormatArgument {
    Int(i64),
    Float(f64),
    Text(String),
}

#[derive(Default)]
struct FormatFlags {
    minus: bool,
    plus: bool,
    sharp: bool,
    zero: bool,
    space: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// Larger widths are cut.
const MAX_WIDTH: usize = 10_000;

/// `sprintf` of Rego.
pub(super) fn call(format: &Value, values: &Value, meter: &Meter) -> BuiltinResult {
    let (Value::String(format), Value::Array(values)) = (format, values) else {
        return Ok(None);
    };
    let mut size = format.len() as u64;
    for value in values.iter() {
        let value = meter.size(value)?.printable(meter)?;
        // Quoting can turn one byte into ten, and parts have separators.
        size += value.text * 10 + value.parts * 4;
    }
    meter.fits(size)?;
    let text = sprintf(format, values.iter(), |length| meter.fits(length as u64))?;
    Ok(Some(Value::from(text)))
}

/// The text, unless `fits` rejects its length.
fn sprintf<'a>(
    format: &str,
    values: impl IntoIterator<Item = &'a Value>,
    fits: impl Fn(usize) -> Result<(), OverLimit>,
) -> Result<String, OverLimit> {
    let mut arguments = values.into_iter().map(argument);
    let mut text = String::new();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        let mut flags = FormatFlags::default();
        while let Some(flag) = chars.next_if(|c| "-+# 0".contains(*c)) {
            match flag {
                '-' => flags.minus = true,
                '+' => flags.plus = true,
                '#' => flags.sharp = true,
                ' ' => flags.space = true,
                _ => flags.zero = true,
            }
        }
        let number = |chars: &mut std::iter::Peekable<std::str::Chars<'_>>| {
            let mut number = None;
            while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                let digit = digit.to_digit(10).unwrap_or_default() as usize;
                number = Some((number.unwrap_or(0) * 10 + digit).min(MAX_WIDTH));
            }
            number
        };
        flags.width = number(&mut chars);
        if chars.next_if_eq(&'.').is_some() {
            flags.precision = Some(number(&mut chars).unwrap_or(0));
        }
        match chars.next() {
            None => text.push_str("%!(NOVERB)"),
            Some('%') => text.push('%'),
            Some(verb) => match arguments.next() {
                None => text.push_str(&format!("%!{verb}(MISSING)")),
                Some(argument) => {
                    text.push_str(&formatted(&argument, verb, &flags));
                    fits(text.len())?;
                }
            },
        }
    }
    let extra: Vec<String> = arguments.map(|argument| described(&argument)).collect();
    if !extra.is_empty() {
        text.push_str(&format!("%!(EXTRA {})", extra.join(", ")));
    }
    Ok(text)
}

/// Numbers and strings stay as they are; every other value is written as Rego.
fn argument(value: &Value) -> FormatArgument {
    match value {
        Value::String(text) => FormatArgument::Text(text.to_string()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => FormatArgument::Int(number),
            (None, Some(number)) => FormatArgument::Float(number),
            (None, None) => FormatArgument::Text(value.to_string()),
        },
        value => FormatArgument::Text(term(value)),
    }
}

/// A value as Rego. Its size and depth were checked.
fn term(value: &Value) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match value {
        Value::String(text) => quote(text),
        Value::Array(items) => format!("[{}]", list(items.iter().map(term).collect())),
        Value::Set(items) if items.is_empty() => "set()".to_owned(),
        Value::Set(items) => format!("{{{}}}", list(items.iter().map(term).collect())),
        Value::Object(fields) => {
            let field =
                |(name, value): (&Value, &Value)| format!("{}: {}", term(name), term(value));
            format!("{{{}}}", list(fields.iter().map(field).collect()))
        }
        value => value.to_string(),
    }
}

fn formatted(argument: &FormatArgument, verb: char, flags: &FormatFlags) -> String {
    let signed = |negative: bool| match (negative, flags.plus, flags.space) {
        (true, ..) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        (false, false, false) => "",
    };
    let (sign, digits) = match (argument, verb) {
        (FormatArgument::Text(text), 's' | 'v' | 'q' | 'x' | 'X') => {
            return padded(&string(text, verb, flags), flags);
        }
        (FormatArgument::Int(number), _) => {
            let magnitude = number.unsigned_abs();
            let digits = match verb {
                'd' | 'v' => magnitude.to_string(),
                'b' => format!("{magnitude:b}"),
                'o' if flags.sharp => format!("0{magnitude:o}"),
                'o' => format!("{magnitude:o}"),
                'O' => format!("0o{magnitude:o}"),
                'x' if flags.sharp => format!("0x{magnitude:x}"),
                'x' => format!("{magnitude:x}"),
                'X' if flags.sharp => format!("0X{magnitude:X}"),
                'X' => format!("{magnitude:X}"),
                'U' => return padded(&format!("U+{magnitude:04X}"), flags),
                'c' | 'q' => {
                    let c = u32::try_from(*number).ok().and_then(char::from_u32);
                    let c = c.unwrap_or('\u{fffd}');
                    let text = if verb == 'c' {
                        c.to_string()
                    } else {
                        format!("{c:?}")
                    };
                    return padded(&text, flags);
                }
                _ => return wrong(argument, verb),
            };
            (signed(*number < 0), digits)
        }
        (FormatArgument::Float(number), 'v' | 'g' | 'G' | 'e' | 'E' | 'f' | 'F') => {
            (signed(*number < 0.0), float(number.abs(), verb, flags))
        }
        _ => return wrong(argument, verb),
    };
    let width = flags.width.unwrap_or(0);
    let length = sign.len() + digits.len();
    match flags.zero && !flags.minus && length < width {
        true => format!("{sign}{}{digits}", "0".repeat(width - length)),
        false => padded(&format!("{sign}{digits}"), flags),
    }
}

fn string(text: &str, verb: char, flags: &FormatFlags) -> String {
    let cut: String = match flags.precision {
        Some(precision) => text.chars().take(precision).collect(),
        None => text.to_owned(),
    };
    match verb {
        'q' => quote(&cut),
        'x' => cut.bytes().map(|byte| format!("{byte:02x}")).collect(),
        'X' => cut.bytes().map(|byte| format!("{byte:02X}")).collect(),
        _ => cut,
    }
}

fn float(number: f64, verb: char, flags: &FormatFlags) -> String {
    let scientific = |text: String| {
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        format!("{digits}e{sign}{exponent:0>2}")
    };
    let text = match (verb, flags.precision) {
        ('f' | 'F', precision) => format!("{number:.*}", precision.unwrap_or(6)),
        ('e' | 'E', precision) => scientific(format!("{number:.*e}", precision.unwrap_or(6))),
        (_, None) if number != 0.0 && !(1e-4..1e21).contains(&number) => {
            scientific(format!("{number:e}"))
        }
        (_, None) => number.to_string(),
        (_, Some(precision)) => {
            // The number of significant digits.
            let rounded = format!("{number:.*e}", precision.saturating_sub(1));
            rounded.parse::<f64>().unwrap_or(number).to_string()
        }
    };
    match verb {
        'E' | 'G' => text.to_uppercase(),
        _ => text,
    }
}

fn padded(text: &str, flags: &FormatFlags) -> String {
    let missing = flags
        .width
        .unwrap_or(0)
        .saturating_sub(text.chars().count());
    let fill = " ".repeat(missing);
    match flags.minus {
        true => format!("{text}{fill}"),
        false => format!("{fill}{text}"),
    }
}

/// Go's text for a verb that does not match its argument.
fn wrong(argument: &FormatArgument, verb: char) -> String {
    format!("%!{verb}({})", described(argument))
}

fn described(argument: &FormatArgument) -> String {
    match argument {
        FormatArgument::Int(number) => format!("int={number}"),
        FormatArgument::Float(number) => format!("float64={}", float_text(*number)),
        FormatArgument::Text(text) => format!("string={text}"),
    }
}

fn float_text(number: f64) -> String {
    formatted(&FormatArgument::Float(number), 'v', &FormatFlags::default())
}

#[cfg(test)]
mod tests {
    use super::sprintf;
    use regorus::Value;

    /// The texts are Go's.
    #[test]
    fn formats_are_those_of_go() {
        let values = |json: &str| match Value::from_json_str(json).unwrap() {
            Value::Array(items) => items.iter().cloned().collect::<Vec<_>>(),
            _ => Vec::new(),
        };
        for (format, arguments, expect) in [
            ("%v %s %d", r#"["a", "b", 3]"#, "a b 3"),
            (
                "%v",
                r#"[{"a": [1, "x", null, 1.5]}]"#,
                r#"{"a": [1, "x", null, 1.5]}"#,
            ),
            ("%d|%s", r#"["5", 5]"#, "%!d(string=5)|%!s(int=5)"),
            ("%t", "[true]", "%!t(string=true)"),
            ("%v %v", "[1]", "1 %!v(MISSING)"),
            ("%v", "[1, 2.5, \"x\"]", "1%!(EXTRA float64=2.5, string=x)"),
            (
                "%5d|%-5s|%05d|%+d|%x|%X",
                r#"[3, "ab", 42, 7, 255, 255]"#,
                "    3|ab   |00042|+7|ff|FF",
            ),
            (
                "%.2f %v %e %g",
                "[1.005, 1e21, 12.5, 1e-7]",
                "1.00 1e+21 1.250000e+01 1e-07",
            ),
            ("%q %x %.1s", r#"["a\"b", "hi", "xyz"]"#, r#""a\"b" 6869 x"#),
            ("100%% %", "[]", "100% %!(NOVERB)"),
        ] {
            let text = sprintf(format, &values(arguments), |_| Ok(()));
            assert_eq!(text.as_deref(), Ok(expect), "{format}");
        }
    }
}
