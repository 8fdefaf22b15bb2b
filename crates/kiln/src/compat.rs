//! The compatibility mode: the one switch for all differences to the originals.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::{Result, bail};
use clap::ValueEnum;
use kiln_krm::Dialect;
use kiln_package::OutsideLinks;

use crate::environment::KILN_COMPAT;

/// Compatibility mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Compat {
    /// kiln's own behaviour: does not follow links out of a package, and shows the position of errors
    Kiln,
    /// The behaviour and the exact output of today's kpt
    Kpt,
    /// The commands run, source and sink of kpt v0.39
    #[value(name = "kpt-v0.39")]
    KptV039,
}

impl Compat {
    /// The mode on the command line, else in the environment, else the one of the program's name.
    ///
    /// It is read before the command line is parsed, because it decides which flags exist.
    pub(crate) fn choose(args: &[OsString], environment: Option<OsString>) -> Result<Compat> {
        if let Some(value) = flag_value(args.get(1..).unwrap_or_default(), "--compat") {
            return parse(&value, "--compat");
        }
        match environment {
            Some(value) if !value.is_empty() => parse(&value, KILN_COMPAT),
            _ => Ok(match called_name(args) {
                Some("kpt") => Compat::Kpt,
                _ => Compat::Kiln,
            }),
        }
    }

    /// The rules for reading and writing resources.
    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Compat::Kiln | Compat::Kpt => Dialect::Current,
            Compat::KptV039 => Dialect::Legacy,
        }
    }

    /// What to do with links that lead out of a package.
    pub(crate) fn outside_links(self) -> OutsideLinks {
        match self {
            Compat::Kiln => OutsideLinks::Refuse,
            Compat::Kpt | Compat::KptV039 => OutsideLinks::Follow,
        }
    }
}

fn called_name(args: &[OsString]) -> Option<&str> {
    Path::new(args.first()?).file_name().and_then(OsStr::to_str)
}

/// The value of the last `FLAG VALUE` or `FLAG=VALUE` before a `--`.
pub(crate) fn flag_value(args: &[OsString], flag: &str) -> Option<OsString> {
    let mut found = None;
    let mut rest = args.iter().take_while(|arg| *arg != "--");
    while let Some(arg) = rest.next() {
        if arg == flag {
            found = rest.next().cloned();
            continue;
        }
        let after_flag = arg.to_str().and_then(|arg| arg.strip_prefix(flag));
        if let Some(value) = after_flag.and_then(|rest| rest.strip_prefix('=')) {
            found = Some(value.into());
        }
    }
    found
}

fn parse(value: &OsStr, from: &str) -> Result<Compat> {
    let known = value
        .to_str()
        .and_then(|value| Compat::from_str(value, false).ok());
    match known {
        Some(compat) => Ok(compat),
        None => bail!("{from} must be one of kiln, kpt, kpt-v0.39, not {value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &[&str], environment: Option<&str>, expected: Option<Compat>) {
        let args: Vec<OsString> = args.iter().map(Into::into).collect();
        let chosen = Compat::choose(&args, environment.map(Into::into));
        assert_eq!(chosen.ok(), expected, "{args:?}");
    }

    #[test]
    fn the_flag_wins_over_the_environment_over_the_name() {
        check(&["kiln"], None, Some(Compat::Kiln));
        check(&["/usr/bin/kpt"], None, Some(Compat::Kpt));
        check(&["kpt"], Some(""), Some(Compat::Kpt));
        check(&["kpt"], Some("kiln"), Some(Compat::Kiln));
        check(
            &["kiln", "fn", "--compat", "kpt"],
            Some("kiln"),
            Some(Compat::Kpt),
        );
        check(
            &["kiln", "--compat=kpt-v0.39", "fn"],
            None,
            Some(Compat::KptV039),
        );
        check(
            &["kiln", "fn", "--", "--compat=kpt"],
            None,
            Some(Compat::Kiln),
        );
        check(&["kiln", "--compat=zzz"], None, None);
        check(&["kiln"], Some("zzz"), None);
        check(&[], None, Some(Compat::Kiln));
    }
}
