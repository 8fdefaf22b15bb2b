//! Formats of strings, with the words of the library that kubeconform checks them with.

use kiln_go::{GoDuration, atoi, quote};

/// A format that is checked. Those of Kubernetes' own numbers (`int32`, `byte`, …) mean nothing to the library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Date,
    DateTime,
    Duration,
    Hostname,
    Ipv4,
    Ipv6,
    Time,
    Uuid,
}

/// What a name of a format stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Named {
    Known(Format),
    /// Not checked by the library either.
    Unchecked,
    /// Checked by the library, but not here.
    Missing,
}

impl Format {
    pub(super) fn named(name: &str) -> Named {
        Named::Known(match name {
            "date" => Format::Date,
            "date-time" => Format::DateTime,
            "duration" => Format::Duration,
            "hostname" => Format::Hostname,
            "ipv4" => Format::Ipv4,
            "ipv6" => Format::Ipv6,
            "time" => Format::Time,
            "uuid" => Format::Uuid,
            "json-pointer"
            | "relative-json-pointer"
            | "period"
            | "email"
            | "uri"
            | "iri"
            | "uri-reference"
            | "iri-reference"
            | "uri-template"
            | "semver"
            | "regex" => {
                return Named::Missing;
            }
            _ => return Named::Unchecked,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Date => "date",
            Format::DateTime => "date-time",
            Format::Duration => "duration",
            Format::Hostname => "hostname",
            Format::Ipv4 => "ipv4",
            Format::Ipv6 => "ipv6",
            Format::Time => "time",
            Format::Uuid => "uuid",
        }
    }

    /// Why a text is not of this format, or nothing if it is.
    pub(crate) fn fault(self, text: &str) -> Option<String> {
        let checked = match self {
            Format::Date => date(text),
            Format::DateTime => date_time(text),
            Format::Duration => duration(text),
            Format::Hostname => hostname(text),
            Format::Ipv4 => ipv4(text),
            Format::Ipv6 => ipv6(text),
            Format::Time => time(text),
            Format::Uuid => uuid(text),
        };
        checked.err()
    }
}

type Checked = Result<(), String>;

fn refuse_unless(holds: bool, fault: &str) -> Checked {
    match holds {
        true => Ok(()),
        false => Err(fault.to_owned()),
    }
}

/// A number of digits only.
fn number(text: &str) -> Option<u32> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_digits)
}

fn date(text: &str) -> Checked {
    let fault = |rest: &str, layout: &str| {
        format!(
            "parsing time {} as \"2006-01-02\": cannot parse {} as \"{layout}\"",
            quote(text),
            quote(rest)
        )
    };
    let year = text.get(..4).and_then(number);
    let Some(year) = year else {
        return Err(fault(text, "2006"));
    };
    let rest = text.get(4..).unwrap_or_default();
    let Some(rest) = rest.strip_prefix('-') else {
        return Err(fault(rest, "-"));
    };
    let Some(month) = rest.get(..2).and_then(number) else {
        return Err(fault(rest, "01"));
    };
    let out_of_range = |what: &str| format!("parsing time {}: {what} out of range", quote(text));
    if !(1..=12).contains(&month) {
        return Err(out_of_range("month"));
    }
    let rest = rest.get(2..).unwrap_or_default();
    let Some(rest) = rest.strip_prefix('-') else {
        return Err(fault(rest, "-"));
    };
    let Some(day) = rest.get(..2).and_then(number) else {
        return Err(fault(rest, "02"));
    };
    let extra = rest.get(2..).unwrap_or_default();
    if !extra.is_empty() {
        let (text, extra) = (quote(text), quote(extra));
        return Err(format!("parsing time {text}: extra text: {extra}"));
    }
    refuse_unless(
        (1..=days_in(year, month)).contains(&day),
        &out_of_range("day"),
    )
}

