//! drop-comments: passes resources through JSON, which drops their comments. It serves to test that comments are
//! restored.

use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::kustomize::round_trip;
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "drop-comments",
    former_names: &[],
    summary: "Drops all comments",
    doc: "\
Turns all resources into JSON and back, which drops their comments, to test that comments are restored.
It takes no configuration.
",
    versions: &[FunctionVersion::new(&["latest"], Sdk::Kyaml(ResultsForm::List, ErrorsPrinted::Twice), &DropComments)],
};

struct DropComments;

impl Function for DropComments {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        for resource in &mut list.items {
            if let Err(stopped) = ctx.check() {
                return stopped.into();
            }
            match round_trip(resource.document()) {
                Ok(document) => *resource.document_mut() = document,
                Err(error) => return Ending::Error(error.to_string()),
            }
        }
        Ending::Success
    }
}
