//! Rendering a package: from its files to what is to be written.

use std::num::NonZeroUsize;

use kiln_krm::annotations::{LEGACY_PATH, PACKAGE_PATH, PATH};
use kiln_krm::kptfile::{BFS_RENDERING, Condition, FILE_NAME, SAVE_ON_RENDER_FAILURE};
use kiln_krm::package::{
    Bytes, EmptiedFiles, FileChange, FileSource, ReadSet, WriteError, WriteOptions, check_targets,
    plan_write,
};
use kiln_krm::results::FunctionResultList;
use kiln_krm::{Dialect, Resource, meta, paths};

use crate::attribution::attribute;
use crate::breadth_first;
use crate::emptied::Emptied;
use crate::error::{RenderError, Trace, paths_relative};
use crate::hydrate::hydrate;
use crate::log::Log;
use crate::options::{RenderCompat, RenderOptions};
use crate::package::Package;
use crate::refused::{PackageOrder, find_refused};
use crate::status::RenderOutcome;

/// The result of a render. It exists after a failure too, because results and status report the failure.
pub struct Rendered {
    pub report: RenderReport,
    pub output: RenderOutput,
}

/// How a render went.
pub struct RenderReport {
    pub error: Option<RenderError>,
    pub results: FunctionResultList,
    /// The number of functions that succeeded.
    pub functions: usize,
    /// The number of packages whose rendering began.
    pub packages: usize,
    /// The functions that removed all resources of a package.
    pub emptied: Vec<Emptied>,
}

/// The rendered resources and the render status, before they are written.
pub struct RenderOutput {
    /// The resources with paths relative to the root package; after a failure, those to save.
    pub resources: Option<Vec<Resource>>,
    /// The files that the resources were read from.
    pub read: ReadSet,
    is_failure: bool,
    threads: NonZeroUsize,
    status: StatusUpdate,
}

/// The changes to the files of a package.
pub struct RenderPlan {
    /// The resources, if they are to be written, and the status in the Kptfile.
    pub changes: Vec<FileChange>,
    /// Whether resources are written, not only the status.
    pub has_resources: bool,
    /// The files that the resources were read from.
    pub read: ReadSet,
    status: StatusUpdate,
}

/// The outcome to write into the root Kptfile.
struct StatusUpdate {
    outcome: RenderOutcome,
    compat: RenderCompat,
    root: String,
    is_written: bool,
}

/// Renders the package at the root of `files`. After an error not even its status can be written.
pub fn render(
    files: &dyn FileSource,
    options: &RenderOptions<'_>,
    log: &dyn Log,
) -> Result<Rendered, RenderError> {
    let root = Package::open(files, options, "", None)
        .map_err(|trace| Trace::new("fn.render", options.root, trace))?;
    let saves = root.kptfile.is_annotated_true(SAVE_ON_RENDER_FAILURE);
    let is_breadth_first = root.kptfile.is_annotated_true(BFS_RENDERING);
    let order = match is_breadth_first {
        true => PackageOrder::BreadthFirst,
        false => PackageOrder::DepthFirst,
    };
    let (hydrated, state) = match (find_refused(files, options, log, order), order) {
        (Some((error, state)), _) => (Err(error), state),
        (None, PackageOrder::BreadthFirst) => breadth_first::hydrate(files, options, log, root),
        (None, PackageOrder::DepthFirst) => hydrate(files, options, log, root),
    };
    let (resources, trace) = match hydrated {
        Ok(resources) => (resources, None),
        Err(error) => (error.resources.unwrap_or_default(), Some(error.trace)),
    };
    let is_wanted = trace.is_none() || saves;
    let finished = is_wanted.then(|| finish(resources, options)).transpose();
    // A function may have put anything into the annotations that it quotes.
    let finished = finished.map_err(|text| match options.functions.compat {
        RenderCompat::Kiln => state.read.secrets().into_mask().mask(&text),
        RenderCompat::Kpt => text,
    });
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
    let outcome = RenderOutcome::new(&state.progress, message.as_deref());
    Ok(Rendered {
        output: RenderOutput {
            resources,
            read: state.read,
            is_failure: error.is_some(),
            threads: options.functions.threads,
            status: StatusUpdate {
                outcome,
                compat: options.functions.compat,
                root: options.root.to_owned(),
                is_written: true,
            },
        },
        report: RenderReport {
            error,
            results: state.progress.results,
            functions: state.progress.functions,
            packages: state.packages,
            emptied: state.progress.emptied,
        },
    })
}

