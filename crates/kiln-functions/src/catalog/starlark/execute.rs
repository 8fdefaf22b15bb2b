//! Runs a script on a list and returns the resulting items.
//!
//! Conversions, the run and the output count against the same limits, and all of them stop when the call is
//! cancelled.

use std::cell::Cell;

use kiln_krm::{Resource, Wrapper, write_list};
use kiln_starlark::{Dialect, Host, Members, Program, Struct, Usage, Value};
use kiln_yaml::{Document, SequenceStyle, Style};

use super::encode::EncodedItem;
use super::limits::limits;
use super::{decode, encode, open_api};
use crate::function::Context;
use crate::output::Printed;
use crate::port::go_yaml::duplicate_keys;

/// A script and how it is run.
pub(super) struct Script<'a> {
    /// The file name in messages.
    pub(super) name: &'a str,
    pub(super) source: &'a [u8],
    pub(super) dialect: Dialect,
    /// The `apiVersion` of the list that the script gets.
    pub(super) api_version: &'static str,
    pub(super) lines: Lines,
    /// Finds modules; `None` if scripts cannot load any.
    pub(super) load: Option<&'a dyn Fn(&str) -> Members>,
}

/// Which line numbers a message about a duplicate key contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lines {
    /// Lines of the single item.
    OfItem,
    /// Lines of the whole list as it is passed to a program.
    OfList,
}

pub(super) enum ExecuteError {
    Stopped,
    Message(String),
}

impl From<String> for ExecuteError {
    fn from(message: String) -> ExecuteError {
        ExecuteError::Message(message)
    }
}

impl Script<'_> {
    /// Runs the script on a list. Its printed text is appended to `stderr`.
    pub(super) fn run(
        &self,
        items: &[Resource],
        config: Option<&Document>,
        ctx: &Context<'_>,
        stderr: &mut Printed,
    ) -> Result<Vec<EncodedItem>, ExecuteError> {
        let is_stopped = Cell::new(false);
        let interrupt = || {
            is_stopped.set(ctx.check().is_err());
            is_stopped.get().then(|| "time is up".to_owned())
        };
        let usage = Usage::new(&limits(), &interrupt);
        let ended = self.run_within(&usage, items, config, ctx.environment, stderr);
        match is_stopped.get() {
            true => Err(ExecuteError::Stopped),
            false => ended.map_err(ExecuteError::Message),
        }
    }

    fn run_within(
        &self,
        usage: &Usage<'_>,
        items: &[Resource],
        config: Option<&Document>,
        environment: &[String],
        stderr: &mut Printed,
    ) -> Result<Vec<EncodedItem>, String> {
        let list = decode::resource_list(usage, self.api_version, items, config);
        let list = list.map_err(|trouble| match trouble {
            decode::DecodeFailure::Failure(failure) => failure.message().to_owned(),
            decode::DecodeFailure::DuplicateKey => self.duplicate_key(items, config),
        })?;
        let program = Program::parse(self.name, self.source, &self.dialect, &|name| name == "ctx");
        let program = program.map_err(|error| error.to_string())?;
        if self.load.is_none() && !program.loads().is_empty() {
            return Err("load not implemented by this application".to_owned());
        }
        let mut print = |line: &[u8]| {
            stderr.push_str(&String::from_utf8_lossy(line));
            stderr.push_str("\n");
        };
        let mut load = |module: &str| match self.load {
            Some(load) => Ok(load(module)),
            None => Err(String::new()),
        };
        let mut host = Host {
            usage,
            print: &mut print,
            load: &mut load,
        };
        let predeclared = [("ctx", context_value(list.clone(), environment))];
        // The values stay valid as long as the run exists.
        let _run = program
            .run(&predeclared, &mut host)
            .map_err(|error| error.to_string())?;
        let values = match self.lines {
            // kyaml's framework treats a list without items as an empty one; the SDK does not.
            Lines::OfList if !encode::has_items(&list) => Ok(Vec::new()),
            Lines::OfList | Lines::OfItem => encode::items(usage, &list),
        };
        let items = values.and_then(|values| {
            let items = values.iter().map(|value| encode::item(usage, value));
            items.collect::<Result<Vec<_>, _>>()
        });
        items.map_err(|failure| failure.message().to_owned())
    }

    /// kyaml's error about a list with a duplicate key.
    fn duplicate_key(&self, items: &[Resource], config: Option<&Document>) -> String {
        let reports = match self.lines {
            Lines::OfItem => items
                .iter()
                .flat_map(|item| duplicate_keys::reports(item.document()))
                .collect(),
            Lines::OfList => {
                let wrapper = Wrapper::resource_list(kiln_krm::Dialect::Current);
                let text = write_list(&wrapper, items, config, None);
                match kiln_yaml::parse(&text) {
                    Ok(Some(list)) => duplicate_keys::reports_of(list.root()),
                    _ => Vec::new(),
                }
            }
        };
        format!(
            "received error {} for the following resource:\n{}",
            duplicate_keys::message(&reports),
            self.list_text(items, config)
        )
    }

    /// The list in the format of kyaml's messages.
    fn list_text(&self, items: &[Resource], config: Option<&Document>) -> String {
        let mut list = Document::new_mapping();
        let root = list.root().id();
        let sequence = list.new_sequence_node();
        list.set_style(sequence, Style::FLOW);
        for item in items {
            let item = list.import(item.document().root());
            list.push_item(sequence, item);
        }
        let api_version = list.new_string(self.api_version);
        let kind = list.new_string("ResourceList");
        let entries = [
            ("apiVersion", Some(api_version)),
            ("items", Some(sequence)),
            ("kind", Some(kind)),
            (
                "functionConfig",
                config.map(|config| list.import(config.root())),
            ),
        ];
        for (key, value) in entries {
            if let Some(value) = value {
                let key = list.new_string(key);
                list.push_entry(root, key, value);
            }
        }
        kiln_yaml::to_string(&list, SequenceStyle::Compact)
    }
}

/// The value of `ctx`.
fn context_value(resource_list: Value, environment: &[String]) -> Value {
    let variables = kiln_starlark::Dict::with_capacity(environment.len());
    for variable in environment {
        if let Some((name, value)) = variable.split_once('=') {
            variables.set_str(name, Value::string(value));
        }
    }
    Value::from(Struct::new(vec![
        ("resource_list".to_owned(), resource_list),
        ("environment".to_owned(), Value::from(variables)),
        ("open_api".to_owned(), open_api::open_api()),
    ]))
}
