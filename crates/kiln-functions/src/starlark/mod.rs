//! `starlark`: resources changed by a script that is part of the configuration.
//!
//! The script sees the list as dicts and lists; what it leaves in `ctx.resource_list["items"]` is the output. Everything is
//! written anew from those values: keys in alphabetical order, strings quoted only where they must be, no comments.
//!
//! Dicts have the order of their source where the original has that of Go's maps, which is none.

mod config;
mod decode;
mod encode;
mod modules;
mod open_api;
mod script;
#[cfg(test)]
mod tests;
mod time;
mod yaml_v2;

pub use script::StarlarkScript;

use kiln_krm::Resource;
use kiln_krm::results::Severity;
use kiln_starlark::{Dialect, Limits, Program, Struct, Value, World};

use crate::function::{Context, Ending, Function, FunctionList};
use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::Sdk;
use config::StarlarkRun;
use modules::{Library, MatchGvk};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "starlark",
    former_names: &[],
    summary: "Runs a Starlark script on resources",
    doc: include_str!("doc.md"),
    behaviours: &[
        Behaviour {
            tags: &["v0.4.0"],
            sdk: Sdk::Go,
            function: &Starlark {
                library: Library { match_gvk: None },
                complaints: Complaints::BehindTheToken,
            },
        },
        Behaviour {
            tags: &["v0.4.1", "v0.4.2", "v0.4.3", "v0.5.0"],
            sdk: Sdk::Go,
            function: &Starlark {
                library: Library {
                    match_gvk: Some(MatchGvk::ApiVersion),
                },
                complaints: Complaints::BehindTheToken,
            },
        },
        Behaviour {
            tags: &["v0.5.1", "v0.5.2", "unstable"],
            sdk: Sdk::Go,
            function: &Starlark {
                library: Library {
                    match_gvk: Some(MatchGvk::CoreOnly),
                },
                complaints: Complaints::AtTheToken,
            },
        },
        Behaviour {
            tags: &["v0.5.5", "latest"],
            sdk: Sdk::Go,
            function: &Starlark {
                library: Library {
                    match_gvk: Some(MatchGvk::Lenient),
                },
                complaints: Complaints::AtTheToken,
            },
        },
    ],
};

/// The function in one of its versions.
struct Starlark {
    library: Library,
    complaints: Complaints,
}

/// Where go.starlark.net places a complaint about an operand that is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Complaints {
    /// Where the parser stands, before 2024.
    BehindTheToken,
    AtTheToken,
}

impl Function for Starlark {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        match self.transform(list, ctx) {
            Ok(()) => Ending::Success,
            Err(Trouble::Stopped) => Ending::Stopped,
            Err(Trouble::Message(message)) => {
                list.results.clear();
                list.report(Severity::Error, message);
                Ending::Failure
            }
        }
    }
}

/// Why there is no output.
enum Trouble {
    Stopped,
    Message(String),
}

impl From<String> for Trouble {
    fn from(message: String) -> Trouble {
        Trouble::Message(message)
    }
}

impl Starlark {
    fn transform(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Result<(), Trouble> {
        let run = StarlarkRun::read(list.config.as_ref())?;
        let dialect = Dialect {
            complains_at_token: self.complaints == Complaints::AtTheToken,
            ..Dialect::extended()
        };
        let program = Program::parse(&run.name, run.source.as_bytes(), &dialect, &|name| {
            name == "ctx"
        });
        let program = program.map_err(|error| error.to_string())?;
        let resource_list = decode::resource_list(&list.items, list.config.as_ref())?;
        let predeclared = [("ctx", context_value(resource_list.clone(), ctx.environment))];
        let mut stopped = false;
        let mut load = |module: &str| Ok(self.library.find(module));
        let mut stderr = Vec::new();
        let mut print = |line: &[u8]| {
            stderr.extend_from_slice(line);
            stderr.push(b'\n');
        };
        let mut interrupt = || {
            stopped = ctx.check().is_err();
            stopped.then(|| "time is up".to_owned())
        };
        let mut world = World {
            limits: Limits::default(),
            print: &mut print,
            load: &mut load,
            interrupt: &mut interrupt,
        };
        let ended = program.run(&predeclared, &mut world);
        list.stderr.push_str(&String::from_utf8_lossy(&stderr));
        if stopped {
            return Err(Trouble::Stopped);
        }
        // While it lives, the values are whole.
        let _run = ended.map_err(|error| error.to_string())?;
        let values = encode::items(&resource_list)?;
        list.unsettled.clear();
        // Nothing can go wrong any more: what was read makes room for what is written.
        list.items.clear();
        for (place, value) in values.iter().enumerate() {
            let item = encode::item(value);
            if item.is_unsettled {
                list.unsettled.push(place);
            }
            list.items.push(Resource::new(item.document));
        }
        Ok(())
    }
}

/// What scripts know as `ctx`.
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
