//! `apply-replacements`: values of resources in fields of others.

mod string_typing;
#[cfg(test)]
mod tests;

use kiln_krm::meta::Meta;
use kiln_krm::results::Severity;
use kiln_yaml::Document;

use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::kustomize::Generation;
use crate::port::kustomize::decode::{DecodeError, FieldShape, Reader, StructShape, decode};
use crate::port::kustomize::replacement::{self, Replacement, replace};
use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::Sdk;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "apply-replacements",
    former_names: &[],
    summary: "Puts values of resources into fields of others",
    doc: include_str!("doc.md"),
    behaviours: &[
        Behaviour {
            tags: &["v0.1.0"],
            sdk: Sdk::SilentGo,
            function: &ApplyReplacements(Edition::First),
        },
        Behaviour {
            tags: &["v0.1.1"],
            sdk: Sdk::Go,
            function: &ApplyReplacements(Edition::Second),
        },
        Behaviour {
            tags: &["v0.1.2", "v0.1.3", "unstable"],
            sdk: Sdk::Go,
            function: &ApplyReplacements(Edition::Third),
        },
        Behaviour {
            tags: &["v0.1.5", "latest"],
            sdk: Sdk::Go,
            function: &ApplyReplacements(Edition::Newest),
        },
    ],
};

/// What sets its versions apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
enum Edition {
    /// Takes no configuration for one of the wrong kind.
    First,
    /// Says that there is no configuration.
    Second,
    /// With the engine of 2025.
    Third,
    /// Also takes plain values, and strings stay strings.
    Newest,
}

struct ApplyReplacements(Edition);

/// Why a configuration is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
enum ConfigError {
    #[error("FunctionConfig is missing. Expect `ApplyReplacements`")]
    Missing,
    #[error(
        "received functionConfig of kind {kind} and apiVersion {api_version}, only functionConfig of kind \
         ApplyReplacements and apiVersion fn.kpt.dev/v1alpha1 is supported"
    )]
    Kind { kind: String, api_version: String },
    #[error(
        "unable to convert functionConfig to replacements:\nunable to convert object to \
         *replacements.Replacements with error: {0}"
    )]
    Type(DecodeError),
}

impl Function for ApplyReplacements {
    fn run(&self, list: &mut FunctionList, _: &Context<'_>) -> Ending {
        let generation = match self.0 {
            Edition::First | Edition::Second => Generation::December2021,
            Edition::Third | Edition::Newest => Generation::Of2025,
        };
        let replacements = match self.read(list.config.as_ref()) {
            Ok(replacements) => replacements,
            Err(error) => return self.fail(list, error.to_string()),
        };
        match replace(&mut list.items, &replacements, generation) {
            Ok(changed) => list.unsettled = changed,
            Err(error) => return self.fail(list, error.to_string()),
        }
        if self.0 == Edition::Newest {
            let changed = string_typing::keep_strings(&mut list.items, &replacements);
            list.unsettled.extend(changed);
            list.unsettled.sort_unstable();
        }
        Ending::Success
    }
}

impl ApplyReplacements {
    fn fail(&self, list: &mut FunctionList, message: String) -> Ending {
        list.report(Severity::Error, message);
        match self.0 {
            // Its SDK says nothing about a failure.
            Edition::First => Ending::Exit {
                code: 1,
                stderr: String::new(),
            },
            _ => Ending::Failure,
        }
    }

    fn read(&self, config: Option<&Document>) -> Result<Vec<Replacement>, ConfigError> {
        let config = config.filter(|config| !config.root().is_empty());
        let Some(document) = config else {
            return Err(match self.0 {
                Edition::First => ConfigError::Kind {
                    kind: String::new(),
                    api_version: String::new(),
                },
                _ => ConfigError::Missing,
            });
        };
        let meta = Meta::of(document.root());
        if (meta.api_version, meta.kind) != ("fn.kpt.dev/v1alpha1", "ApplyReplacements") {
            return Err(ConfigError::Kind {
                kind: meta.kind.to_owned(),
                api_version: meta.api_version.to_owned(),
            });
        }
        let value = decode(document, &REPLACEMENTS, Reader::Json).map_err(ConfigError::Type)?;
        let mut replacements = Replacement::list(value.field("replacements"));
        if self.0 != Edition::Newest {
            for replacement in &mut replacements {
                replacement.source_value = None;
            }
        }
        Ok(replacements)
    }
}

static REPLACEMENTS: StructShape = StructShape {
    name: "Replacements",
    go_type: "replacements.Replacements",
    fields: &[FieldShape::new("replacements", replacement::SHAPE)],
};
