//! Which functions there are, and which of their versions behaves how.
//!
//! A reference is resolved by a table. A version that is not in it, or a digest, is not found: another runtime may have
//! it, and guessing would run something that the user did not ask for.

mod builtin;
mod reference;
#[cfg(test)]
mod tests;

use kiln_krm::image::ImageRef;

use crate::function::Function;
use crate::sdk::Sdk;

/// A set of functions.
pub struct Registry {
    functions: &'static [&'static FunctionInfo],
}

/// A function in all its versions.
pub struct FunctionInfo {
    /// Its name.
    pub name: &'static str,
    /// What it was called in earlier versions.
    pub former_names: &'static [&'static str],
    /// What it does, in one line.
    pub summary: &'static str,
    /// Purpose, configuration and an example, for people.
    pub doc: &'static str,
    /// What it did and does, oldest first.
    pub behaviours: &'static [Behaviour],
}

/// What a function does in some of its versions.
pub struct Behaviour {
    /// The versions, oldest first: `v0.4.1`. The names `latest` and `unstable` stand for the behaviour that lists them.
    pub tags: &'static [&'static str],
    /// What the original was written with.
    pub sdk: Sdk,
    /// The function.
    pub function: &'static dyn Function,
}

impl Registry {
    /// A set of functions of your own.
    pub const fn new(functions: &'static [&'static FunctionInfo]) -> Registry {
        Registry { functions }
    }

    /// The functions of the catalog.
    pub fn builtin() -> &'static Registry {
        &builtin::REGISTRY
    }

    /// All functions, by name.
    pub fn functions(&self) -> impl Iterator<Item = &'static FunctionInfo> {
        self.functions.iter().copied()
    }

    /// A function by its name or a former one.
    pub fn function(&self, name: &str) -> Option<&'static FunctionInfo> {
        self.functions()
            .find(|info| info.name == name || info.former_names.contains(&name))
    }

    /// What an image does. None for images of others, for versions that are not known and for digests.
    pub fn find_image(&self, image: &str) -> Option<&'static Behaviour> {
        let reference = ImageRef::parse(image).ok()?;
        if reference.digest.is_some() {
            return None;
        }
        let name = reference::function_name(&reference.name())?.to_owned();
        let tag = reference.tag.unwrap_or_else(|| "latest".to_owned());
        self.function(&name)?.behaviour(&tag)
    }

    /// The versions of an image that are known, for whoever has a range of versions to choose from.
    pub fn tags(&self, image_name: &str) -> Vec<String> {
        let name = reference::function_name(image_name);
        let info = name.and_then(|name| self.function(name));
        info.into_iter()
            .flat_map(FunctionInfo::versions)
            .map(str::to_owned)
            .collect()
    }
}

impl FunctionInfo {
    /// All versions, oldest first.
    pub fn versions(&self) -> impl Iterator<Item = &'static str> {
        let tags = self.behaviours.iter().flat_map(|behaviour| behaviour.tags);
        tags.copied().filter(|tag| reference::is_version(tag))
    }

    /// What it does when nobody says which version.
    pub fn newest(&self) -> Option<&'static Behaviour> {
        self.behaviour("latest").or_else(|| self.behaviours.last())
    }

    /// What a tag stands for: a version, the newest of a line (`v0.4`, `v0`), `latest` or `unstable`.
    pub fn behaviour(&self, tag: &str) -> Option<&'static Behaviour> {
        let with = |wanted: &str| {
            let mut behaviours = self.behaviours.iter();
            behaviours.find(|behaviour| behaviour.tags.contains(&wanted))
        };
        with(tag).or_else(|| with(reference::newest_of_line(self.versions(), tag)?))
    }
}
