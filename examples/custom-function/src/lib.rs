//! A function of your own: every resource must have an owner.
//!
//! Without a configuration it only checks. With a `ConfigMap` that has an `owner` it sets the annotation where it is
//! missing.

use kiln_functions::registry::FunctionVersion;
use kiln_functions::sdk::Sdk;
use kiln_functions::{Context, Ending, Function, FunctionList};
use kiln_krm::results::Severity;

/// The annotation.
const OWNER: &str = "example.com/owner";

/// The function, and how it answers: as functions do that are written with kpt's SDK.
pub static REQUIRE_OWNER: FunctionVersion =
    FunctionVersion::new(&["latest"], Sdk::Go, &RequireOwner);

struct RequireOwner;

impl Function for RequireOwner {
    fn run(&self, list: &mut FunctionList, _: &Context<'_>) -> Ending {
        let config = list.config.as_ref();
        let owner = config.and_then(|config| config.root().get_path(&["data", "owner"])?.as_text());
        let owner = owner.map(str::to_owned);
        let mut missing = Vec::new();
        for resource in &mut list.items {
            if resource.annotation(OWNER).is_some() {
                continue;
            }
            match &owner {
                Some(owner) => {
                    if let Err(error) = resource.set_annotation(OWNER, owner) {
                        return Ending::Error(error.to_string());
                    }
                }
                None => missing.push(format!("{} has no owner", resource.name())),
            }
        }
        let failed = !missing.is_empty();
        for message in missing {
            list.report(Severity::Error, message);
        }
        match failed {
            true => Ending::Failure,
            false => Ending::Success,
        }
    }
}

#[cfg(test)]
mod tests;
