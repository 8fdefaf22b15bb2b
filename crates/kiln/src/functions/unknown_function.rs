//! Images of the catalog that are not built in, because the name or the version is misspelt or unknown.

use kiln_functions::registry::{FunctionInfo, NotBuiltIn, Registry};
use kiln_krm::similar_name;

/// What is wrong with an image of the catalog that is not built in, and what the user may have meant.
pub(crate) struct UnknownFunction {
    pub(crate) problem: String,
    /// What the user may have meant, if there is something similar.
    pub(crate) suggestion: Option<String>,
}

/// `None` if the image is built in or does not belong to the catalog.
pub(crate) fn unknown_image(image: &str) -> Option<UnknownFunction> {
    Some(match Registry::builtin().not_built_in(image)? {
        NotBuiltIn::UnknownFunction(name) => unknown_name(&name),
        NotBuiltIn::UnknownVersion { info, tag } => unknown_version(info, &tag),
    })
}

/// A name that no built-in function has.
pub(crate) fn unknown_name(name: &str) -> UnknownFunction {
    let registry = Registry::builtin();
    let names = registry.functions().map(|info| info.name);
    let similar = similar_name(name, names).and_then(|similar| registry.function(similar));
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
