//! Version constraints: `~0.2`, `^1`, `>=1, <2`, `0.4.1 - 0.4.3`, `1.x`, `*`, `||`.
//!
//! The syntax is the one of the Go library that kpt resolves tags with, its oddities included: a missing or `x`
//! part makes `=` mean `~` and shifts the borders of `>` and `<=`; pre-releases match only in a group that
//! mentions one.

use std::cmp::Ordering;

use kiln_go::quote;

use super::version::{Version, compare_pre, is_identifier};

/// A constraint on versions: groups joined by `||`, each a list of comparisons that must all hold.
#[derive(Clone, Debug)]
pub struct Constraint {
    groups: Vec<Vec<Comparison>>,
}

/// Why a text is not a constraint.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConstraintError {
    /// A group does not have the form of one.
    #[error("improper constraint: {}", quote(.0))]
    Form(String),
    /// A comparison's version cannot be read.
    #[error("constraint parser error")]
    Version,
    /// The text has more than 512 bytes.
    #[error("constraint string is too long (max 512 bytes)")]
    TooLong,
    /// There are more than 32 groups.
    #[error("too many constraint groups (max 32)")]
    TooManyGroups,
}

impl Constraint {
    /// Reads a constraint.
    pub fn parse(text: &str) -> Result<Constraint, ConstraintError> {
        if text.len() > 512 {
            return Err(ConstraintError::TooLong);
        }
        let text = rewrite_ranges(text);
        let groups: Vec<&str> = text.split("||").collect();
        if groups.len() > 32 {
            return Err(ConstraintError::TooManyGroups);
        }
        let groups = groups
            .into_iter()
            .map(parse_group)
            .collect::<Result<_, _>>()?;
        Ok(Constraint { groups })
    }

