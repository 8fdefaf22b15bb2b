//! The command lines that kustomize and kpt send to a container engine, those of built-in functions with flags of their own, and
//! nothing else.
//!
//! A flag that no such line has is not ignored: a command line is carried out as a whole or refused.

use std::collections::BTreeSet;
use std::ffi::OsString;

use kiln_container::{Mount, PullPolicy};
use kiln_runtime::Network;

use super::function_files::FunctionFiles;

/// What a command line asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum EngineCommand {
    Run(RunCommand),
    /// `version --format {{.Client.Version}}`: kpt's check of the engine.
    ClientVersion,
    /// `--version`
    About,
    /// `--help`, or no word at all
    Help,
    /// `image ls --filter reference=IMAGE --format {{ .Tag }}`: kpt's question for a range of versions.
    Tags {
        image: String,
    },
    Version,
    Info,
    /// `ps`
    Processes,
    Pull {
        image: String,
    },
    /// `image inspect IMAGE`
    Inspect {
        image: String,
    },
}

/// `run` of an image that is a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RunCommand {
    pub(super) image: String,
    /// Whether the image gets the argument `--help`.
    pub(super) is_help: bool,
    /// Whether the function reads and writes files, by flags of its own.
    pub(super) files: Option<FunctionFiles>,
    pub(super) network: Network,
    /// `UID:GID`; the user `nobody` if not given.
    pub(super) user: Option<String>,
    pub(super) mounts: Vec<Mount>,
    /// `NAME=VALUE`, or `NAME` to pass on its current value.
    pub(super) env: Vec<String>,
    pub(super) pull_policy: PullPolicy,
    pub(super) sender: LineSender,
}

/// What wrote a line, as far as it can be recognised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineSender {
    /// kustomize or kpt: they restrict every function.
    FunctionTool,
    /// A line that leaves out a restriction: a user may have typed it, for an ordinary container.
    Unknown,
}

/// The first word of a command line that kiln does not know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct UnknownWord(pub(super) String);

/// Parses the words after the name of the engine.
pub(super) fn parse(arguments: &[OsString]) -> Result<EngineCommand, UnknownWord> {
    let mut words = Vec::new();
    for argument in arguments {
        let word = argument.to_str();
        words.push(word.ok_or_else(|| unknown(argument.to_string_lossy()))?);
    }
    match words.as_slice() {
        [] | ["--help" | "-h" | "help"] | ["run", "--help"] => Ok(EngineCommand::Help),
        ["run", rest @ ..] => parse_run(rest).map(EngineCommand::Run),
        ["--version" | "-v"] => Ok(EngineCommand::About),
        ["version"] => Ok(EngineCommand::Version),
        ["info"] => Ok(EngineCommand::Info),
        ["ps"] => Ok(EngineCommand::Processes),
        ["version", rest @ ..] => {
            let [format] = flag_values(rest, ["--format"])?;
            match template(format) == "{{.Client.Version}}" {
                true => Ok(EngineCommand::ClientVersion),
                false => Err(unknown(format)),
            }
        }
        ["pull", image] | ["image", "pull", image] if is_image(image) => Ok(EngineCommand::Pull {
            image: (*image).to_owned(),
        }),
        ["image", "inspect", image] if is_image(image) => Ok(EngineCommand::Inspect {
            image: (*image).to_owned(),
        }),
        ["image", "ls", rest @ ..] => {
            let [filter, format] = flag_values(rest, ["--filter", "--format"])?;
            let image = filter.strip_prefix("reference=");
            let image = image.ok_or_else(|| unknown(filter))?;
            match template(format) == "{{.Tag}}" {
                true => Ok(EngineCommand::Tags {
                    image: image.to_owned(),
                }),
                false => Err(unknown(format)),
            }
        }
        ["image" | "pull", second, ..] => Err(unknown(*second)),
        [first, ..] => Err(unknown(*first)),
    }
}

fn unknown(word: impl Into<String>) -> UnknownWord {
    UnknownWord(word.into())
}

/// A template of Go without its blanks.
fn template(format: &str) -> String {
    format.replace(' ', "")
}

