//! Command lines as Go's `flag` reads them: an end at the first argument that is not a flag or at `--`, and Go's messages.
//!
//! Deliberately absent: everything that Go's package does not have (short names, sub-commands, values from the
//! environment), and printing: [`Stop`] has what a program prints and how it exits.

use std::marker::PhantomData;

use crate::duration::GoDuration;
use crate::number::parse_bool;
use crate::quote::quote;

/// The flags of a program.
#[derive(Clone, Debug)]
pub struct FlagSet {
    program: String,
    flags: Vec<Flag>,
}

#[derive(Clone, Debug)]
struct Flag {
    name: &'static str,
    usage: &'static str,
    default: Setting,
    is_hidden: bool,
}

/// A flag for a help text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlagHelp {
    pub name: &'static str,
    /// What the value is called; empty if there is none.
    pub value_name: &'static str,
    pub description: String,
    /// The default value, unless it is the zero value of its type.
    pub default: Option<String>,
}

/// Names a flag and the type of its value.
#[derive(Debug)]
pub struct Key<T> {
    index: usize,
    value: PhantomData<fn() -> T>,
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Key<T> {
        *self
    }
}

impl<T> Copy for Key<T> {}

/// What a command line says.
#[derive(Clone, Debug)]
pub struct Parsed {
    settings: Vec<Setting>,
    given: Vec<bool>,
    rest: Vec<String>,
}

/// Why a program ends before it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The user asked for help; it goes to standard error, and the program exits with 0.
    Help(String),
    /// The command line is wrong; this goes to standard error, and the program exits with 2.
    Usage(UsageError),
}

/// What is wrong with a command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UsageError {
    /// Go's message.
    pub message: String,
    /// The name of a flag that the set does not have.
    pub unknown_flag: Option<String>,
    /// The message, followed by all flags.
    text: String,
}

