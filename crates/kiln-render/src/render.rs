//! Rendering a package: from its files to what is to be written.

use std::num::NonZeroUsize;

use kiln_krm::annotations::{LEGACY_PATH, PACKAGE_PATH, PATH};
use kiln_krm::kptfile::{BFS_RENDERING, Condition, FILE_NAME, SAVE_ON_RENDER_FAILURE};
use kiln_krm::package::{
    Bytes, EmptiedFiles, FileChange, FileSource, ReadSet, WriteError, WriteOptions, plan_write,
};
use kiln_krm::results::FunctionResultList;
use kiln_krm::{Dialect, Resource, paths};

use crate::attribution::attribute;
use crate::breadth_first;
use crate::emptied::Emptied;
use crate::error::{RenderError, Trace, paths_relative};
use crate::hydrate::hydrate;
use crate::log::Log;
use crate::options::{Behaviour, RenderOptions};
use crate::package::Package;
use crate::status::RenderOutcome;

/// What a render came to. It is there after a failure too, because results and status tell about it.
pub struct Rendered {
    /// Why it failed.
    pub error: Option<RenderError>,
    /// What all functions reported.
    pub results: FunctionResultList,
    /// How many functions have run to a good end.
    pub functions: usize,
    /// How many packages were begun.
    pub packages: usize,
    /// The functions that removed all resources of a package.
    pub emptied: Vec<Emptied>,
    /// The resources with paths relative to the root package; after a failure, what is to be saved.
    pub resources: Option<Vec<Resource>>,
    read: ReadSet,
    outcome: RenderOutcome,
    behaviour: Behaviour,
    root: String,
    threads: NonZeroUsize,
}

/// Renders the package at the root of `files`. An error means that not even its status can be written.
pub fn render(
    files: &dyn FileSource,
    options: &RenderOptions<'_>,
    log: &dyn Log,
) -> Result<Rendered, RenderError> {
    let root = Package::open(files, options, "", None)
        .map_err(|trace| Trace::new("fn.render", options.root, trace))?;
    let saves = root.kptfile.is_annotated_true(SAVE_ON_RENDER_FAILURE);
    let is_breadth_first = root.kptfile.is_annotated_true(BFS_RENDERING);
    let behaviour = options.functions.behaviour;
    let (hydrated, state) = if is_breadth_first {
        breadth_first::hydrate(files, options, log, root)
    } else {
        hydrate(files, options, log, root)
    };
    let (resources, trace) = match hydrated {
        Ok(resources) => (resources, None),
        Err(error) => (error.resources.unwrap_or_default(), Some(error.trace)),
    };
    let is_wanted = trace.is_none() || saves;
    let finished = is_wanted.then(|| finish(resources, options)).transpose();
    let (resources, message, error) = match (finished, trace) {
        (Ok(resources), None) => (resources, None, None),
        (Ok(resources), Some(trace)) => {
            let message = trace.chain_text(options.working_directory);
            let error = Trace::new("fn.render", options.root, trace);
            (resources, Some(message), Some(RenderError::Traced(error)))
        }
        (Err(text), _) => (None, Some(text.clone()), Some(RenderError::Plain(text))),
    };
    let message = message.map(|message| message.replace(options.root, "."));
    Ok(Rendered {
        error,
        outcome: RenderOutcome::new(&state.progress, message.as_deref()),
        results: state.progress.results,
        functions: state.progress.functions,
        emptied: state.progress.emptied,
        packages: state.packages,
        resources,
        read: state.read,
        behaviour,
        root: options.root.to_owned(),
        threads: options.functions.threads,
    })
}

/// Makes paths relative to the root package, and marks what is to be marked.
fn finish(
    mut resources: Vec<Resource>,
    options: &RenderOptions<'_>,
) -> Result<Vec<Resource>, String> {
    for resource in &mut resources {
        if resource.meta().is_missing {
            return Err(paths::PathError::NoMetadata.to_string());
        }
        let package = resource.annotation(PACKAGE_PATH).unwrap_or_default();
        let path = resource.file_place().0;
        let path = from_root(options.root, package, path)?;
        for key in [PATH, LEGACY_PATH] {
            resource
                .set_annotation(key, &path)
                .map_err(|error| error.to_string())?;
        }
        resource
            .remove_annotation(PACKAGE_PATH)
            .map_err(|error| error.to_string())?;
    }
    if options.attribution {
        resources.iter_mut().for_each(attribute);
    }
    Ok(resources)
}

fn from_root(root: &str, package: &str, path: &str) -> Result<String, String> {
    let quote = kiln_go::quote;
    if !package.starts_with('/') {
        return Err(format!(
            "subpackage path {} must be absolute",
            quote(package)
        ));
    }
    let relative = paths_relative(root, package).unwrap_or_default();
    if relative == ".." || relative.starts_with("../") {
        return Err(format!(
            "subpackage {} is not a descendant of {}",
            quote(package),
            quote(root)
        ));
    }
    Ok(paths::join(&[&relative, &paths::clean(path)]))
}

impl Rendered {
    /// The files that the resources were read from.
    pub fn read_set(&self) -> &ReadSet {
        &self.read
    }

    /// Notes a failure that came after rendering in the Kptfile that `changes` leave behind. Those stay as they are
    /// otherwise.
    pub fn note_failure(
        &mut self,
        message: &str,
        changes: &mut Vec<FileChange>,
        files: &dyn FileSource,
    ) {
        let message = message.replace(&self.root, ".");
        self.outcome.condition = Condition::render_failed(&message);
        let kptfile = files.read(FILE_NAME).ok();
        self.outcome.add_to(changes, kptfile, self.behaviour);
    }

    /// What is to be changed in the package: the resources, if they are to be written, and the Kptfile's status.
    ///
    /// `files` is what was rendered. If the resources cannot be written, not even the status is.
    pub fn plan(&mut self, files: &dyn FileSource) -> Result<Vec<FileChange>, WriteError> {
        let mut changes = match self.resources.take() {
            None => Vec::new(),
            Some(resources) => {
                let options = WriteOptions {
                    dialect: Dialect::Current,
                    bytes: match self.behaviour {
                        Behaviour::Kiln => Bytes::Keep,
                        Behaviour::Kpt => Bytes::Reencode,
                    },
                    emptied_files: match &self.error {
                        None => EmptiedFiles::Delete,
                        Some(_) => EmptiedFiles::Leave,
                    },
                    package: self.root.clone(),
                    threads: self.threads,
                };
                plan_write(resources, &self.read, &options)?
            }
        };
        let kptfile = files.read(FILE_NAME).ok();
        self.outcome.add_to(&mut changes, kptfile, self.behaviour);
        Ok(changes)
    }
}
