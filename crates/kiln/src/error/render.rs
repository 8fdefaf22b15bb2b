//! What kpt's words do not say about a failure: where it happened, and what can be done. Only in kiln's own mode.

pub(crate) mod hints;
mod position;

use anyhow::Error;
use kiln_krm::check::ListKind;
use kiln_krm::kptfile::{FILE_NAME, KptfileError, KptfileProblem};
use kiln_krm::package::FileSource;
use kiln_krm::paths;
use kiln_krm::read::ReadError;
use kiln_render::{Failure, RenderError, Trace, UnreadableFile, Why};

use crate::compat::Compat;
use crate::functions::evaluators::EvaluatorSetup;
use crate::ui::{Details, Failed, Place, Ui};
pub(crate) use position::document_place;
use position::{Entry, field_place, function_entry, line_place};

/// A package that was to be rendered.
pub(crate) struct Explainer<'a> {
    pub(crate) ui: &'a Ui,
    pub(crate) files: &'a dyn FileSource,
    /// The absolute path.
    pub(crate) root: &'a str,
    /// What the user calls it.
    pub(crate) named: &'a str,
    pub(crate) running: &'a EvaluatorSetup,
}

impl Explainer<'_> {
    /// A failed render.
    pub(crate) fn render(&self, error: &RenderError) -> Error {
        let message = error.message();
        match (self.ui.compat(), error, message) {
            (Compat::Kiln, RenderError::Traced(trace), message) => {
                self.traced(trace, message.unwrap_or_default()).into()
            }
            (_, _, Some(message)) => Failed::with(message).into(),
            (_, _, None) => Failed::told().into(),
        }
    }

    fn traced(&self, trace: &Trace, message: String) -> Failed {
        let directory = self.directory(trace.package());
        let kptfile = paths::join(&[&directory, FILE_NAME]);
        let mut failed = Failed::with(message);
        failed.details.package = Some(self.package_name(&directory));
        let mut config_path = None;
        if let Some(place) = trace.function()
            && let Some(entry) = function_entry(self.files, &kptfile, place)
        {
            let Entry { name, place, .. } = entry;
            failed.details.function = Some(name);
            failed.details.place = Some(place);
            config_path = entry.config_path;
        }
        match trace.failure() {
            Failure::Exit(exit) => {
                failed.message = Some(format!("Error: function failed: {exit}"));
                let config = config_path.map(|path| self.show(&paths::join(&[&directory, &path])));
                failed.details.hint = hints::exit(exit, config.as_deref());
            }
            Failure::NotKrm(error) => {
                let is_input = error.list == ListKind::Input;
                let place = document_place(self.files, &error.path, &error.index);
                if let Some(place) = place.filter(|_| is_input) {
                    failed.details.place = Some(place);
                }
                failed.details.hint = Some(hints::not_krm(error).to_owned());
            }
            Failure::File(file) => self.file(&mut failed, file),
            Failure::Kptfile(error) => self.kptfile(&mut failed, &kptfile, error),
            Failure::Pipeline(error) => {
                failed.details.place = field_place(self.files, &kptfile, &error.field);
                failed.details.hint = Some(hints::pipeline(error).to_owned());
            }
            Failure::PipelineAtRun(errors) => {
                if let Some(error) = errors.first() {
                    failed.details.place = field_place(self.files, &kptfile, &error.field);
                    failed.details.hint = Some(hints::pipeline(error).to_owned());
                }
            }
            Failure::Because(Why::Unavailable, _) => {
                let users =
                    crate::functions::container_functions::of_package(self.files, self.running);
                failed.details.hint = Some(crate::functions::container_functions::hint(&users));
            }
            Failure::Because(Why::NoTag, _) => {
                let problems = self.running.registry_problems();
                failed.details.hint = Some(hints::no_tag(&problems));
            }
            Failure::Because(why, text) => failed.details.hint = hints::because(*why, text),
            Failure::Text(_) => {}
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
        failed.details.hint = Some(
            "fix the file, or list it in .krmignore if it does not contain resources".to_owned(),
        );
    }

    fn kptfile(&self, failed: &mut Failed, path: &str, error: &KptfileError) {
        failed.details.hint = hints::kptfile(&error.problem).map(str::to_owned);
        match &error.problem {
            KptfileProblem::Yaml(problem) => {
                let report = problem.report(&self.show(path), 0);
                let quoted = kiln_go::quote(&error.path);
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
            }
            KptfileProblem::UnknownType(_)
            | KptfileProblem::Deprecated(_)
            | KptfileProblem::GroupVersion(_) => {
                failed.details.place = field_place(self.files, path, "apiVersion");
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
pub(crate) fn call(ui: &Ui, failure: &Failure, function: &str) -> Error {
    let is_own = ui.compat() == Compat::Kiln;
    let text = match failure {
        Failure::Exit(exit) if is_own => format!("error: function failed: {exit}"),
        Failure::Exit(_) => return Failed::told().into(),
        failure => format!("error: {}", failure.chain_text()),
    };
    if !is_own {
        return Failed::with(text).into();
    }
    let hint = match failure {
        Failure::Exit(exit) => hints::exit(exit, None),
        Failure::NotKrm(error) => Some(hints::not_krm(error).to_owned()),
        Failure::Because(Why::Unavailable, _) => {
            let users = [(None, function.to_owned())];
            Some(crate::functions::container_functions::hint(&users))
        }
        Failure::Because(why, text) => hints::because(*why, text),
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
