//! Whether a pipeline can be run: what must hold before any of its functions does.
//!
//! Files are not opened here; the caller says what is in them.

use std::collections::HashSet;

use kiln_go::quote;
use kiln_yaml::Document;

use super::{Function, Kptfile, Pipeline};
use crate::check::{NotKrm, check_resource};
use crate::image::{self, ImageRef};
use crate::paths;

/// A pipeline cannot be run. Displayed in several lines, the last of which ends too, as kpt prints it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InvalidPipeline {
    /// The path of the field in the Kptfile.
    pub field: String,
    /// The field's value; empty where the field is not a text.
    pub value: String,
    /// Which rule is broken.
    pub problem: PipelineProblem,
    /// What is wrong, in kpt's words.
    pub reason: String,
    /// The image of the function in question; empty if it has none.
    pub image: String,
}

/// Which rule a pipeline breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PipelineProblem {
    /// A function has neither `image` nor `exec`.
    NoFunction,
    /// A function has both `image` and `exec`.
    ImageAndExec,
    /// `image` is not an image reference.
    InvalidImage,
    /// A function has both `configMap` and `configPath`.
    ConfigMapAndConfigPath,
    /// `configPath` is not the path of a functionConfig in the package.
    InvalidConfigPath,
}

impl std::fmt::Display for InvalidPipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "Kptfile is invalid:\nField: `{}`", self.field)?;
        if !self.value.is_empty() {
            writeln!(f, "Value: {}", quote(&self.value))?;
        }
        writeln!(f, "Reason: {}", self.reason)
    }
}

impl std::error::Error for InvalidPipeline {}

impl InvalidPipeline {
    /// The error as a link of the chain of causes that a render keeps in the Kptfile's status.
    pub fn chain_text(&self) -> String {
        let image = quote(&self.image);
        format!("invalid pipeline: function {image}: {self}")
    }
}

/// Which list of a pipeline a function stands in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum FunctionKind {
    Mutator,
    Validator,
}

impl FunctionKind {
    /// The word for one function of this kind.
    pub fn name(self) -> &'static str {
        match self {
            FunctionKind::Mutator => "mutator",
            FunctionKind::Validator => "validator",
        }
    }

    /// The key of the list in a pipeline.
    pub fn list(self) -> &'static str {
        match self {
            FunctionKind::Mutator => "mutators",
            FunctionKind::Validator => "validators",
        }
    }
}

/// Why a functionConfig's file gave no documents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OpenConfigError {
    /// It could not be opened. Holds the operating system's words.
    Open(String),
    /// It could not be read, or is not YAML.
    Read(String),
}

/// A file is not a functionConfig.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidFunctionConfig {
    #[error("failed to open functionConfig from path {}: {reason}", quote(path))]
    Open {
        /// The path as it is written.
        path: String,
        /// The operating system's words.
        reason: String,
    },
    /// It could not be read, or is not YAML.
    #[error("failed to read functionConfig {}: {reason}", quote(path))]
    Read {
        /// The path as it is written.
        path: String,
        reason: String,
    },
    /// There is not exactly one document in it.
    #[error("functionConfig {} must {}, got {count}", quote(path), if *count == 0 { "contain a config" } else { "not contain more than one config" })]
    Count {
        /// The path as it is written.
        path: String,
        /// How many there are.
        count: usize,
    },
    #[error("functionConfig {}: {lack}", quote(path))]
    NotKrm {
        /// The path as it is written.
        path: String,
        lack: NotKrm,
    },
}

/// Checks what was found in the file of a functionConfig.
pub fn check_function_config(
    path: &str,
    opened: Result<Vec<Document>, OpenConfigError>,
) -> Result<Document, InvalidFunctionConfig> {
    let path = || path.to_owned();
    let mut documents = match opened {
        Ok(documents) => documents,
        Err(OpenConfigError::Open(reason)) => {
            return Err(InvalidFunctionConfig::Open {
                path: path(),
                reason,
            });
        }
        Err(OpenConfigError::Read(reason)) => {
            return Err(InvalidFunctionConfig::Read {
                path: path(),
                reason,
            });
        }
    };
    let count = documents.len();
    let (1, Some(config)) = (count, documents.pop()) else {
        return Err(InvalidFunctionConfig::Count {
            path: path(),
            count,
        });
    };
    match check_resource(config.root()) {
        Ok(()) => Ok(config),
        Err(lack) => Err(InvalidFunctionConfig::NotKrm { path: path(), lack }),
    }
}

impl Kptfile {
    /// Checks the pipeline; the first failure is reported.
    ///
    /// `open` gives the documents of a file of the package, dropping empty ones, as packages are read. It is
    /// asked only for paths that stay inside the package.
    pub fn validate(
        &self,
        mut open: impl FnMut(&str) -> Result<Vec<Document>, OpenConfigError>,
    ) -> Result<(), InvalidPipeline> {
        let Some(pipeline) = &self.pipeline else {
            return Ok(());
        };
        for (kind, index, function) in pipeline.functions() {
            check_function(function, &mut open).map_err(|failure| InvalidPipeline {
                field: format!("pipeline.{}[{index}]{}", kind.list(), failure.field),
                value: failure.value.to_owned(),
                problem: failure.problem,
                reason: failure.reason,
                image: function.image.clone(),
            })?;
        }
        Ok(())
    }
}

