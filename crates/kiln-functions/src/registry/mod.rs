//! Which functions are built in, and what each of their versions runs.
//!
//! The registry is a table. A version that is not in the table, or a digest, is not found: another evaluator may have
//! it, and a guess would run something that the user did not ask for.

mod builtin;
mod reference;
#[cfg(test)]
mod tests;

use kiln_krm::image::ImageRef;
use kiln_runtime::FunctionIdentity;

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
    pub function: &'static dyn Function,
    /// Raised whenever the output for any input may change, so that an identity always means the same outputs.
    pub behaviour: u32,
}

impl FunctionVersion {
    /// The function that releases with these tags run.
    pub const fn new(
        tags: &'static [&'static str],
        sdk: Sdk,
        function: &'static dyn Function,
    ) -> FunctionVersion {
        FunctionVersion {
            tags,
            sdk,
            function,
            behaviour: 1,
        }
    }

    /// The same with another behaviour number.
    #[must_use]
    pub const fn with_behaviour(self, behaviour: u32) -> FunctionVersion {
        FunctionVersion { behaviour, ..self }
    }
}

/// Why an image of the catalog is not built in.
pub enum NotBuiltIn {
    /// There is no function with this name.
    UnknownFunction(String),
    /// The function has no version with this tag.
    UnknownVersion {
        /// The function.
        info: &'static FunctionInfo,
        /// The tag of the image.
        tag: String,
    },
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
        self.all_functions().find(|info| info.is_called(name))
    }

    /// The same among the functions that are listed.
    pub fn listed_function(&self, name: &str) -> Option<&'static FunctionInfo> {
        self.functions().find(|info| info.is_called(name))
    }

    /// Finds the version that an image contains. Images outside the catalog, unknown versions and digests give `None`.
    pub fn find_image(&self, image: &str) -> Option<&'static FunctionVersion> {
        let (info, tag) = self.info_and_tag(image)?;
        info.version(&tag)
    }

    /// The identity of the function that an image contains, if [`Registry::find_image`] finds it.
    pub fn identity(&self, image: &str) -> Option<FunctionIdentity> {
        let (info, tag) = self.info_and_tag(image)?;
        info.identity(&tag)
    }

    fn info_and_tag(&self, image: &str) -> Option<(&'static FunctionInfo, String)> {
        let reference = ImageRef::parse(image).ok()?;
        if reference.digest.is_some() {
            return None;
        }
        let info = self.function(reference::function_name(&reference.name())?)?;
        Some((info, reference.tag.unwrap_or_else(|| "latest".to_owned())))
    }

    /// The function that an image of the catalog contains, in whichever version.
    pub fn function_of_image(&self, image: &str) -> Option<&'static FunctionInfo> {
        let reference = ImageRef::parse(image).ok()?;
        self.function(reference::function_name(&reference.name())?)
    }

    /// Why an image of the catalog is not found; `None` if it is, for other images and for digests.
    pub fn not_built_in(&self, image: &str) -> Option<NotBuiltIn> {
        let reference = ImageRef::parse(image).ok()?;
        if reference.digest.is_some() {
            return None;
        }
        let name = reference.name();
        let name = reference::function_name(&name)?;
        let tag = reference.tag.unwrap_or_else(|| "latest".to_owned());
        match self.function(name) {
            None => Some(NotBuiltIn::UnknownFunction(name.to_owned())),
            Some(info) if info.version(&tag).is_none() => {
                Some(NotBuiltIn::UnknownVersion { info, tag })
            }
            Some(_) => None,
        }
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
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.former_names.contains(&name)
    }

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

    /// The identity of the version of a tag. Tags that move, such as `latest`, become the newest release with the same
    /// behaviour.
    pub fn identity(&self, tag: &str) -> Option<FunctionIdentity> {
        let version = self.version(tag)?;
        let releases = version.tags.iter().filter(|tag| reference::is_version(tag));
        let release = match releases.clone().find(|release| **release == tag) {
            Some(release) => Some(*release),
            None => reference::newest_of_line(releases.clone().copied(), tag)
                .or_else(|| releases.copied().next_back()),
        };
        let release = release.unwrap_or(tag);
        Some(FunctionIdentity::native(
            self.name,
            release,
            version.behaviour,
        ))
    }
}