fn days_in(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn date_time(text: &str) -> Checked {
    refuse_unless(text.len() >= 20, "less than 20 characters long")?;
    let separator = text.as_bytes().get(10);
    refuse_unless(
        matches!(separator, Some(b't' | b'T')),
        "11th character must be t or T",
    )?;
    let halves = text.get(..10).zip(text.get(11..));
    let (day, clock) = halves.unwrap_or_default();
    date(day).map_err(|fault| format!("invalid date element: {fault}"))?;
    time(clock).map_err(|fault| format!("invalid time element: {fault}"))
}

fn time(text: &str) -> Checked {
    refuse_unless(text.len() >= 9, "less than 9 characters long")?;
    let colon = |at: usize| text.as_bytes().get(at) == Some(&b':');
    refuse_unless(colon(2) && colon(5), "missing colon in correct place")?;
    let part = |from: usize| text.get(from..from + 2).and_then(number);
    let (Some(hour), Some(minute), Some(second)) = (part(0), part(3), part(6)) else {
        return Err("invalid hour/min/sec".to_owned());
    };
    refuse_unless(
        hour <= 23 && minute <= 59 && second <= 60,
        "hour/min/sec out of range",
    )?;
    let mut rest = text.get(8..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        refuse_unless(rest.len() < fraction.len(), "no digits in second fraction")?;
    }
    let mut of_day = i64::from(hour * 60 + minute);
    if !matches!(rest, "z" | "Z") {
        of_day = in_utc(of_day, rest)?;
    }
    refuse_unless(second < 60 || of_day == 23 * 60 + 59, "invalid leap second")
}

/// A minute of the day, given with the offset of its zone.
fn in_utc(minute: i64, offset: &str) -> Result<i64, String> {
    refuse_unless(offset.len() == 6, "offset must be 6 characters long")?;
    let sign = match offset.as_bytes().first() {
        Some(b'+') => -1,
        Some(b'-') => 1,
        _ => return Err("offset must begin with plus/minus".to_owned()),
    };
    let has_colon = offset.as_bytes().get(3) == Some(&b':');
    refuse_unless(has_colon, "missing colon in offset in correct place")?;
    let part = |from: usize| offset.get(from..from + 2).and_then(number);
    let (Some(hours), Some(minutes)) = (part(1), part(4)) else {
        return Err("invalid hour/min in offset".to_owned());
    };
    refuse_unless(
        hours <= 23 && minutes <= 59,
        "hour/min in offset out of range",
    )?;
    let shifted = minute + sign * i64::from(hours * 60 + minutes);
    Ok(if shifted < 0 {
        shifted + 24 * 60
    } else {
        shifted
    })
}

/// Kubernetes' durations are Go's; those of ISO 8601 pass as well.
fn duration(text: &str) -> Checked {
    if text.parse::<GoDuration>().is_ok() {
        return Ok(());
    }
    let Some(rest) = text.strip_prefix('P') else {
        return Err("must start with P".to_owned());
    };
    refuse_unless(!rest.is_empty(), "nothing after P")?;
    if let Some(weeks) = rest.strip_suffix('W') {
        refuse_unless(!weeks.is_empty(), "no number in week")?;
        return refuse_unless(number(weeks).is_some(), "invalid week");
    }
    for (at, part) in rest.split('T').enumerate() {
        refuse_unless(at == 0 || !part.is_empty(), "no time elements")?;
        let all = ["YMD", "HMS"].get(at).copied();
        let Some(all) = all else {
            return Err("more than one T".to_owned());
        };
        duration_part(part, all)?;
    }
    Ok(())
}

fn duration_part(mut part: &str, all: &'static str) -> Checked {
    let mut units = all;
    while !part.is_empty() {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        refuse_unless(rest.len() < part.len(), "missing number")?;
        let Some(unit) = rest.chars().next() else {
            return Err("missing unit".to_owned());
        };
        match units.find(unit) {
            Some(at) => units = units.get(at + 1..).unwrap_or_default(),
            None if all.contains(unit) => return Err(format!("unit {unit:?} out of order")),
            None => return Err(format!("invalid unit {unit:?}")),
        }
        part = rest.get(unit.len_utf8()..).unwrap_or_default();
    }
    Ok(())
}

fn hostname(text: &str) -> Checked {
    let text = text.strip_suffix('.').unwrap_or(text);
    refuse_unless(text.len() <= 253, "more than 253 characters long")?;
    for label in text.split('.') {
        let is_sized = (1..=63).contains(&label.len());
        refuse_unless(is_sized, "label must be 1 to 63 characters long")?;
        refuse_unless(!label.starts_with('-'), "label starts with hyphen")?;
        refuse_unless(!label.ends_with('-'), "label ends with hyphen")?;
        let odd = |c: &char| !c.is_ascii_alphanumeric() && *c != '-';
        if let Some(odd) = label.chars().find(odd) {
            return Err(format!("invalid character {odd:?}"));
        }
    }
    Ok(())
}

fn ipv4(text: &str) -> Checked {
    let groups: Vec<&str> = text.split('.').collect();
    refuse_unless(groups.len() == 4, "expected four decimals")?;
    for group in groups {
        let has_zeros = group.len() > 1 && group.starts_with('0');
        refuse_unless(!has_zeros, "leading zeros")?;
        let value = atoi(group).map_err(|error| error.to_string())?;
        let in_range = (0..=255).contains(&value);
        refuse_unless(in_range, "decimal must be between 0 and 255")?;
    }
    Ok(())
}

fn ipv6(text: &str) -> Checked {
    refuse_unless(text.contains(':'), "missing colon")?;
    let has_zone = text.contains('%');
    refuse_unless(!has_zone, "zone id is not a part of ipv6 address")?;
    match text.parse::<std::net::Ipv6Addr>() {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("ParseAddr({}): unable to parse IP", quote(text))),
    }
}

fn uuid(text: &str) -> Checked {
    const LENGTHS: [usize; 5] = [8, 4, 4, 4, 12];
    let groups: Vec<&str> = text.split('-').collect();
    refuse_unless(groups.len() == LENGTHS.len(), "must have 5 elements")?;
    for (at, (group, length)) in groups.into_iter().zip(LENGTHS).enumerate() {
        if group.len() != length {
            let at = at + 1;
            return Err(format!("element {at} must be {length} characters long"));
        }
        if let Some(odd) = group.chars().find(|c| !c.is_ascii_hexdigit()) {
            return Err(format!("non-hex character {odd:?}"));
        }
    }
    Ok(())
}