impl Pipeline {
    /// All functions with their places, mutators first.
    pub fn functions(&self) -> impl Iterator<Item = (FunctionKind, usize, &Function)> {
        let number = |kind| move |(index, function)| (kind, index, function);
        let mutators = self.mutators.iter().enumerate();
        let validators = self.validators.iter().enumerate();
        mutators
            .map(number(FunctionKind::Mutator))
            .chain(validators.map(number(FunctionKind::Validator)))
    }

    /// Checks, when the pipeline is about to run, that each `configPath` is among the package's resources.
    ///
    /// `resource_paths` are the paths of the package's own resources, sub-packages excluded. All failures are
    /// reported, in order.
    pub fn check_config_paths<'a>(
        &self,
        resource_paths: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), Vec<InvalidPipeline>> {
        let present: HashSet<String> = resource_paths.into_iter().map(paths::clean).collect();
        let is_missing = |function: &Function| {
            let path = &function.config_path;
            !path.is_empty() && !present.contains(&paths::clean(path))
        };
        let missing: Vec<InvalidPipeline> = self
            .functions()
            .filter(|(_, _, function)| is_missing(function))
            .map(|(kind, index, function)| missing_config(kind, index, function))
            .collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(missing)
        }
    }
}

impl Function {
    /// The function's name, or else the base name of its image; empty for a command without a name.
    pub fn display_name(&self) -> String {
        match self.name.as_str() {
            "" => image::base_name(&self.image),
            name => name.to_owned(),
        }
    }
}

fn missing_config(kind: FunctionKind, index: usize, function: &Function) -> InvalidPipeline {
    let path = quote(&function.config_path);
    let name = quote(&function.display_name());
    InvalidPipeline {
        field: format!("pipeline.{}[{index}].configPath", kind.list()),
        value: function.config_path.clone(),
        problem: PipelineProblem::InvalidConfigPath,
        reason: format!(
            "functionConfig resource for {} {name} is missing from path {path}, this also occurs if {path} is part of a subpackage",
            kind.name()
        ),
        image: function.image.clone(),
    }
}

struct FunctionProblem<'a> {
    field: &'static str,
    value: &'a str,
    problem: PipelineProblem,
    reason: String,
}

fn check_function<'a>(
    function: &'a Function,
    open: &mut impl FnMut(&str) -> Result<Vec<Document>, OpenConfigError>,
) -> Result<(), FunctionProblem<'a>> {
    let fail = |problem, value, reason: &str| {
        Err(FunctionProblem {
            field: match problem {
                PipelineProblem::InvalidImage => ".image",
                PipelineProblem::InvalidConfigPath => ".configPath",
                _ => "",
            },
            value,
            problem,
            reason: reason.to_owned(),
        })
    };
    let Function {
        image,
        exec,
        config_path,
        config_map,
        ..
    } = function;
    match (image.as_str(), exec.as_str()) {
        // The missing letter is kpt's.
        ("", "") => {
            return fail(
                PipelineProblem::NoFunction,
                "",
                "must specify a functon (`image` or `exec`) to execute",
            );
        }
        ("", _) => {}
        (image, "") => {
            let checked = check_image(image);
            checked.or_else(|reason| fail(PipelineProblem::InvalidImage, image, &reason))?;
        }
        _ => {
            return fail(
                PipelineProblem::ImageAndExec,
                "",
                "must not specify both `image` and `exec` at the same time",
            );
        }
    }
    if config_path.is_empty() {
        return Ok(());
    }
    if !config_map.is_empty() {
        let reason =
            "functionConfig must not specify both `configMap` and `configPath` at the same time";
        return fail(PipelineProblem::ConfigMapAndConfigPath, "", reason);
    }
    let fail = |reason: &str| fail(PipelineProblem::InvalidConfigPath, config_path, reason);
    check_config_path(config_path).or_else(fail)?;
    match check_function_config(config_path, open(config_path)) {
        Ok(_) => Ok(()),
        Err(invalid) => fail(&invalid.to_string()),
    }
}

fn check_image(image: &str) -> Result<(), String> {
    match ImageRef::parse(image) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "function image reference {} is invalid: {error}",
            quote(image)
        )),
    }
}

fn check_config_path(path: &str) -> Result<(), &'static str> {
    if path.trim().is_empty() {
        return Err("path must not be empty");
    }
    let cleaned = paths::clean(path);
    if cleaned.starts_with('/') {
        Err("path must be relative")
    } else if cleaned.contains("..") {
        // Two dots inside a name are refused as well; kpt looks no closer.
        Err("path must not be outside the package")
    } else {
        Ok(())
    }
}