/// Makes paths relative to the root package and adds attribution annotations.
fn finish(
    mut resources: Vec<Resource>,
    options: &RenderOptions<'_>,
) -> Result<Vec<Resource>, String> {
    for resource in &mut resources {
        let package = resource.annotation(PACKAGE_PATH);
        // What has an annotation has metadata.
        if package.is_none() && resource.meta().is_missing {
            return Err(paths::PathError::NoMetadata.to_string());
        }
        let keys = [PATH, LEGACY_PATH];
        let given = meta::several_annotations(resource.root(), keys);
        let [path, legacy_path] = given;
        let path = path.or(legacy_path).unwrap_or_default();
        let path = from_root(options.root, package.unwrap_or_default(), path)?;
        if given != [Some(path.as_str()); 2] {
            for key in keys {
                resource
                    .set_annotation(key, &path)
                    .map_err(|error| error.to_string())?;
            }
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

impl RenderOutput {
    /// The same without the status, so that the Kptfile changes only if functions change it.
    pub fn without_status(self) -> RenderOutput {
        RenderOutput {
            status: StatusUpdate {
                is_written: false,
                ..self.status
            },
            ..self
        }
    }

    /// Plans the changes; `files` is what was rendered. If the resources cannot be written, neither is the status.
    pub fn plan(mut self, files: &dyn FileSource) -> Result<RenderPlan, WriteError> {
        let resources = self.resources.take();
        let has_resources = resources.is_some();
        let mut changes = match resources {
            None => Vec::new(),
            Some(resources) => self.plan_resources(resources, files)?,
        };
        self.status.add_to(&mut changes, files);
        Ok(RenderPlan {
            changes,
            has_resources,
            read: self.read,
            status: self.status,
        })
    }

    /// What differs between the resources and the package, for a result that is written elsewhere.
    pub fn differences(&self, files: &dyn FileSource) -> Result<Vec<FileChange>, WriteError> {
        match &self.resources {
            None => Ok(Vec::new()),
            Some(resources) => self.plan_resources(resources.clone(), files),
        }
    }

    fn plan_resources(
        &self,
        resources: Vec<Resource>,
        files: &dyn FileSource,
    ) -> Result<Vec<FileChange>, WriteError> {
        let compat = self.status.compat;
        let options = WriteOptions {
            dialect: Dialect::Current,
            bytes: match compat {
                RenderCompat::Kiln => Bytes::Keep,
                RenderCompat::Kpt => Bytes::Reencode,
            },
            emptied_files: match self.is_failure {
                false => EmptiedFiles::Delete,
                true => EmptiedFiles::Leave,
            },
            package: self.status.root.clone(),
            threads: self.threads,
        };
        let changes = plan_write(resources, &self.read, &options)?;
        if compat == RenderCompat::Kiln {
            check_targets(&changes, &self.read, files)?;
        }
        Ok(changes)
    }
}

impl RenderPlan {
    /// Sets the status to a failure that happened after rendering. The other changes stay.
    pub fn note_failure(&mut self, message: &str, files: &dyn FileSource) {
        let message = message.replace(&self.status.root, ".");
        self.status.outcome.condition = Condition::render_failed(&message);
        self.status.add_to(&mut self.changes, files);
    }
}

impl StatusUpdate {
    fn add_to(&self, changes: &mut Vec<FileChange>, files: &dyn FileSource) {
        if !self.is_written {
            return;
        }
        let kptfile = files.read(FILE_NAME).ok();
        self.outcome.add_to(changes, kptfile, self.compat);
    }
}
