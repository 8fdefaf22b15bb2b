//! Errors of renders and function calls. In kiln's own mode they have the position and a hint besides kpt's message.

use anyhow::Error;
use kiln_go::quote;
use kiln_krm::check::ListKind;
use kiln_krm::image::{self, DEFAULT_PREFIX, ImageRef, TagRequest, with_prefix};
use kiln_krm::kptfile::{FILE_NAME, KptfileError, KptfileProblem};
use kiln_krm::package::FileSource;
use kiln_krm::paths;
use kiln_krm::read::ReadError;
use kiln_krm::record::{DecodeError, Misfit};
use kiln_render::{Failure, RenderError, Trace, UnreadableFile};
use kiln_runtime::{FunctionSpec, Target};

use super::package::{parse_position, yaml_position};
use super::position::{
    FunctionEntry, document_position, field_position, function_entry, line_position,
};
use super::{CommandError, ErrorClass, FilePosition, hints};
use crate::compat::Compat;
use crate::functions::container_functions;
use crate::functions::evaluators::EvaluatorSetup;
use crate::functions::unknown_function::{UnknownFunction, image_hint, range_hint, unknown_image};
use crate::ui::Ui;

/// The package of a render, from which positions and hints are found.
pub(crate) struct RenderErrors<'a> {
    pub(crate) compat: Compat,
    pub(crate) files: &'a dyn FileSource,
    /// The absolute path.
    pub(crate) root: &'a str,
    /// The path on the command line.
    pub(crate) named: &'a str,
    /// The evaluators of the command line; `None` for packages in repositories.
    pub(crate) evaluators: Option<&'a EvaluatorSetup>,
}

