//! How a container image runs its module: the path of the module, its arguments and its variables.

use kiln_oci::RunConfig;
use serde::{Deserialize, Serialize};

use crate::run::CallSettings;

/// What an image gives to its module. Images of other forms than container images give nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ModuleCommand {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) arguments: Vec<String>,
    /// `NAME=VALUE`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) environment: Vec<String>,
}

impl ModuleCommand {
    pub(super) fn of_image(config: &RunConfig) -> ModuleCommand {
        let words = config.entrypoint.iter().chain(&config.cmd);
        ModuleCommand {
            arguments: words.skip(1).cloned().collect(),
            environment: config.env.clone(),
        }
    }

    /// The settings of a call of the module. The variables of the call replace those of the image.
    pub(super) fn settings(&self, call: &CallSettings) -> CallSettings {
        let given = |name: &str| {
            call.environment
                .iter()
                .any(|given| variable(given).0 == name)
        };
        // Engines drop a variable without a value.
        let own = self.environment.iter().filter(|own| match variable(own) {
            (name, Some(_)) => !given(name),
            (_, None) => false,
        });
        CallSettings {
            arguments: call
                .arguments
                .iter()
                .chain(&self.arguments)
                .cloned()
                .collect(),
            environment: own.chain(&call.environment).cloned().collect(),
            ..call.clone()
        }
    }
}

fn variable(text: &str) -> (&str, Option<&str>) {
    match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    }
}

/// The absolute path of the module of a container image; `None` if its command is not a module.
pub(super) fn module_path(config: &RunConfig) -> Option<String> {
    let program = config.entrypoint.iter().chain(&config.cmd).next()?;
    if !program.ends_with(".wasm") {
        return None;
    }
    let whole = match program.starts_with('/') {
        true => program.clone(),
        false => format!("{}/{program}", config.working_dir),
    };
    let mut steps = Vec::new();
    for step in whole.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    Some(format!("/{}", steps.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_path(working_dir: &str, program: &str, expected: Option<&str>) {
        let config = RunConfig {
            working_dir: working_dir.to_owned(),
            entrypoint: vec![program.to_owned()],
            ..RunConfig::default()
        };
        assert_eq!(module_path(&config).as_deref(), expected);
    }

    #[test]
    fn a_relative_path_starts_at_the_working_directory() {
        for program in ["fn.wasm", "./fn.wasm", "/app/fn.wasm", "../app//fn.wasm"] {
            check_path("/app", program, Some("/app/fn.wasm"));
        }
        check_path("app/", "fn.wasm", Some("/app/fn.wasm"));
        check_path("", "fn.wasm", Some("/fn.wasm"));
        check_path("", "../../fn.wasm", Some("/fn.wasm"));
        check_path("/app", "fn", None);
    }
}