fn is_image(word: &str) -> bool {
    !word.is_empty() && !word.starts_with('-')
}

/// The values of flags that must all be given, in any order, and no others.
fn flag_values<'a, const N: usize>(
    words: &[&'a str],
    names: [&str; N],
) -> Result<[&'a str; N], UnknownWord> {
    let mut values = [None; N];
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let (name, inline) = split_flag(word);
        let at = names.iter().position(|known| *known == name);
        let slot = at.and_then(|at| values.get_mut(at));
        let slot = slot.ok_or_else(|| unknown(word))?;
        let value = inline.or_else(|| words.next());
        *slot = Some(value.ok_or_else(|| unknown(word))?);
    }
    match values.iter().zip(names).find(|(value, _)| value.is_none()) {
        Some((_, name)) => Err(unknown(format!("a command without {name}"))),
        None => Ok(values.map(Option::unwrap_or_default)),
    }
}

/// `--flag=value` in its parts.
fn split_flag(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=') {
        Some((name, value)) if word.starts_with("--") => (name, Some(value)),
        _ => (word, None),
    }
}

/// The flags without which kiln does not run an image: it keeps nothing of a run, and a function reads its input. kpt asks for
/// the documentation of an image without the second one.
const NEEDED: [(&str, RunFlag); 2] = [("--rm", RunFlag::Remove), ("-i", RunFlag::Interactive)];

/// The flags by which function tools restrict every function.
const RESTRICTIONS: [RunFlag; 3] = [RunFlag::Network, RunFlag::User, RunFlag::SecurityOption];

fn parse_run(words: &[&str]) -> Result<RunCommand, UnknownWord> {
    let mut command = RunCommand {
        image: String::new(),
        is_help: false,
        files: None,
        network: Network::None,
        user: None,
        mounts: Vec::new(),
        env: Vec::new(),
        pull_policy: PullPolicy::IfNotPresent,
        sender: LineSender::Unknown,
    };
    let mut given = BTreeSet::new();
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            command.image = word.to_owned();
            break;
        }
        let (name, inline) = split_flag(word);
        let flag = RunFlag::parse(name).ok_or_else(|| unknown(word))?;
        let value = match (flag.is_switch(), inline) {
            (true, None) => "true",
            (_, Some(inline)) => inline,
            (false, None) => words.next().ok_or_else(|| unknown(word))?,
        };
        let set = command.set(flag, value);
        set.ok_or_else(|| match inline.is_some() || flag.is_switch() {
            true => unknown(word),
            false => unknown(format!("{word} {value}")),
        })?;
        given.insert(flag);
    }
    let arguments: Vec<&str> = words.collect();
    command.is_help = arguments == ["--help"];
    command.files = FunctionFiles::parse(&command.image, &arguments);
    if command.files.is_none() && given.contains(&RunFlag::Volume) {
        return Err(unknown("-v"));
    }
    let reads_input = !command.is_help && command.files.is_none();
    let is_missing = |flag: &RunFlag| {
        let is_needed = *flag != RunFlag::Interactive || reads_input;
        is_needed && !given.contains(flag)
    };
    if let Some((missing, _)) = NEEDED.iter().find(|(_, flag)| is_missing(flag)) {
        return Err(unknown(format!("run without {missing}")));
    }
    if command.image.is_empty() {
        return Err(unknown("run without an image"));
    }
    if let Some(first) = arguments.first()
        && reads_input
    {
        return Err(unknown(*first));
    }
    if RESTRICTIONS.iter().all(|flag| given.contains(flag)) {
        command.sender = LineSender::FunctionTool;
    }
    Ok(command)
}

/// A flag of `run`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum RunFlag {
    Remove,
    Interactive,
    Attach,
    Network,
    User,
    SecurityOption,
    Pull,
    Mount,
    Volume,
    Variable,
}

