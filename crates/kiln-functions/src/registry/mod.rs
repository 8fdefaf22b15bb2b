//! Which functions are built in, and what each of their versions runs.
//!
//! The registry is a table. A version that is not in the table, or a digest, is not found: another evaluator may have
//! it, and a guess would run something that the user did not ask for.

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
    unlisted: &'static [&'static FunctionInfo],
}

/// A function in all its versions.
pub struct FunctionInfo {
    /// `set-namespace`
    pub name: &'static str,
    /// Names of the function in earlier versions.
    pub former_names: &'static [&'static str],
    /// What it does, in one line.
    pub summary: &'static str,
    /// Purpose, configuration and an example.
    pub doc: &'static str,
    /// Oldest first.
    pub versions: &'static [FunctionVersion],
}

/// A function as one or more of its releases have it.
pub struct FunctionVersion {
    /// The releases with this behaviour, oldest first: `v0.4.1`. `latest` and `unstable` are tags like any other.
    pub tags: &'static [&'static str],
    /// The SDK that the original was written with.
    pub sdk: Sdk,
    /// What runs.
    pub function: &'static dyn Function,
}

impl Registry {
    /// A registry of your own functions.
    pub const fn new(functions: &'static [&'static FunctionInfo]) -> Registry {
        Registry {
            functions,
            unlisted: &[],
        }
    }

    /// The functions of the catalog.
    pub fn builtin() -> &'static Registry {
        &builtin::REGISTRY
    }

    /// The functions that are listed and documented, sorted by name.
    pub fn functions(&self) -> impl Iterator<Item = &'static FunctionInfo> {
        self.functions.iter().copied()
    }

    /// The listed functions, then those of kpt's own test suite.
    pub fn all_functions(&self) -> impl Iterator<Item = &'static FunctionInfo> {
        self.functions().chain(self.unlisted.iter().copied())
    }

    /// Finds a function by its name or a former name.
    pub fn function(&self, name: &str) -> Option<&'static FunctionInfo> {
        self.all_functions()
            .find(|info| info.name == name || info.former_names.contains(&name))
    }

    /// Finds the version that an image contains. Images outside the catalog, unknown versions and digests give `None`.
    pub fn find_image(&self, image: &str) -> Option<&'static FunctionVersion> {
        let reference = ImageRef::parse(image).ok()?;
        if reference.digest.is_some() {
            return None;
        }
        let name = reference::function_name(&reference.name())?.to_owned();
        let tag = reference.tag.unwrap_or_else(|| "latest".to_owned());
        self.function(&name)?.version(&tag)
    }

    /// The known versions of an image, to resolve a range of versions.
    pub fn tags(&self, image_name: &str) -> Vec<String> {
        let name = reference::function_name(image_name);
        let info = name.and_then(|name| self.function(name));
        info.into_iter()
            .flat_map(FunctionInfo::version_tags)
            .map(str::to_owned)
            .collect()
    }
}

impl FunctionInfo {
    /// The tags that are whole versions, oldest first.
    pub fn version_tags(&self) -> impl Iterator<Item = &'static str> {
        let tags = self.versions.iter().flat_map(|version| version.tags);
        tags.copied().filter(|tag| reference::is_version(tag))
    }

    /// The version that runs when the caller names none.
    pub fn newest(&self) -> Option<&'static FunctionVersion> {
        self.version("latest").or_else(|| self.versions.last())
    }

    /// The version of a tag: a whole version, the newest of a line (`v0.4`, `v0`), `latest` or `unstable`.
    pub fn version(&self, tag: &str) -> Option<&'static FunctionVersion> {
        let with = |wanted: &str| {
            let mut versions = self.versions.iter();
            versions.find(|version| version.tags.contains(&wanted))
        };
        with(tag).or_else(|| with(reference::newest_of_line(self.version_tags(), tag)?))
    }
}
