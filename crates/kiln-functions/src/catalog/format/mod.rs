//! format: sorts the fields of all resources and quotes scalars as the Kubernetes types require.

#[cfg(test)]
mod tests;

use kiln_krm::annotations::FamilyError;

use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::kyaml::{
    FormatError, KyamlRelease, SetFieldError, check_path, format, in_step, lift_comments,
};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "format",
    former_names: &[],
    summary: "Formats the fields of resources",
    doc: "\
Sorts the fields of every resource in the usual order: `apiVersion`, `kind`, `metadata` and so on, unknown fields
alphabetically. Containers of workloads are sorted by name. Where the type of a field is known, strings that look like
another type get quotes, and numbers and booleans lose theirs. Comments are kept.

It takes no configuration. A resource with the annotation `config.kubernetes.io/formatting: none` is not
formatted; the only other valid value is `standard`.
",
    versions: &[
        FunctionVersion {
            tags: &["v0.1.0"],
            sdk: SDK,
            function: &Format(KyamlRelease::V0_10),
        },
        FunctionVersion {
            tags: &["unstable", "latest"],
            sdk: SDK,
            function: &Format(KyamlRelease::V0_13),
        },
    ],
};

const SDK: Sdk = Sdk::Kyaml {
    results: ResultsForm::List,
    errors: ErrorsPrinted::BelowTheList,
};

struct Format(KyamlRelease);

#[derive(Debug, thiserror::Error)]
enum FormatFunctionError {
    #[error("failed to format resources: {0}")]
    Format(FormatError),
    #[error(transparent)]
    Families(#[from] FamilyError),
    #[error(transparent)]
    Metadata(#[from] SetFieldError),
}

impl Function for Format {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let outcome = match self.0 {
            KyamlRelease::V0_10 | KyamlRelease::V0_12 => {
                let outcome = self.format(list, ctx);
                lift_comments(list);
                check_metadata(list).and(outcome)
            }
            KyamlRelease::V0_13 => in_step(list, |list| self.format(list, ctx)),
        };
        outcome.unwrap_or_else(|error| Ending::Error(error.to_string()))
    }
}

impl Format {
    fn format(
        &self,
        list: &mut FunctionList,
        ctx: &Context<'_>,
    ) -> Result<Ending, FormatFunctionError> {
        for (place, resource) in list.items.iter_mut().enumerate() {
            if let Err(stopped) = ctx.check() {
                return Ok(stopped.into());
            }
            let is_changed = format(resource.document_mut(), Some(self.0))
                .map_err(FormatFunctionError::Format)?;
            if is_changed {
                list.unsettled.push(place);
            }
        }
        Ok(Ending::Success)
    }
}

/// The final check of the writer.
fn check_metadata(list: &FunctionList) -> Result<(), FormatFunctionError> {
    for resource in &list.items {
        check_path(resource.document(), &["metadata"])?;
    }
    Ok(())
}