impl RunFlag {
    fn parse(name: &str) -> Option<RunFlag> {
        Some(match name {
            "--rm" => RunFlag::Remove,
            "-i" | "--interactive" => RunFlag::Interactive,
            "-a" | "--attach" => RunFlag::Attach,
            "--network" => RunFlag::Network,
            "-u" | "--user" => RunFlag::User,
            "--security-opt" => RunFlag::SecurityOption,
            "--pull" => RunFlag::Pull,
            "--mount" => RunFlag::Mount,
            "-v" | "--volume" => RunFlag::Volume,
            "-e" | "--env" => RunFlag::Variable,
            _ => return None,
        })
    }

    /// Whether the flag takes a value only after `=`.
    fn is_switch(self) -> bool {
        matches!(self, RunFlag::Remove | RunFlag::Interactive)
    }
}

impl RunCommand {
    /// Takes the value of a flag; `None` if no function tool sends it.
    fn set(&mut self, flag: RunFlag, value: &str) -> Option<()> {
        match flag {
            RunFlag::Remove | RunFlag::Interactive => (value == "true").then_some(()),
            RunFlag::Attach => {
                let streams = ["stdin", "stdout", "stderr"];
                let is_known = streams.iter().any(|name| name.eq_ignore_ascii_case(value));
                is_known.then_some(())
            }
            RunFlag::SecurityOption => (value == "no-new-privileges").then_some(()),
            RunFlag::Network => {
                self.network = match value {
                    "none" => Network::None,
                    "host" => Network::Host,
                    _ => return None,
                };
                Some(())
            }
            RunFlag::User => {
                self.user = match value {
                    "nobody" => None,
                    user if is_user(user) => Some(user.to_owned()),
                    _ => return None,
                };
                Some(())
            }
            RunFlag::Pull => {
                self.pull_policy = match value {
                    "missing" => PullPolicy::IfNotPresent,
                    "always" => PullPolicy::Always,
                    "never" => PullPolicy::Never,
                    _ => return None,
                };
                Some(())
            }
            RunFlag::Mount => {
                self.mounts.push(parse_mount(value)?);
                Some(())
            }
            RunFlag::Volume => {
                self.mounts.push(parse_volume(value)?);
                Some(())
            }
            RunFlag::Variable => {
                let name = value.split('=').next().unwrap_or_default();
                self.env.push(value.to_owned());
                (!name.is_empty()).then_some(())
            }
        }
    }
}

/// Whether a user is given by numbers, as `UID` or `UID:GID`.
fn is_user(user: &str) -> bool {
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    match user.split_once(':') {
        Some((user, group)) => is_number(user) && is_number(group),
        None => is_number(user),
    }
}

/// A mount in the syntax of engines, in which it is writable unless it is `readonly`. Quotes and volumes are not known.
fn parse_mount(text: &str) -> Option<Mount> {
    let mut mount = Mount {
        writable: true,
        ..Mount::default()
    };
    if text.contains('"') {
        return None;
    }
    for option in text.split(',') {
        let (key, value) = option.split_once('=').unwrap_or((option, "true"));
        match key {
            "type" => mount.kind = value.to_owned(),
            "src" | "source" => mount.source = value.to_owned(),
            "dst" | "destination" | "target" => mount.target = value.to_owned(),
            "ro" | "readonly" => mount.writable = !kiln_go::parse_bool(value).ok()?,
            _ => return None,
        }
    }
    let is_known = match mount.kind.as_str() {
        "bind" => mount.source.starts_with('/'),
        // kpt and kustomize add `readonly` to every mount that does not ask for more.
        "tmpfs" => mount.source.is_empty(),
        _ => false,
    };
    (is_known && mount.target.starts_with('/')).then_some(mount)
}

/// `SOURCE:TARGET`, also with `:ro`. Volumes by name are not known.
fn parse_volume(text: &str) -> Option<Mount> {
    let mut parts = text.split(':');
    let (source, target, mode) = (parts.next()?, parts.next()?, parts.next());
    let is_known = source.starts_with('/')
        && target.starts_with('/')
        && matches!(mode, None | Some("ro" | "rw"))
        && parts.next().is_none();
    is_known.then(|| Mount {
        kind: "bind".to_owned(),
        source: source.to_owned(),
        target: target.to_owned(),
        writable: mode != Some("ro"),
    })
}

#[cfg(test)]
mod tests;
