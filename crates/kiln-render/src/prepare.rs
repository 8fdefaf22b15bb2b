//! Resolving the functions of a pipeline, before any of them runs.

use kiln_krm::kptfile::{Function, Step};
use kiln_runtime::{FindError, FunctionSpec, Target};
use kiln_yaml::Document;

use crate::error::Failure;
use crate::function::{ReadyFunction, config_map, resolve_image};
use crate::options::RenderCompat;
use crate::pipeline::PipelineRun;

impl PipelineRun<'_> {
    /// Resolves a function's name, finds its runner and reads its configuration.
    pub(crate) fn make_ready(
        &self,
        function: &Function,
    ) -> Result<ReadyFunction, (Box<Step>, Failure)> {
        let failed = |image: String, failure: Failure| {
            let step = failed_step(function, image, &failure);
            (Box::new(step), failure)
        };
        if !function.exec.is_empty() && !self.options.allow_exec {
            self.check_module(function)
                .map_err(|failure| failed(function.image.clone(), failure))?;
        }
        let config = self
            .read_config(function)
            .map_err(|failure| failed(function.image.clone(), failure))?;
        let options = &self.options.functions;
        let pins = options.pins;
        let pinned = pins.and_then(|pins| pins.of(&function.image, &function.tag));
        let (image, pin) = match pinned {
            _ if function.image.is_empty() => (String::new(), None),
            Some(pinned) => (pinned.resolved, Some(pinned.pin)),
            None => {
                let image = resolve_image(function, options, self.context.log);
                let image = image.map_err(|(image, failure)| failed(image, failure))?;
                (image, None)
            }
        };
        let target = match image.as_str() {
            "" => Target::Exec(function.exec.clone()),
            image => Target::Image(image.to_owned()),
        };
        let spec = FunctionSpec {
            network: options.network,
            pin,
            ..FunctionSpec::new(target)
        };
        ReadyFunction::find(spec, config, options).map_err(|failure| failed(image, failure))
    }

    /// A program that needs permission, and has none, can only be a WebAssembly module, which may always run. kpt allows none.
    fn check_module(&self, function: &Function) -> Result<(), Failure> {
        let options = &self.options.functions;
        if options.compat != RenderCompat::Kiln || !function.image.is_empty() {
            return Err(Failure::ExecNotAllowed);
        }
        let target = Target::Exec(function.exec.clone());
        let found = options.evaluator.find(&FunctionSpec::new(target));
        match found.map(|found| found.into_runner().is_module()) {
            Ok(true) => Ok(()),
            // It names a module that cannot be read. Permission to run programs would not help.
            Err(FindError::Refused(error)) => Err(Failure::Text(error.to_string())),
            _ => Err(Failure::ExecNotAllowed),
        }
    }

    /// The configuration as it is in the package's files, before any function has changed it.
    fn read_config(&self, function: &Function) -> Result<Option<Document>, Failure> {
        let path = &function.config_path;
        if path.is_empty() {
            return Ok(config_map(function));
        }
        let quoted = kiln_go::quote(path);
        let bytes = self
            .files
            .read(&self.package.path_in_root(path))
            .map_err(|_| Failure::Text(format!("missing function config {quoted}")))?;
        kiln_yaml::parse_first(&bytes)
            .map_err(|error| Failure::Text(format!("invalid function config {quoted} {error}")))
    }
}

/// The step of a function that did not start, in the render status.
pub(crate) fn failed_step(function: &Function, image: String, failure: &Failure) -> Step {
    Step {
        name: function.name.clone(),
        image,
        exec: function.exec.clone(),
        exit_code: 1,
        execution_error: failure.chain_text(),
        ..Step::default()
    }
}