impl Stop {
    /// What to print.
    pub fn text(&self) -> &str {
        match self {
            Stop::Help(text) => text,
            Stop::Usage(error) => &error.text,
        }
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Stop::Help(_) => 0,
            Stop::Usage(_) => 2,
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
#[doc(hidden)]
pub enum Setting {
    Bool(bool),
    Int(i64),
    Text(String),
    Texts(Vec<String>),
    Duration(GoDuration),
}

/// A type that values of flags have: `bool`, `i64`, `String`, [`GoDuration`], and `Vec<String>` for flags that may be
/// given several times.
pub trait FlagValue: Sized + Default {
    #[doc(hidden)]
    fn into_setting(self) -> Setting;
    #[doc(hidden)]
    fn from_setting(setting: &Setting) -> Option<Self>;
}

macro_rules! values {
    ($($type:ty = $variant:ident),*) => {$(
        impl FlagValue for $type {
            fn into_setting(self) -> Setting {
                Setting::$variant(self)
            }

            fn from_setting(setting: &Setting) -> Option<$type> {
                match setting {
                    Setting::$variant(value) => Some(value.clone()),
                    _ => None,
                }
            }
        }
    )*};
}

values!(
    bool = Bool,
    i64 = Int,
    String = Text,
    Vec<String> = Texts,
    GoDuration = Duration
);

impl FlagSet {
    /// A program without flags.
    pub fn new(program: impl Into<String>) -> FlagSet {
        FlagSet {
            program: program.into(),
            flags: Vec::new(),
        }
    }

    /// Adds a flag. A word in backquotes in its description is what its value is called.
    pub fn add<T: FlagValue>(
        &mut self,
        name: &'static str,
        default: T,
        usage: &'static str,
    ) -> Key<T> {
        self.flags.push(Flag {
            name,
            usage,
            default: default.into_setting(),
            is_hidden: false,
        });
        Key {
            index: self.flags.len() - 1,
            value: PhantomData,
        }
    }

    /// Adds a flag whose value is text.
    pub fn text(&mut self, name: &'static str, default: &str, usage: &'static str) -> Key<String> {
        self.add(name, default.to_owned(), usage)
    }

    /// Adds flags that are accepted but not part of the usage.
    pub fn hidden<T>(&mut self, add: impl FnOnce(&mut FlagSet) -> T) -> T {
        let before = self.flags.len();
        let added = add(self);
        for flag in self.flags.iter_mut().skip(before) {
            flag.is_hidden = true;
        }
        added
    }

    /// The names of the flags that are not hidden.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let shown = self.flags.iter().filter(|flag| !flag.is_hidden);
        shown.map(|flag| flag.name)
    }

    /// Name, default value as text and description of every flag, in the order in which they were added.
    pub fn describe(&self) -> impl Iterator<Item = (&'static str, String, &'static str)> {
        let describe = |flag: &Flag| (flag.name, flag.default.to_string(), flag.usage);
        self.flags.iter().map(describe)
    }

    /// Name, value and default value of every flag that is not hidden, as text.
    pub fn values(&self, parsed: &Parsed) -> Vec<(&'static str, String, String)> {
        let flags = self.flags.iter().zip(&parsed.settings);
        flags
            .filter(|(flag, _)| !flag.is_hidden)
            .map(|(flag, setting)| (flag.name, setting.to_string(), flag.default.to_string()))
            .collect()
    }

    /// Reads the arguments of a command line, without the program's name.
    pub fn parse(&self, arguments: impl IntoIterator<Item = String>) -> Result<Parsed, Stop> {
        let settings = self.flags.iter().map(|flag| flag.default.clone()).collect();
        let mut parsed = Parsed {
            settings,
            given: vec![false; self.flags.len()],
            rest: Vec::new(),
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let name = match argument.strip_prefix('-') {
                None | Some("") => {
                    parsed.rest.push(argument);
                    break;
                }
                Some("-") => break,
                Some(name) => name.strip_prefix('-').unwrap_or(name),
            };
            if name.starts_with(['-', '=']) {
                return Err(self.wrong(&format!("bad flag syntax: {argument}")));
            }
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (name, None),
            };
            let known = self.flags.iter().enumerate();
            let Some((index, flag)) = known.into_iter().find(|(_, flag)| flag.name == name) else {
                if name == "help" || name == "h" {
                    return Err(Stop::Help(self.usage()));
                }
                let message = format!("flag provided but not defined: -{name}");
                return Err(Stop::Usage(UsageError {
                    unknown_flag: Some(name.to_owned()),
                    ..self.usage_error(&message)
                }));
            };
            let is_bool = matches!(flag.default, Setting::Bool(_));
            let value = match value {
                Some(value) => value,
                None if is_bool => "true".to_owned(),
                None => arguments
                    .next()
                    .ok_or_else(|| self.wrong(&format!("flag needs an argument: -{name}")))?,
            };
            let before = parsed.settings.get(index).unwrap_or(&flag.default);
            let setting = before.read(&value).map_err(|reason| {
                let value = quote(&value);
                let what = if is_bool {
                    format!("invalid boolean value {value} for -{name}: {reason}")
                } else {
                    format!("invalid value {value} for flag -{name}: {reason}")
                };
                self.wrong(&what)
            })?;
            if let (Some(place), Some(given)) =
                (parsed.settings.get_mut(index), parsed.given.get_mut(index))
            {
                *place = setting;
                *given = true;
            }
        }
        parsed.rest.extend(arguments);
        Ok(parsed)
    }

    /// What is wrong, followed by all flags.
    pub fn wrong(&self, message: &str) -> Stop {
        Stop::Usage(self.usage_error(message))
    }

    fn usage_error(&self, message: &str) -> UsageError {
        UsageError {
            message: message.to_owned(),
            unknown_flag: None,
            text: format!("{message}\n{}", self.usage()),
        }
    }

    /// The flags that are not hidden, in the order of their names.
    pub fn help(&self) -> Vec<FlagHelp> {
        let shown = self.flags.iter().filter(|flag| !flag.is_hidden);
        let mut help: Vec<FlagHelp> = shown.map(Flag::help).collect();
        help.sort_by_key(|flag| flag.name);
        help
    }

    /// All flags in the order of their names, as Go prints them.
    pub fn usage(&self) -> String {
        let mut text = format!("Usage of {}:\n", self.program);
        for flag in self.help() {
            let mut line = format!("  -{}", flag.name);
            if !flag.value_name.is_empty() {
                line.push(' ');
                line.push_str(flag.value_name);
            }
            line.push_str(if line.len() <= 4 { "\t" } else { "\n    \t" });
            line.push_str(&flag.description.replace('\n', "\n    \t"));
            if let Some(default) = flag.default {
                line.push_str(&format!(" (default {default})"));
            }
            text.push_str(&line);
            text.push('\n');
        }
        text
    }
}