impl RenderErrors<'_> {
    /// The error of a failed render.
    pub(crate) fn command_error(&self, error: &RenderError) -> Error {
        let message = error.message();
        let RenderError::Traced(trace) = error else {
            return CommandError::new(message.unwrap_or_default()).into();
        };
        let class = class(trace.failure());
        match (self.compat, message) {
            (Compat::Kiln, message) => self.traced(trace, message.unwrap_or_default()).into(),
            (_, message) => CommandError {
                message,
                class,
                ..CommandError::default()
            }
            .into(),
        }
    }

    /// The error with kpt's message, or another where kpt's does not help.
    pub(super) fn traced(&self, trace: &Trace, message: String) -> CommandError {
        let failure = trace.failure();
        let directory = self.directory(trace.package());
        let kptfile = paths::join(&[&directory, FILE_NAME]);
        let entry = trace.function();
        let entry = entry.and_then(|place| function_entry(self.files, &kptfile, place));
        let config = entry.as_ref().and_then(|entry| entry.config_path.as_ref());
        let config = config.map(|path| self.show(&paths::join(&[&directory, path])));
        let image = entry.as_ref().filter(|_| did_not_run(failure));
        let image = image.and_then(|entry| self.image(entry));
        let unknown = image.as_ref().and_then(|image| unknown_image(image));
        let (function, position) = match entry {
            Some(FunctionEntry { name, position, .. }) => (Some(name), Some(position)),
            None => (None, None),
        };
        let position = self.position(failure, &kptfile).or(position);
        let own = self.message(failure, &kptfile, unknown.as_ref());
        CommandError {
            message: Some(own.unwrap_or(message)),
            class: class(failure),
            package: Some(self.package_name(&directory)),
            function,
            position: position.map(|position| FilePosition {
                file: self.show(&position.file),
                ..position
            }),
            hint: match (image, self.hint(failure, config.as_deref()), failure) {
                (Some(image), hint, Failure::NoMatchingTag(_)) => range_hint(&image, hint),
                (Some(image), hint, _) => image_hint(&image, hint),
                (None, hint, _) => hint,
            },
        }
    }

    /// The message where it is not kpt's.
    fn message(
        &self,
        failure: &Failure,
        kptfile: &str,
        unknown: Option<&UnknownFunction>,
    ) -> Option<String> {
        let meant = unknown.filter(|unknown| unknown.suggestion.is_some());
        match (failure, meant) {
            (Failure::Unavailable(_) | Failure::Exit(_), Some(unknown)) => {
                Some(format!("Error: {}", unknown.message()))
            }
            (failure, _) => self.message_of(failure, kptfile),
        }
    }

    fn message_of(&self, failure: &Failure, kptfile: &str) -> Option<String> {
        match failure {
            Failure::Exit(exit) => Some(format!("Error: function failed: {}", exit.text)),
            Failure::File(file) => {
                let shown = self.show(&file.path);
                Some(match &file.error {
                    ReadError::Malformed {
                        error,
                        lines_before,
                        ..
                    } => format!("Error: {}", error.report(&shown, *lines_before)),
                    error => format!("Error: {shown}: {error}"),
                })
            }
            Failure::Kptfile(error) => match &error.problem {
                KptfileProblem::Yaml(problem) => {
                    let report = problem.report(&self.show(kptfile), 0);
                    let path = quote(&error.path);
                    Some(format!(
                        "Error: Kptfile at {path} can't be read.\n\nDetails:\n{report}"
                    ))
                }
                KptfileProblem::Decode(DecodeError::Misfits(misfits)) => {
                    let shown = self.show(kptfile);
                    let texts = misfits.iter().map(|Misfit { line, problem }| {
                        format!("\n  {shown}:{line}: {}", problem.plain_text())
                    });
                    let texts: String = texts.collect();
                    Some(format!("Error: the Kptfile is invalid:{texts}"))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The position of the failure itself, if it is not that of the function.
    fn position(&self, failure: &Failure, kptfile: &str) -> Option<FilePosition> {
        match failure {
            Failure::NotKrm(error) if error.list == ListKind::Input => {
                document_position(self.files, &error.path, &error.index)
            }
            Failure::File(file) => self.file_position(file),
            Failure::Kptfile(error) => self.kptfile_position(kptfile, error),
            Failure::Pipeline(error) => field_position(self.files, kptfile, &error.field),
            Failure::PipelineAtRun(errors) => {
                field_position(self.files, kptfile, &errors.first()?.field)
            }
            _ => None,
        }
    }

    fn file_position(&self, file: &UnreadableFile) -> Option<FilePosition> {
        parse_position(&file.path, &file.error)
    }

    fn kptfile_position(&self, path: &str, error: &KptfileError) -> Option<FilePosition> {
        match &error.problem {
            KptfileProblem::Yaml(problem) => Some(yaml_position(path, problem, 0)),
            KptfileProblem::Decode(problem) => line_position(self.files, path, problem.line()?),
            KptfileProblem::UnknownType(_)
            | KptfileProblem::Deprecated(_)
            | KptfileProblem::GroupVersion(_) => field_position(self.files, path, "apiVersion"),
            _ => None,
        }
    }

    fn hint(&self, failure: &Failure, config: Option<&str>) -> Option<String> {
        match failure {
            Failure::Unavailable(unavailability) => {
                let functions = container_functions::of_package(self.files, self.evaluators?);
                container_functions::unavailable(unavailability.error(), &functions)
            }
            // A package in a repository: its images are never run as containers.
            Failure::NotFound(_) if self.evaluators.is_none() => Some(hints::NO_RUNNER.to_owned()),
            Failure::NoMatchingTag(_) => {
                let problems = self.evaluators.map(EvaluatorSetup::registry_problems);
                Some(hints::no_matching_tag(&problems.unwrap_or_default()))
            }
            failure => hints::call(failure, config),
        }
    }

    /// The image of an entry, if it is one, without a version if the version is a range.
    fn image(&self, entry: &FunctionEntry) -> Option<String> {
        let image = with_prefix(self.prefix(), &entry.name);
        let image = Some(image).filter(|_| entry.is_image)?;
        let Some(tag) = &entry.tag else {
            return Some(image);
        };
        let reference = image::normalize(&image).ok()?;
        let tag = match TagRequest::parse(tag).ok()? {
            TagRequest::Exact(tag) | TagRequest::Literal { tag, .. } => Some(tag),
            TagRequest::Constraint(_) => None,
        };
        let digest = None;
        Some(
            ImageRef {
                tag,
                digest,
                ..reference
            }
            .to_string(),
        )
    }

    /// The prefix for image names without a registry.
    fn prefix(&self) -> &str {
        self.evaluators
            .map_or(DEFAULT_PREFIX, EvaluatorSetup::prefix)
    }

    /// A package's directory relative to the root.
    fn directory(&self, package: &str) -> String {
        let inner = package.strip_prefix(self.root).unwrap_or_default();
        inner.trim_start_matches('/').to_owned()
    }

    /// The names of the directories of packages from the root down, as in the log.
    fn package_name(&self, directory: &str) -> String {
        let mut name = paths::base(self.root).to_owned();
        let mut inner = String::new();
        for part in directory.split('/').filter(|part| !part.is_empty()) {
            inner = paths::join(&[&inner, part]);
            let is_package = self.files.read(&paths::join(&[&inner, FILE_NAME])).is_ok();
            if is_package || inner == directory {
                name = format!("{name}/{part}");
            }
        }
        name
    }

    /// A file as the user would name it.
    fn show(&self, path: &str) -> String {
        match self.named {
            "" | "." => path.to_owned(),
            named => paths::join(&[named, path]),
        }
    }
}

/// A Kptfile that a command other than a render cannot use, as a render shows it. `directory` is that of its package in the
/// root package.
pub(crate) fn kptfile_error(
    files: &dyn FileSource,
    named: &str,
    directory: &str,
    problem: KptfileProblem,
) -> CommandError {
    let errors = RenderErrors {
        compat: Compat::Kiln,
        files,
        root: "",
        named,
        evaluators: None,
    };
    let kptfile = paths::join(&[directory, FILE_NAME]);
    let path = match errors.show(directory) {
        path if path.is_empty() => ".".to_owned(),
        path => path,
    };
    let error = KptfileError { path, problem };
    let position = errors.kptfile_position(&kptfile, &error);
    let text = error.to_string();
    let failure = Failure::Kptfile(Box::new(error));
    let message = errors.message(&failure, &kptfile, None);
    CommandError {
        message: Some(message.unwrap_or(text)),
        class: class(&failure),
        position: position.map(|position| FilePosition {
            file: errors.show(&position.file),
            ..position
        }),
        hint: hints::call(&failure, None),
        ..CommandError::default()
    }
}

/// The error of a failed call of one function outside of any pipeline.
pub(crate) fn call_error(ui: &Ui, failure: &Failure, target: &Target) -> CommandError {
    let is_own = ui.compat() == Compat::Kiln;
    let unknown = match target {
        Target::Image(image) if is_own && did_not_run(failure) => unknown_image(image),
        _ => None,
    };
    let message = match (failure, &unknown) {
        (Failure::Unavailable(_) | Failure::Exit(_), Some(unknown))
            if unknown.suggestion.is_some() =>
        {
            format!("error: {}", unknown.message())
        }
        (Failure::Exit(exit), _) if is_own => format!("error: function failed: {}", exit.text),
        (Failure::Exit(_), _) => return CommandError::logged(),
        (failure, _) => format!("error: {}", failure.chain_text()),
    };
    let error = CommandError {
        class: class(failure),
        ..CommandError::new(message)
    };
    if !is_own {
        return error;
    }
    let function = FunctionSpec::new(target.clone()).name().to_owned();
    let hint = match failure {
        Failure::Unavailable(unavailability) => {
            container_functions::unavailable(unavailability.error(), &[(None, function.clone())])
        }
        failure => hints::call(failure, None),
    };
    CommandError {
        hint: match target {
            Target::Image(image) if did_not_run(failure) => image_hint(image, hint),
            _ => hint,
        },
        function: Some(function),
        ..error
    }
}

/// Whether the image could not be run at all, perhaps because it does not exist.
fn did_not_run(failure: &Failure) -> bool {
    match failure {
        Failure::Unavailable(_)
        | Failure::NotFound(_)
        | Failure::NoMatchingTag(_)
        | Failure::NotStarted(_)
        | Failure::Text(_) => true,
        Failure::Remote { problem, .. } => problem.is_none(),
        // What container engines return if they cannot run an image.
        Failure::Exit(exit) => exit.code == 125,
        _ => false,
    }
}

fn class(failure: &Failure) -> ErrorClass {
    match failure {
        Failure::Exit(_)
        | Failure::BadOutput(_)
        | Failure::NoItems(_)
        | Failure::ReportedErrors { .. }
        | Failure::NotStarted(_) => ErrorClass::Function,
        Failure::NotKrm(error) => match error.list {
            ListKind::Input => ErrorClass::Input,
            ListKind::Output => ErrorClass::Function,
        },
        Failure::Kptfile(_)
        | Failure::Pipeline(_)
        | Failure::PipelineAtRun(_)
        | Failure::File(_) => ErrorClass::Input,
        Failure::Unavailable(_) | Failure::NotFound(_) | Failure::Remote { .. } => {
            ErrorClass::Unavailable
        }
        Failure::Denied(_) => ErrorClass::Policy,
        Failure::NoMatchingTag(_) | Failure::ExecNotAllowed | Failure::Text(_) => ErrorClass::Other,
    }
}
