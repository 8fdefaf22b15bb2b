//! The functions that wrapped a transformer of kustomize in 2021, as far as they have the same frame: a configuration is
//! read, resources are put into a map, and each is changed by way of JSON.

use kiln_krm::Resource;
use kiln_yaml::Document;

use super::path_filter::FilterError;
use super::round_trip::{Numbers, out_of_json, through_json};
use super::unstructured::take;
use super::{Generation, Marks, check_resources, fail};
use crate::function::{Context, Ending, FunctionList};

/// When a function was released, as far as the frame shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Release {
    /// Until April: errors are printed as they are.
    April,
    /// In May.
    May,
    /// In June, with the next kustomize. Resources for local use are kept, and lists as they are.
    June,
}

impl From<Release> for Generation {
    fn from(release: Release) -> Generation {
        release.generation()
    }
}

impl Release {
    /// The kustomize that it was built with.
    pub(crate) fn generation(self) -> Generation {
        match self {
            Release::April => Generation::March2021,
            Release::May => Generation::May2021,
            Release::June => Generation::June2021,
        }
    }

    /// A configuration as a function sees it; the first ones got it as values, not as text.
    pub(crate) fn see(self, config: Option<&Document>) -> Option<Document> {
        let config = config?;
        let seen = match self {
            Release::April => out_of_json(config, Numbers::Kept).ok(),
            Release::May | Release::June => None,
        };
        Some(seen.unwrap_or_else(|| config.clone()))
    }

    /// Changes a resource that has been taken.
    pub(crate) fn edit(
        self,
        resource: &mut Resource,
        change: impl FnOnce(&mut Document) -> Result<(), FilterError>,
    ) -> Result<(), FilterError> {
        let document = match self {
            Release::June => through_json(resource.document(), change)?,
            Release::April | Release::May => {
                let mut document = resource.document().clone();
                change(&mut document)?;
                out_of_json(&document, Numbers::Kept)?
            }
        };
        *resource.document_mut() = document;
        Ok(())
    }

    fn take(self, items: &mut Vec<Resource>) -> Result<(), String> {
        let generation = self.generation();
        match self {
            Release::June => check_resources(items, Marks::Nothing, generation)
                .map_err(|error| error.to_string()),
            Release::April | Release::May => {
                take(items, generation).map_err(|error| error.to_string())
            }
        }
    }
}

/// Runs a function with its configuration, or what is wrong with it: `begin` sees all resources when they have been
/// taken, and what it makes of them is there when each is changed.
pub(crate) fn transform<C, S, E: ToString>(
    list: &mut FunctionList,
    ctx: &Context<'_>,
    release: Release,
    config: Result<C, E>,
    begin: impl FnOnce(&[Resource]) -> S,
    change: impl Fn(&C, &S, &mut Resource) -> Result<(), FilterError>,
) -> Ending {
    let generation = release.generation();
    let config = match config {
        Ok(config) => config,
        Err(error) => {
            let error = format!("failed to configure function: {}", error.to_string());
            return fail(list, generation, error);
        }
    };
    if let Err(error) = release.take(&mut list.items) {
        list.items.clear();
        return fail(list, generation, format!("failed to run function: {error}"));
    }
    let state = begin(&list.items);
    for resource in &mut list.items {
        if let Err(stopped) = ctx.check() {
            return stopped.into();
        }
        if let Err(error) = change(&config, &state, resource) {
            list.items.clear();
            let error = format!("failed to run function: failed to run transformer: {error}");
            return fail(list, generation, error);
        }
    }
    list.unsettled = (0..list.items.len()).collect();
    Ending::Success
}
