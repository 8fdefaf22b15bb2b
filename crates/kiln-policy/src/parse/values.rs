//! Single values of a policy.

use std::time::Duration;

use kiln_go::GoDuration;
use kiln_yaml::NodeRef;

use super::{PolicyProblem, Problem, line};

/// The text of a scalar.
pub(super) fn text<'a>(
    node: NodeRef<'a>,
    field: &'static str,
    wanted: &'static str,
) -> Result<&'a str, Problem> {
    node.as_text().ok_or_else(|| wrong(node, field, wanted))
}

pub(super) fn one_of<T: Copy>(
    node: NodeRef<'_>,
    field: &'static str,
    values: &[(&str, T)],
    wanted: &'static str,
) -> Result<T, Problem> {
    let given = text(node, field, wanted)?;
    let value = values.iter().find(|(name, _)| *name == given);
    value
        .map(|(_, value)| *value)
        .ok_or_else(|| wrong(node, field, wanted))
}

/// A duration of more than nothing.
pub(super) fn time(node: NodeRef<'_>) -> Result<Duration, Problem> {
    let given = node.as_text().and_then(|text| text.parse().ok());
    let time = given.and_then(GoDuration::to_std);
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| wrong(node, "max.time", "a duration such as 90s or 5m"))
}

/// A number of bytes as Kubernetes writes it.
pub(super) fn bytes(node: NodeRef<'_>) -> Result<u64, Problem> {
    let parse = |text: &str| -> Option<u64> {
        let units = [("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30)];
        let unit = units
            .into_iter()
            .find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)));
        let (number, size): (&str, u64) = unit.unwrap_or((text, 1));
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = is_number.then(|| number.parse().ok()).flatten()?;
        number.checked_mul(size).filter(|bytes| *bytes > 0)
    };
    let bytes = node.as_text().and_then(parse);
    bytes.ok_or_else(|| wrong(node, "max.memory", "a size such as 512Mi or 1Gi"))
}

pub(super) fn wrong(node: NodeRef<'_>, field: &'static str, wanted: &'static str) -> Problem {
    (line(node), PolicyProblem::Wrong { field, wanted })
}
