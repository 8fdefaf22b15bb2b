//! `ensure-name-substring`: a prefix or a suffix for names, and for what refers to them.

mod config;
mod rename;
#[cfg(test)]
mod tests;

use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::kustomize::{
    FieldSpec, Generation, History, Marks, check_resources, fix_references,
};
use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};
use config::Config;
use rename::Renamer;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "ensure-name-substring",
    former_names: &[],
    summary: "Puts a prefix or a suffix to names that do not have it",
    doc: include_str!("doc.md"),
    behaviours: &[
        Behaviour {
            tags: &["v0.1.1"],
            sdk: sdk(ErrorsPrinted::Twice),
            function: &EnsureNameSubstring(Edition::First),
        },
        Behaviour {
            tags: &["v0.2.0"],
            sdk: sdk(ErrorsPrinted::Once),
            function: &EnsureNameSubstring(Edition::Second),
        },
        Behaviour {
            tags: &["v0.2.1", "unstable", "latest"],
            sdk: sdk(ErrorsPrinted::Once),
            function: &EnsureNameSubstring(Edition::Third),
        },
    ],
};

/// None of them has results.
const fn sdk(errors: ErrorsPrinted) -> Sdk {
    Sdk::Kyaml {
        results: ResultsForm::List,
        errors,
    }
}

/// The releases, as far as they differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Edition {
    /// Knows of no `depends-on` and renames Kptfiles; says which fields have names.
    First,
    Second,
    /// Takes off where resources are kept, so that they get new files.
    Third,
}

struct EnsureNameSubstring(Edition);

impl Function for EnsureNameSubstring {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let generation = match self.0 {
            Edition::First | Edition::Second => Generation::June2021,
            Edition::Third => Generation::December2021,
        };
        let config = match Config::read(list.config.as_ref()) {
            Ok(config) => config,
            Err(error) => {
                return Ending::Error(format!("failed to load the `functionConfig`: {error}"));
            }
        };
        if self.0 == Edition::First {
            let specs: Vec<String> = rename::specs(&config).map(go_syntax).collect();
            let line = format!(
                "ens.AdditionalNameFields: []types.FieldSpec{{{}}}\n",
                specs.join(", ")
            );
            list.stderr.push_str(&line);
        }
        if let Err(error) = check_resources(&mut list.items, Marks::Nothing, generation) {
            let error = format!("failed to convert items to resource map: {error}");
            return Ending::Error(error);
        }
        let is_first = self.0 == Edition::First;
        let mut renamer = Renamer::new(&config, generation, is_first, &list.items);
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
        match fix_references(&mut list.items, generation) {
            Ok(unsettled) => list.unsettled.extend(unsettled),
            Err(error) => {
                return Ending::Error(format!("failed to fix name back reference: {error}"));
            }
        }
        for (place, resource) in list.items.iter_mut().enumerate() {
            if let Err(stopped) = ctx.check() {
                return stopped.into();
            }
            if History::of(resource, generation).forget() {
                list.unsettled.push(place);
            }
        }
        list.unsettled.sort_unstable();
        Ending::Success
    }
}

/// A field spec as Go prints it.
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