impl Flag {
    fn help(&self) -> FlagHelp {
        let (value_name, description) = self.called();
        FlagHelp {
            name: self.name,
            value_name,
            description,
            default: (!self.default.is_zero()).then(|| self.default.in_usage()),
        }
    }

    /// What the value is called, and the description without backquotes.
    fn called(&self) -> (&'static str, String) {
        if let Some((before, rest)) = self.usage.split_once('`')
            && let Some((name, after)) = rest.split_once('`')
        {
            return (name, format!("{before}{name}{after}"));
        }
        let called = match self.default {
            Setting::Bool(_) => "",
            Setting::Int(_) => "int",
            Setting::Text(_) => "string",
            Setting::Texts(_) => "value",
            Setting::Duration(_) => "duration",
        };
        (called, self.usage.to_owned())
    }
}

impl Parsed {
    /// The value of a flag of the set that was parsed.
    pub fn get<T: FlagValue>(&self, key: Key<T>) -> T {
        let setting = self.settings.get(key.index);
        setting.and_then(T::from_setting).unwrap_or_default()
    }

    /// Whether the command line has the flag.
    pub fn is_given<T>(&self, key: Key<T>) -> bool {
        self.given.get(key.index).copied().unwrap_or_default()
    }

    /// What follows the flags, without the `--` that ends them.
    pub fn rest(&self) -> &[String] {
        &self.rest
    }
}

impl Setting {
    /// A value of the same type, or one more of those that are collected.
    fn read(&self, text: &str) -> Result<Setting, &'static str> {
        const SYNTAX: &str = "parse error";
        match self {
            Setting::Bool(_) => parse_bool(text).map(Setting::Bool).map_err(|_| SYNTAX),
            Setting::Int(_) => integer(text).map(Setting::Int),
            Setting::Text(_) => Ok(Setting::Text(text.to_owned())),
            Setting::Texts(before) => {
                let all = before.iter().cloned().chain([text.to_owned()]);
                Ok(Setting::Texts(all.collect()))
            }
            Setting::Duration(_) => text.parse().map(Setting::Duration).map_err(|_| SYNTAX),
        }
    }

    fn is_zero(&self) -> bool {
        match self {
            Setting::Bool(value) => !value,
            Setting::Int(value) => *value == 0,
            Setting::Text(value) => value.is_empty(),
            Setting::Texts(values) => values.is_empty(),
            Setting::Duration(value) => *value == GoDuration::default(),
        }
    }

    fn in_usage(&self) -> String {
        match self {
            Setting::Text(value) => quote(value),
            other => other.to_string(),
        }
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Setting::Bool(value) => value.fmt(f),
            Setting::Int(value) => value.fmt(f),
            Setting::Text(value) => value.fmt(f),
            Setting::Texts(values) => values.join(",").fmt(f),
            Setting::Duration(value) => value.fmt(f),
        }
    }
}

/// An integer as Go writes them in programs: a prefix names its base, and underscores may stand between digits then.
fn integer(text: &str) -> Result<i64, &'static str> {
    const SYNTAX: &str = "parse error";
    let (negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'o', ..] => (8, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    let prefixed = lower.len() > digits.len();
    let groups: Vec<&str> = digits.split('_').collect();
    // `0x_1` and `0_1` are fine: the prefix counts as a digit.
    let empty_group = groups.iter().enumerate();
    let empty_group = empty_group
        .into_iter()
        .any(|(at, group)| group.is_empty() && !(at == 0 && groups.len() > 1 && prefixed));
    if empty_group || (groups.len() > 1 && !prefixed) {
        return Err(SYNTAX);
    }
    let digits = groups.concat();
    if !digits.chars().all(|c| c.is_digit(base)) {
        return Err(SYNTAX);
    }
    let magnitude = u64::from_str_radix(&digits, base).map_err(|_| "value out of range")?;
    let value = i128::from(magnitude) * if negative { -1 } else { 1 };
    i64::try_from(value).map_err(|_| "value out of range")
}

#[cfg(test)]
mod tests;
