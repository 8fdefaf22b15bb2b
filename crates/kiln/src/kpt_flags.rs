//! Flags that kpt has with every command, or with those of `live`, and that kiln accepts so that command lines keep working.

use clap::{Arg, ArgAction, Command};

use crate::flag_values::go_bool;

/// Flags with a value that every command of kpt has. They are about its log and its cluster.
const OF_ALL: &[&str] = &[
    "kubeconfig",
    "log-backtrace-at",
    "log-dir",
    "log-file",
    "log-file-max-size",
    "log-flush-frequency",
    "stderrthreshold",
    "v",
    "vmodule",
];

/// Flags that need no value and that every command of kpt has.
const SWITCHES_OF_ALL: &[&str] = &[
    "add-dir-header",
    "alsologtostderr",
    "logtostderr",
    "one-output",
    "skip-headers",
    "skip-log-headers",
];

/// Flags with a value that commands of `kpt live` have besides: those of kubectl.
const OF_LIVE: &[&str] = &[
    "as",
    "as-group",
    "as-uid",
    "cache-dir",
    "certificate-authority",
    "client-certificate",
    "client-key",
    "cluster",
    "context",
    "namespace",
    "request-timeout",
    "server",
    "tls-server-name",
    "token",
    "user",
];

/// The short forms of flags with a value.
const SHORT: &[&str] = &["-n", "-s", "-v"];

/// Adds the flags of all commands, which kiln ignores.
pub(crate) fn with_kpt_flags(grammar: Command) -> Command {
    let hidden = |name: &'static str| Arg::new(name).long(name).global(true).hide(true);
    let values = OF_ALL.iter().copied().map(|name| {
        let flag = hidden(name).action(ArgAction::Set).value_name("VALUE");
        match name {
            "v" => flag.short('v'),
            _ => flag,
        }
    });
    let switches = SWITCHES_OF_ALL.iter().copied().map(|name| {
        hidden(name)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_parser(go_bool)
    });
    grammar.args(values).args(switches)
}

/// Whether the next argument is the value of this one, a flag of kpt before the command.
pub(crate) fn takes_next(argument: &str) -> bool {
    match argument.strip_prefix("--") {
        Some(name) => {
            let name = name.replace('_', "-");
            OF_ALL.contains(&name.as_str()) || OF_LIVE.contains(&name.as_str())
        }
        None => SHORT.contains(&argument),
    }
}
