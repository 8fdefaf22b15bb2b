//! What kpt's words do not say about a failure: where it happened, and what can be done. Only in kiln's own mode.

mod kptfile;

use anyhow::Error;
use kiln_krm::kptfile::{FILE_NAME, KptfileError, KptfileProblem};
use kiln_krm::package::FileSource;
use kiln_krm::paths;
use kiln_krm::read::ReadError;
use kiln_render::{Failure, RenderError, Trace, UnreadableFile, Why};

use super::running::Running;
use crate::compat::Compat;
use crate::ui::{Details, Failed, Place, Ui};
use kptfile::{field_place, function_place, line_place};

/// A package that was to be rendered.
pub(super) struct Explainer<'a> {
    pub(super) ui: &'a Ui,
    pub(super) files: &'a dyn FileSource,
    /// The absolute path.
    pub(super) root: &'a str,
    /// What the user calls it.
    pub(super) named: &'a str,
    pub(super) running: &'a Running,
}

impl Explainer<'_> {
    /// A failed render.
    pub(super) fn render(&self, error: &RenderError) -> Error {
        let message = match error.message() {
            Some(message) => message,
            None => return Failed::told().into(),
        };
        match (self.ui.compat(), error) {
            (Compat::Kiln, RenderError::Traced(trace)) => self.traced(trace, message).into(),
            _ => Failed::with(message).into(),
        }
    }

    fn traced(&self, trace: &Trace, message: String) -> Failed {
        let directory = self.directory(trace.package());
        let kptfile = paths::join(&[&directory, FILE_NAME]);
        let mut failed = Failed::with(message);
        failed.details.package = Some(self.package_name(&directory));
        if let Some(place) = trace.function() {
            let found = function_place(self.files, &kptfile, place);
            failed.details.function = found.as_ref().map(|(function, _)| function.clone());
            failed.details.place = found.map(|(_, place)| place);
        }
        match trace.failure() {
            Failure::File(file) => self.file(&mut failed, file),
            Failure::Kptfile(error) => self.kptfile(&mut failed, &kptfile, error),
            Failure::Pipeline(error) => {
                failed.details.place = field_place(self.files, &kptfile, &error.field);
            }
            Failure::PipelineAtRun(errors) => {
                let field = errors.first().map(|error| error.field.as_str());
                let place = field.and_then(|field| field_place(self.files, &kptfile, field));
                failed.details.place = place;
                failed.details.hint = Some(
                    "configPath names a file of the package itself, as seen from its Kptfile"
                        .to_owned(),
                );
            }
            Failure::Because(Why::Unavailable, _) => {
                let users = super::engine_users::of_package(self.files, self.running);
                failed.details.hint = Some(super::engine_users::hint(&users));
            }
            Failure::Because(why, text) => failed.details.hint = hint(*why, text),
            Failure::Told | Failure::Text(_) => {}
        }
        if let Some(place) = &mut failed.details.place {
            place.file = self.show(&place.file);
        }
        failed
    }

    fn file(&self, failed: &mut Failed, file: &UnreadableFile) {
        let shown = self.show(&file.path);
        let text = match &file.error {
            ReadError::Malformed {
                error,
                lines_before,
                ..
            } => {
                failed.details.place = Some(Place {
                    file: file.path.clone(),
                    line: error.position().line + lines_before,
                    column: error.position().column,
                    text: String::new(),
                });
                error.report(&shown, *lines_before)
            }
            error => format!("{shown}: {error}"),
        };
        failed.message = Some(format!("Error: {text}"));
        failed.details.hint =
            Some("correct the file, or name it in .krmignore if it holds no resources".to_owned());
    }

    fn kptfile(&self, failed: &mut Failed, path: &str, error: &KptfileError) {
        match &error.problem {
            KptfileProblem::Missing(_) => {
                failed.details.hint = Some(
                    "a package is a directory with a Kptfile; `kiln fn eval` works without one"
                        .to_owned(),
                );
            }
            KptfileProblem::Yaml(problem) => {
                let report = problem.report(&self.show(path), 0);
                let quoted = kiln_krm::gotext::quote(&error.path);
                failed.message = Some(format!(
                    "Error: Kptfile at {quoted} can't be read.\n\nDetails:\n{report}"
                ));
                failed.details.place = Some(Place {
                    file: path.to_owned(),
                    line: problem.position().line,
                    column: problem.position().column,
                    text: String::new(),
                });
            }
            KptfileProblem::Decode(problem) => {
                failed.details.place = line_place(self.files, path, &problem.to_string());
                failed.details.hint =
                    Some("correct or remove what a Kptfile does not have".to_owned());
            }
            _ => {}
        }
    }

    /// A package's directory relative to the root.
    fn directory(&self, package: &str) -> String {
        let inner = package.strip_prefix(self.root).unwrap_or_default();
        inner.trim_start_matches('/').to_owned()
    }

    /// The names of the directories of packages from the root down, as the log has it.
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

/// A failed call of one function outside of any pipeline.
pub(super) fn call(ui: &Ui, failure: &Failure, function: &str) -> Error {
    let text = match failure {
        Failure::Told => return Failed::told().into(),
        failure => format!("error: {}", failure.chain_text()),
    };
    if ui.compat() != Compat::Kiln {
        return Failed::with(text).into();
    }
    let hint = match failure {
        Failure::Because(Why::Unavailable, _) => {
            let users = [(None, function.to_owned())];
            Some(super::engine_users::hint(&users))
        }
        Failure::Because(why, text) => hint(*why, text),
        _ => None,
    };
    let failed = Failed {
        message: Some(text),
        details: Details {
            function: Some(function.to_owned()),
            hint,
            ..Details::default()
        },
    };
    failed.into()
}

/// What can be done about it.
fn hint(why: Why, text: &str) -> Option<String> {
    let hint = match why {
        Why::ExecNotAllowed => {
            "add --allow-exec if you trust the programs that this package wants to run"
        }
        Why::NotStarted => return start_hint(text).map(str::to_owned),
        Why::NoTag => {
            "only the functions that are built in and the container engine of this machine are asked for versions: \
             pull the image, or name an exact version"
        }
        Why::BadOutput => {
            "a function prints a ResourceList on standard output, and everything else on standard error"
        }
        Why::InputNotKrm => {
            "give the resource what it lacks, or name its file in .krmignore if it is none"
        }
        Why::OutputNotKrm => "the function must give every resource what it lacks",
        Why::NotFound | Why::Unavailable => return None,
    };
    Some(hint.to_owned())
}

/// What can be done about a program that does not start, by what the operating system says.
pub(super) fn start_hint(text: &str) -> Option<&'static str> {
    if text.ends_with("permission denied") {
        Some("make the program executable: chmod +x")
    } else if text.ends_with("exec format error") {
        Some("a script needs a first line that says what runs it, such as #!/bin/sh")
    } else if text.ends_with("no such file or directory") {
        Some(
            "a relative path counts from the current directory, not from the package; \
             of a script, what its first line names must be there too",
        )
    } else if text.ends_with("executable file not found in $PATH") {
        Some("install the program, or name it by its path")
    } else {
        None
    }
}
