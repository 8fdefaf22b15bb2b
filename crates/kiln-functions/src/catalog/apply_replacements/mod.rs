//! `apply-replacements`: copies values of resources into fields of other resources.

mod string_typing;
#[cfg(test)]
mod tests;

use kiln_krm::meta::Meta;
use kiln_krm::results::Severity;
use kiln_yaml::Document;

use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::kustomize::KustomizeRelease;
use crate::port::kustomize::decode::{DecodeError, FieldShape, StructShape, YamlReader, decode};
use crate::port::kustomize::replacement::{self, Replacement, replace};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::Sdk;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "apply-replacements",
    former_names: &[],
    summary: "Copies values of resources into fields of other resources",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(
            &["v0.1.0"],
            Sdk::SilentGo,
            &ApplyReplacements(ApplyReplacementsRelease::V0_1_0),
        ),
        FunctionVersion::new(
            &["v0.1.1"],
            Sdk::Go,
            &ApplyReplacements(ApplyReplacementsRelease::V0_1_1),
        ),
        FunctionVersion::new(
            &["v0.1.2", "v0.1.3", "unstable"],
            Sdk::Go,
            &ApplyReplacements(ApplyReplacementsRelease::V0_1_2),
        ),
        FunctionVersion::new(
            &["v0.1.5", "latest"],
            Sdk::Go,
            &ApplyReplacements(ApplyReplacementsRelease::V0_1_5),
        ),
    ],
};

/// Releases that behave differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
enum ApplyReplacementsRelease {
    /// Reports a missing configuration as one of the wrong kind.
    V0_1_0,
    /// Reports that the configuration is missing.
    V0_1_1,
    /// Uses kustomize's replacements of 2025.
    V0_1_2,
    /// Also takes literal source values, and keeps strings strings.
    V0_1_5,
}

struct ApplyReplacements(ApplyReplacementsRelease);

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
enum ApplyReplacementsConfigError {
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
        let kustomize = match self.0 {
            ApplyReplacementsRelease::V0_1_0 | ApplyReplacementsRelease::V0_1_1 => {
                KustomizeRelease::Api0_10
            }
            ApplyReplacementsRelease::V0_1_2 | ApplyReplacementsRelease::V0_1_5 => {
                KustomizeRelease::Api0_19
            }
        };
        let replacements = match self.read(list.config.as_ref()) {
            Ok(replacements) => replacements,
            Err(error) => return self.fail(list, error.to_string()),
        };
        match replace(&mut list.items, &replacements, kustomize) {
            Ok(changed) => list.unsettled = changed,
            Err(error) => return self.fail(list, error.to_string()),
        }
        if self.0 == ApplyReplacementsRelease::V0_1_5 {
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
            // The SDK of this release prints nothing on failure.
            ApplyReplacementsRelease::V0_1_0 => Ending::Exit {
                code: 1,
                stderr: String::new(),
            },
            _ => Ending::Failure,
        }
    }

    fn read(
        &self,
        config: Option<&Document>,
    ) -> Result<Vec<Replacement>, ApplyReplacementsConfigError> {
        let config = config.filter(|config| !config.root().is_empty());
        let Some(document) = config else {
            return Err(match self.0 {
                ApplyReplacementsRelease::V0_1_0 => ApplyReplacementsConfigError::Kind {
                    kind: String::new(),
                    api_version: String::new(),
                },
                _ => ApplyReplacementsConfigError::Missing,
            });
        };
        let meta = Meta::of(document.root());
        if (meta.api_version, meta.kind) != ("fn.kpt.dev/v1alpha1", "ApplyReplacements") {
            return Err(ApplyReplacementsConfigError::Kind {
                kind: meta.kind.to_owned(),
                api_version: meta.api_version.to_owned(),
            });
        }
        let value = decode(document, &REPLACEMENTS, YamlReader::Json)
            .map_err(ApplyReplacementsConfigError::Type)?;
        let mut replacements = Replacement::list(value.field("replacements"));
        if self.0 != ApplyReplacementsRelease::V0_1_5 {
            for replacement in &mut replacements {
                replacement.source_value = None;
            }
        }
        Ok(replacements)
    }
}

static REPLACEMENTS: StructShape = StructShape {
    go_type: "replacements.Replacements",
    fields: &[FieldShape::new("replacements", replacement::SHAPE)],
};
