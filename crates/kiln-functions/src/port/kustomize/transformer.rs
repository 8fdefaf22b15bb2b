//! The common part of the functions that wrapped a kustomize transformer in 2021: the configuration is read,
//! resources are put into a map, and each is changed by way of JSON.

use kiln_krm::Resource;
use kiln_yaml::Document;

use super::path_filter::FilterError;
use super::round_trip::{MergeKeys, Numbers, out_of_json, through_json};
use super::unstructured::take;
use super::{KustomizeRelease, ResourceMarks, check_resources, fail};
use crate::function::{Context, Ending, FunctionList};

/// The kyaml that such a function was built with, which decides how the common part behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TransformerRelease {
    /// Released up to April 2021: errors are printed without a prefix.
    Kyaml0_10_5,
    /// Released in May 2021.
    Kyaml0_10_20,
    /// Released in June 2021, with kustomize api 0.8: local configuration is kept, and lists are not split.
    Kyaml0_10_21,
}

impl From<TransformerRelease> for KustomizeRelease {
    fn from(release: TransformerRelease) -> KustomizeRelease {
        release.kustomize()
    }
}

impl TransformerRelease {
    /// The kustomize that it was built with.
    pub(crate) fn kustomize(self) -> KustomizeRelease {
        match self {
            TransformerRelease::Kyaml0_10_5 => KustomizeRelease::Api0_7,
            TransformerRelease::Kyaml0_10_20 => KustomizeRelease::Api0_7Kyaml0_10_20,
            TransformerRelease::Kyaml0_10_21 => KustomizeRelease::Api0_8,
        }
    }

    /// The configuration as a function gets it; the first releases decoded it to values.
    pub(crate) fn see(self, config: Option<&Document>) -> Option<Document> {
        let config = config?;
        let seen = match self {
            TransformerRelease::Kyaml0_10_5 => out_of_json(config, Numbers::Kept).ok(),
            TransformerRelease::Kyaml0_10_20 | TransformerRelease::Kyaml0_10_21 => None,
        };
        Some(seen.unwrap_or_else(|| config.clone()))
    }

    /// Changes a resource of the map.
    pub(crate) fn edit(
        self,
        resource: &mut Resource,
        change: impl FnOnce(&mut Document) -> Result<(), FilterError>,
    ) -> Result<(), FilterError> {
        let document = match self {
            TransformerRelease::Kyaml0_10_21 => {
                through_json(resource.document(), MergeKeys::Refused, change)?
            }
            TransformerRelease::Kyaml0_10_5 | TransformerRelease::Kyaml0_10_20 => {
                let mut document = resource.document().clone();
                change(&mut document)?;
                out_of_json(&document, Numbers::Kept)?
            }
        };
        *resource.document_mut() = document;
        Ok(())
    }

    fn take(self, items: &mut Vec<Resource>) -> Result<(), String> {
        let kustomize = self.kustomize();
        match self {
            TransformerRelease::Kyaml0_10_21 => {
                check_resources(items, ResourceMarks::Nothing, kustomize)
                    .map_err(|error| error.to_string())
            }
            TransformerRelease::Kyaml0_10_5 | TransformerRelease::Kyaml0_10_20 => {
                take(items, kustomize).map_err(|error| error.to_string())
            }
        }
    }
}

/// Runs a function with its configuration: `begin` gets all resources of the map, and its result is passed to every
/// `change`.
pub(crate) fn transform<C, S, E: ToString>(
    list: &mut FunctionList,
    ctx: &Context<'_>,
    release: TransformerRelease,
    config: Result<C, E>,
    begin: impl FnOnce(&[Resource]) -> S,
    change: impl Fn(&C, &S, &mut Resource) -> Result<(), FilterError>,
) -> Ending {
    let kustomize = release.kustomize();
    let config = match config {
        Ok(config) => config,
        Err(error) => {
            let error = format!("failed to configure function: {}", error.to_string());
            return fail(list, kustomize, error);
        }
    };
    if let Err(error) = release.take(&mut list.items) {
        list.items.clear();
        return fail(list, kustomize, format!("failed to run function: {error}"));
    }
    let state = begin(&list.items);
    for resource in &mut list.items {
        if let Err(stopped) = ctx.check() {
            return stopped.into();
        }
        if let Err(error) = change(&config, &state, resource) {
            list.items.clear();
            let error = format!("failed to run function: failed to run transformer: {error}");
            return fail(list, kustomize, error);
        }
    }
    list.unsettled = (0..list.items.len()).collect();
    Ending::Success
}
