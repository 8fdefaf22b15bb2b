//! Timestamps: how go-yaml reads plain scalars that look like a date.

use std::any::Any;

use kiln_starlark::Object;

/// A timestamp in the one format in which it is written.
pub(super) struct Time {
    /// RFC 3339 with as many fractional digits as necessary.
    pub(super) text: String,
}

impl Time {
    /// Parses one of the four formats of go-yaml.
    pub(super) fn parse(text: &str) -> Option<Time> {
        let (date, rest) = match text.find(['T', 't', ' ']) {
            Some(place) => (text.get(..place)?, text.get(place + 1..)?),
            None => (text, ""),
        };
        let mut date = date.splitn(3, '-');
        let (year, month, day) = (date.next()?, two(date.next()?)?, two(date.next()?)?);
        if year.len() != 4 || !year.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        if rest.is_empty() {
            return Some(Time {
                text: format!("{year}-{month}-{day}T00:00:00Z"),
            });
        }
        let rest = rest.trim_start();
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.'));
        let (clock, zone) = rest.split_at(end.unwrap_or(rest.len()));
        let mut clock = clock.splitn(3, ':');
        let (hour, minute) = (two(clock.next()?)?, two(clock.next()?)?);
        let seconds = clock.next()?;
        let (second, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
        let second = two(second)?;
        let fraction = fraction.get(..fraction.len().min(9))?.trim_end_matches('0');
        let dot = if fraction.is_empty() { "" } else { "." };
        let zone = match zone.trim_start() {
            "" | "Z" | "z" | "+00:00" | "-00:00" => "Z",
            zone => zone,
        };
        Some(Time {
            text: format!("{year}-{month}-{day}T{hour}:{minute}:{second}{dot}{fraction}{zone}"),
        })
    }
}

/// A number of one or two digits, padded to two.
fn two(digits: &str) -> Option<String> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && digits.len() <= 2).then(|| format!("{digits:0>2}"))
}

impl Object for Time {
    fn type_name(&self) -> &str {
        "time.time"
    }

    fn repr(&self) -> Vec<u8> {
        // 2006-01-02 15:04:05 +0000 UTC
        match self.text.strip_suffix('Z') {
            Some(utc) => format!("{} +0000 UTC", utc.replacen('T', " ", 1)),
            None => {
                let (clock, zone) = self.text.split_at(self.text.len().saturating_sub(6));
                let zone = zone.replace(':', "");
                format!("{} {zone} {zone}", clock.replacen('T', " ", 1))
            }
        }
        .into_bytes()
    }

    fn is_hashable(&self) -> bool {
        true
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
