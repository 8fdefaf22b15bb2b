//! `ensure-name-substring`: adds a prefix or a suffix to names, and to references to them.

mod config;
mod rename;
#[cfg(test)]
mod tests;

use crate::function::{Context, Ending, Function, FunctionList, ListHeads};
use crate::port::kustomize::{
    FieldSpec, History, KustomizeRelease, ResourceMarks, check_resources, fix_references,
};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};
use config::EnsureNameSubstringConfig;
use rename::Renamer;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "ensure-name-substring",
    former_names: &[],
    summary: "Adds a prefix or a suffix to names that do not contain it",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(
            &["v0.1.1"],
            sdk(ErrorsPrinted::Twice),
            &EnsureNameSubstring(EnsureNameSubstringRelease::V0_1_1),
        ),
        FunctionVersion::new(
            &["v0.2.0"],
            sdk(ErrorsPrinted::Once),
            &EnsureNameSubstring(EnsureNameSubstringRelease::V0_2_0),
        ),
        FunctionVersion::new(
            &["v0.2.1", "unstable", "latest"],
            sdk(ErrorsPrinted::Once),
            &EnsureNameSubstring(EnsureNameSubstringRelease::V0_2_1),
        ),
    ],
};

/// No release has results.
const fn sdk(errors: ErrorsPrinted) -> Sdk {
    Sdk::Kyaml(ResultsForm::List, errors)
}

/// Releases that behave differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EnsureNameSubstringRelease {
    /// Ignores `depends-on`, renames Kptfiles, and prints the field specs.
    V0_1_1,
    V0_2_0,
    /// Removes the path annotations of resources, so that they are written to new files.
    V0_2_1,
}

struct EnsureNameSubstring(EnsureNameSubstringRelease);

impl Function for EnsureNameSubstring {
    fn list_heads(&self) -> ListHeads {
        match self.0 {
            EnsureNameSubstringRelease::V0_1_1 | EnsureNameSubstringRelease::V0_2_0 => {
                ListHeads::ItemOrFirstField
            }
            EnsureNameSubstringRelease::V0_2_1 => ListHeads::Own,
        }
    }

    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let kustomize = match self.0 {
            EnsureNameSubstringRelease::V0_1_1 | EnsureNameSubstringRelease::V0_2_0 => {
                KustomizeRelease::Api0_8
            }
            EnsureNameSubstringRelease::V0_2_1 => KustomizeRelease::Api0_10,
        };
        let config = match EnsureNameSubstringConfig::read(list.config.as_ref()) {
            Ok(config) => config,
            Err(error) => {
                return Ending::Error(format!("failed to load the `functionConfig`: {error}"));
            }
        };
        if self.0 == EnsureNameSubstringRelease::V0_1_1 {
            let specs: Vec<String> = rename::specs(&config).map(go_syntax).collect();
            let line = format!(
                "ens.AdditionalNameFields: []types.FieldSpec{{{}}}\n",
                specs.join(", ")
            );
            list.stderr.push_str(&line);
        }
        if let Err(error) = check_resources(&mut list.items, ResourceMarks::Nothing, kustomize) {
            let error = format!("failed to convert items to resource map: {error}");
            return Ending::Error(error);
        }
        let is_first = self.0 == EnsureNameSubstringRelease::V0_1_1;
        let mut renamer = Renamer::new(&config, kustomize, is_first, &list.items);
        for (place, resource) in list.items.iter_mut().enumerate() {
            if let Err(stopped) = ctx.check() {
                return stopped.into();
            }
            match renamer.rename(resource) {
                Ok(true) => list.unsettled.push(place),
                Ok(false) => {}
                Err(error) => {
                    return Ending::Error(format!("failed to transform name substring: {error}"));
                }
            }
        }
        match fix_references(&mut list.items, kustomize) {
            Ok(unsettled) => list.unsettled.extend(unsettled),
            Err(error) => {
                return Ending::Error(format!("failed to fix name back reference: {error}"));
            }
        }
        for (place, resource) in list.items.iter_mut().enumerate() {
            if let Err(stopped) = ctx.check() {
                return stopped.into();
            }
            if History::of(resource, kustomize).forget() {
                list.unsettled.push(place);
            }
        }
        list.unsettled.sort_unstable();
        Ending::Success
    }
}

/// A field spec in the format in which Go prints it.
fn go_syntax(spec: &FieldSpec) -> String {
    let quote = kiln_go::quote;
    format!(
        "types.FieldSpec{{Gvk:resid.Gvk{{Group:{}, Version:{}, Kind:{}, isClusterScoped:false}}, Path:{}, CreateIfNotPresent:{}}}",
        quote(&spec.group),
        quote(&spec.version),
        quote(&spec.kind),
        quote(&spec.path),
        spec.create
    )
}