    /// Whether a version satisfies the constraint.
    pub fn matches(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| {
            let mentions_pre = group
                .iter()
                .any(|comparison| !comparison.bound.pre.is_empty());
            (version.pre.is_empty() || mentions_pre)
                && group.iter().all(|comparison| comparison.holds(version))
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ConstraintOperator {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Tilde,
    Caret,
}

/// Which part of a bound is the first that is missing or a wildcard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OpenBound {
    Nothing,
    Major,
    Minor,
    Patch,
}

#[derive(Clone, Debug)]
struct Comparison {
    operator: ConstraintOperator,
    bound: Version,
    open: OpenBound,
}

impl Comparison {
    fn holds(&self, version: &Version) -> bool {
        let order = version.precedence(&self.bound);
        let is_open = self.open != OpenBound::Nothing;
        match self.operator {
            ConstraintOperator::Equal if is_open => self.tilde(version),
            ConstraintOperator::Equal => order == Ordering::Equal,
            ConstraintOperator::NotEqual if is_open => self.differs(version),
            ConstraintOperator::NotEqual => order != Ordering::Equal,
            ConstraintOperator::Greater if is_open => self.is_above(version),
            ConstraintOperator::Greater => order == Ordering::Greater,
            ConstraintOperator::Less => order == Ordering::Less,
            ConstraintOperator::GreaterOrEqual => order != Ordering::Less,
            ConstraintOperator::LessOrEqual if is_open => self.is_not_above(version),
            ConstraintOperator::LessOrEqual => order != Ordering::Greater,
            ConstraintOperator::Tilde => self.tilde(version),
            ConstraintOperator::Caret => self.caret(version),
        }
    }

    fn tilde(&self, version: &Version) -> bool {
        let bound = &self.bound;
        if version.precedence(bound) == Ordering::Less {
            return false;
        }
        let is_zero = (bound.major, bound.minor, bound.patch) == (0, 0, 0);
        match self.open {
            // `~0.0.0`, like `~*`, allows everything.
            OpenBound::Nothing | OpenBound::Major if is_zero => true,
            OpenBound::Minor => version.major == bound.major,
            _ => (version.major, version.minor) == (bound.major, bound.minor),
        }
    }

    fn caret(&self, version: &Version) -> bool {
        let bound = &self.bound;
        if version.precedence(bound) == Ordering::Less {
            return false;
        }
        if bound.major > 0 || self.open == OpenBound::Minor {
            return version.major == bound.major;
        }
        if version.major > 0 {
            return false;
        }
        if bound.minor > 0 || self.open == OpenBound::Patch {
            return version.minor == bound.minor;
        }
        version.minor == 0 && version.patch == bound.patch
    }

    fn differs(&self, version: &Version) -> bool {
        let bound = &self.bound;
        if version.major != bound.major {
            return true;
        }
        match self.open {
            OpenBound::Minor => false,
            _ if version.minor != bound.minor => true,
            OpenBound::Patch => {
                let has_pre = !version.pre.is_empty() || !bound.pre.is_empty();
                has_pre && compare_pre(&version.pre, &bound.pre) != Ordering::Equal
            }
            _ if version.patch != bound.patch => true,
            _ => version.precedence(bound) != Ordering::Equal,
        }
    }

    fn is_above(&self, version: &Version) -> bool {
        let bound = &self.bound;
        match version.major.cmp(&bound.major) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal => match self.open {
                OpenBound::Minor => false,
                OpenBound::Patch => version.minor > bound.minor,
                _ => version.precedence(bound) == Ordering::Greater,
            },
        }
    }

    fn is_not_above(&self, version: &Version) -> bool {
        let bound = &self.bound;
        match version.major.cmp(&bound.major) {
            Ordering::Greater => false,
            Ordering::Less => true,
            Ordering::Equal => self.open == OpenBound::Minor || version.minor <= bound.minor,
        }
    }
}

/// What Go's regular expressions call white space.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

/// Turns every `a - b` into `>= a, <= b `.
fn rewrite_ranges(text: &str) -> String {
    let mut out = text.to_owned();
    let mut rest = text;
    while !rest.is_empty() {
        match range_at_start(rest) {
            Some((range, from, to)) => {
                out = out.replacen(range, &format!(">= {from}, <= {to} "), 1);
                rest = rest.get(range.len()..).unwrap_or_default();
            }
            None => {
                let mut chars = rest.chars();
                chars.next();
                rest = chars.as_str();
            }
        }
    }
    out
}

/// A range that begins right here: all of it with the spaces around it, and its two ends.
fn range_at_start(text: &str) -> Option<(&str, &str, &str)> {
    let (from, rest) = Bound::take(text.trim_start_matches(is_space))?;
    let rest = skip_spaces(rest)?.strip_prefix('-')?;
    let (to, rest) = Bound::take(skip_spaces(rest)?)?;
    let rest = rest.trim_start_matches(is_space);
    let range = text.get(..text.len() - rest.len())?;
    Some((range, from.text, to.text))
}

/// Skips white space, of which there must be some.
fn skip_spaces(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(is_space);
    (rest.len() < text.len()).then_some(rest)
}

fn parse_group(group: &str) -> Result<Vec<Comparison>, ConstraintError> {
    let improper = || ConstraintError::Form(group.to_owned());
    let mut bounds = Vec::new();
    let mut rest = group.trim_start_matches(is_space);
    loop {
        let (operator, after) = take_operator(rest);
        let (bound, after) =
            Bound::take(after.trim_start_matches(is_space)).ok_or_else(improper)?;
        bounds.push((operator, bound));
        let next = after.trim_start_matches(is_space);
        if next.is_empty() {
            break;
        }
        rest = match next.strip_prefix(',') {
            Some(next) => next.trim_start_matches(is_space),
            None if next.len() < after.len() => next,
            None => return Err(improper()),
        };
    }
    // Versions are checked only after the form of the whole group.
    bounds
        .into_iter()
        .map(|(operator, bound)| bound.comparison(operator))
        .collect()
}

fn take_operator(text: &str) -> (ConstraintOperator, &str) {
    const OPERATORS: [(&str, ConstraintOperator); 11] = [
        ("!=", ConstraintOperator::NotEqual),
        (">=", ConstraintOperator::GreaterOrEqual),
        ("=>", ConstraintOperator::GreaterOrEqual),
        ("<=", ConstraintOperator::LessOrEqual),
        ("=<", ConstraintOperator::LessOrEqual),
        ("~>", ConstraintOperator::Tilde),
        ("~", ConstraintOperator::Tilde),
        (">", ConstraintOperator::Greater),
        ("<", ConstraintOperator::Less),
        ("^", ConstraintOperator::Caret),
        ("=", ConstraintOperator::Equal),
    ];
    OPERATORS
        .iter()
        .find_map(|(sign, operator)| Some((*operator, text.strip_prefix(sign)?)))
        .unwrap_or((ConstraintOperator::Equal, text))
}

/// A version in a constraint, whose parts may be missing or wildcards.
struct Bound<'a> {
    text: &'a str,
    parts: [&'a str; 3],
    /// With its dash.
    pre: &'a str,
}

impl<'a> Bound<'a> {
    /// Takes a bound off the front of a text.
    fn take(text: &'a str) -> Option<(Bound<'a>, &'a str)> {
        // The stroke is in the reference's character class by mistake; such parts fail later as versions.
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, 'x' | 'X' | '*' | '|');
        let mut rest = text.strip_prefix('v').unwrap_or(text);
        let mut parts = [""; 3];
        for (place, part) in parts.iter_mut().enumerate() {
            let start = match place {
                0 => rest,
                _ => match rest.strip_prefix('.') {
                    Some(start) => start,
                    None => break,
                },
            };
            let after = start.trim_start_matches(is_part);
            if after.len() == start.len() {
                if place == 0 {
                    return None;
                }
                break;
            }
            *part = start.get(..start.len() - after.len())?;
            rest = after;
        }
        let (pre, after) = take_identifiers(rest, '-');
        let (_, rest) = take_identifiers(after, '+');
        let text = text.get(..text.len() - rest.len())?;
        Some((Bound { text, parts, pre }, rest))
    }

    fn comparison(&self, operator: ConstraintOperator) -> Result<Comparison, ConstraintError> {
        let is_open = |part: &str| matches!(part, "" | "x" | "X" | "*");
        let ([major, minor, patch], pre) = (self.parts, self.pre);
        let (open, version) = if is_open(major) {
            (OpenBound::Major, format!("0.0.0{pre}"))
        } else if is_open(minor) {
            (OpenBound::Minor, format!("{major}.0.0{pre}"))
        } else if is_open(patch) {
            (OpenBound::Patch, format!("{major}.{minor}.0{pre}"))
        } else {
            (OpenBound::Nothing, self.text.to_owned())
        };
        let bound = Version::parse(&version).map_err(|_| ConstraintError::Version)?;
        Ok(Comparison {
            operator,
            bound,
            open,
        })
    }
}

/// Takes `-a.b` or `+a.b` off the front of a text, as far as it is well-formed.
fn take_identifiers(text: &str, sign: char) -> (&str, &str) {
    let Some(body) = text.strip_prefix(sign) else {
        return ("", text);
    };
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let run = body.len() - body.trim_start_matches(is_allowed).len();
    let well_formed: usize = body
        .get(..run)
        .unwrap_or_default()
        .split('.')
        .take_while(|part| is_identifier(part))
        .map(|part| part.len() + 1)
        .sum();
    // The sum counts one separator more than there is, which makes up for the sign.
    text.split_at_checked(well_formed).unwrap_or(("", text))
}
