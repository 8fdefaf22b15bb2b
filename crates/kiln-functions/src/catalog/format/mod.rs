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
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(&["v0.1.0"], SDK, &Format(KyamlRelease::V0_10)),
        FunctionVersion::new(&["unstable", "latest"], SDK, &Format(KyamlRelease::V0_13)),
    ],
};

const SDK: Sdk = Sdk::Kyaml(ResultsForm::List, ErrorsPrinted::BelowTheList);

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
