//! Images that are not built in, because the name, the version or the path is misspelt or unknown.

use kiln_functions::registry::{FunctionInfo, NotBuiltIn, Registry};
use kiln_krm::image::{DEFAULT_PREFIX, ImageRef};
use kiln_krm::{paths, similar_name};

/// What is wrong with an image of the catalog that is not built in, and what the user may have meant.
pub(crate) struct UnknownFunction {
    pub(crate) problem: String,
    /// What the user may have meant, if there is something similar.
    pub(crate) suggestion: Option<String>,
}

impl UnknownFunction {
    /// The message if the image cannot be run either.
    pub(crate) fn message(&self) -> String {
        format!("{}, and its image is not available", self.problem)
    }
}

/// `None` if the image is built in or does not belong to the catalog.
pub(crate) fn unknown_image(image: &str) -> Option<UnknownFunction> {
    Some(match Registry::builtin().not_built_in(image)? {
        NotBuiltIn::UnknownFunction(name) => unknown_name(&name),
        NotBuiltIn::UnknownVersion { info, tag } => unknown_version(info, &tag),
    })
}

/// The hint for an image that could not be run: what the user may have meant, or else what to do about `failure`, which may
/// be something else too if the image does not belong to the catalog.
pub(crate) fn image_hint(image: &str, failure: Option<String>) -> Option<String> {
    let unknown = unknown_image(image).and_then(|unknown| unknown.suggestion);
    match unknown {
        Some(suggestion) => Some(suggestion),
        None => either(in_catalog(image), failure),
    }
}

/// The same for an image of which no version is in the range that the user wants. `image` has no version.
pub(crate) fn range_hint(image: &str, failure: Option<String>) -> Option<String> {
    let registry = Registry::builtin();
    let versions = match registry.function_of_image(image) {
        Some(info) => {
            let (name, versions) = (info.name, versions(info));
            Some(format!("the built-in versions of {name} are {versions}"))
        }
        None => match registry.not_built_in(image) {
            Some(NotBuiltIn::UnknownFunction(name)) => unknown_name(&name).suggestion,
            Some(NotBuiltIn::UnknownVersion { .. }) | None => in_catalog(image),
        },
    };
    either(versions, failure)
}

fn either(first: Option<String>, second: Option<String>) -> Option<String> {
    let hints: Vec<String> = first.into_iter().chain(second).collect();
    (!hints.is_empty()).then(|| hints.join("; or: "))
}

/// The built-in function that is called like an image outside of the catalog, for which the path may be wrong.
fn in_catalog(image: &str) -> Option<String> {
    let registry = Registry::builtin();
    let reference = ImageRef::parse(image).ok()?;
    let is_of_catalog =
        registry.function_of_image(image).is_some() || registry.not_built_in(image).is_some();
    if is_of_catalog || reference.digest.is_some() {
        return None;
    }
    let name = paths::base(&reference.repository);
    let names = registry.functions().map(|info| info.name);
    let info = registry.listed_function(similar_name(name, names)?)?;
    let tag = reference.tag.filter(|tag| info.version(tag).is_some());
    let tag = tag.map_or_else(String::new, |tag| format!(":{tag}"));
    let (name, versions) = (info.name, versions(info));
    Some(format!(
        "did you mean {DEFAULT_PREFIX}/{name}{tag}? Its built-in versions are {versions}"
    ))
}

/// A name that no built-in function has.
pub(crate) fn unknown_name(name: &str) -> UnknownFunction {
    let registry = Registry::builtin();
    let names = registry.functions().map(|info| info.name);
    let similar = similar_name(paths::base(name), names);
    let similar = similar.and_then(|similar| registry.function(similar));
    UnknownFunction {
        problem: format!("{name:?} is not a built-in function"),
        suggestion: similar.map(|info| {
            let (name, versions) = (info.name, versions(info));
            format!("did you mean {name}? Its built-in versions are {versions}")
        }),
    }
}

/// A version that a built-in function does not have.
pub(crate) fn unknown_version(info: &FunctionInfo, tag: &str) -> UnknownFunction {
    let (name, versions) = (info.name, versions(info));
    UnknownFunction {
        problem: format!("{name} has no built-in version {tag:?}"),
        suggestion: Some(
            match info.version_tags().find(|known| is_same(known, tag)) {
                Some(same) => {
                    format!("did you mean {name}:{same}? The built-in versions are {versions}")
                }
                None => format!("the built-in versions of {name} are {versions}"),
            },
        ),
    }
}

/// Whether two versions differ only by the letter.
fn is_same(known: &str, tag: &str) -> bool {
    let number = |tag: &str| tag.trim_start_matches(['v', 'V']).to_owned();
    number(known) == number(tag)
}

fn versions(info: &FunctionInfo) -> String {
    let versions: Vec<&str> = info.version_tags().collect();
    versions.join(", ")
}
