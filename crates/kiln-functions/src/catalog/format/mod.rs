//! format: fields of all resources in the order that people expect, and quotes as the types of Kubernetes want them.

#[cfg(test)]
mod tests;

use kiln_krm::annotations::FamilyError;

use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::kyaml::{
    FormatError, Generation, SetFieldError, check_path, format, in_step, lift_comments,
};
use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "format",
    former_names: &[],
    summary: "Formats the fields of resources",
    doc: "\
Puts the fields of every resource in the order that people expect: `apiVersion`, `kind`, `metadata` and so on, those
that are not known by the alphabet. Containers of workloads are sorted by name. Where the type of a field is known,
texts that look like something else get quotes, and numbers and booleans lose theirs. Comments stay.

It takes no configuration. A resource with the annotation `config.kubernetes.io/formatting: none` is left alone;
`standard` is the only other value there is.
",
    behaviours: &[
        Behaviour {
            tags: &["v0.1.0"],
            sdk: SDK,
            function: &Format(Generation::First),
        },
        Behaviour {
            tags: &["unstable", "latest"],
            sdk: SDK,
            function: &Format(Generation::Third),
        },
    ],
};

const SDK: Sdk = Sdk::Kyaml {
    results: ResultsForm::List,
    errors: ErrorsPrinted::BelowTheList,
};

/// The function as the kyaml of a generation makes it.
struct Format(Generation);

#[derive(Debug, thiserror::Error)]
enum RunError {
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
            Generation::First | Generation::Second => {
                let outcome = self.format(list, ctx);
                lift_comments(list);
                check_metadata(list).and(outcome)
            }
            Generation::Third => in_step(list, |list| self.format(list, ctx)),
        };
        outcome.unwrap_or_else(|error| Ending::Error(error.to_string()))
    }
}

impl Format {
    fn format(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Result<Ending, RunError> {
        for (place, resource) in list.items.iter_mut().enumerate() {
            if let Err(stopped) = ctx.check() {
                return Ok(stopped.into());
            }
            let is_changed =
                format(resource.document_mut(), Some(self.0)).map_err(RunError::Format)?;
            if is_changed {
                list.unsettled.push(place);
            }
        }
        Ok(Ending::Success)
    }
}

/// What the writer asks of resources. It has the last word.
fn check_metadata(list: &FunctionList) -> Result<(), RunError> {
    for resource in &list.items {
        check_path(resource.document(), &["metadata"])?;
    }
    Ok(())
}
