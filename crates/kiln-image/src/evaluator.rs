//! The evaluator of images without a container engine.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use kiln_oci::ImageReference;
use kiln_runtime::process::{self, FinishedProcess, Program, StopSignal};
use kiln_runtime::{
    Certainty, Evaluator, FindError, Found, FunctionIdentity, FunctionSpec, Input, Network,
    Outcome, ReproducibleCall, RunContext, RunError, Runner, Target,
};
use kiln_sandbox::{ImageSandbox, IsolationLevel, SandboxError};
use kiln_store::ExecutableFormat;

use crate::command::{Arguments, PreparedImage, prepare};
use crate::error::{ImageRunError, LeftToNext, NoLevelReason};
use crate::levels::Levels;
use crate::options::{ImageOptions, LevelChoice};
use crate::pull::{FoundImage, ImageSource, PullFailure};
use crate::start_problem::explain;

/// Runs images from the store.
pub struct ImageEvaluator {
    shared: Arc<ImageState>,
}

struct ImageState {
    options: ImageOptions,
    source: ImageSource,
    levels: Levels,
}

impl ImageEvaluator {
    /// Opens and checks nothing: a system that cannot run images is an error only for functions that need it.
    pub fn new(mut options: ImageOptions) -> ImageEvaluator {
        if options.levels == LevelChoice::Any {
            // The next evaluator may have the image.
            options.registry.retry.retries_refused = false;
        }
        let shared = ImageState {
            options,
            source: ImageSource::new(),
            levels: Levels::default(),
        };
        ImageEvaluator {
            shared: Arc::new(shared),
        }
    }

    /// The documentation of an image: runs it with `--help` and with an empty list on its standard input.
    pub fn help(
        &self,
        image: &str,
        empty_list: &str,
        ctx: &RunContext,
    ) -> Result<FinishedProcess, RunError> {
        let function = FunctionSpec::image(image);
        let call = self.shared.prepare(&function, Arguments::Help, ctx)?;
        self.shared
            .run(&call, &function, empty_list.as_bytes(), ctx)
    }

    /// The level by which an image ran last in this process.
    pub fn level_used(&self, image: &str) -> Option<IsolationLevel> {
        self.shared.levels.used(image)
    }

    /// Tries namespaces on this system, without an image.
    pub fn probe_namespaces(&self) -> Result<(), Arc<SandboxError>> {
        let ImageState {
            levels, options, ..
        } = &*self.shared;
        levels.probe_namespaces(&options.temporary)
    }
}

impl Evaluator for ImageEvaluator {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        match function.target {
            Target::Image(_) => Ok(Found::blocking(ImageRunner {
                shared: Arc::clone(&self.shared),
                function: function.clone(),
                prepared: Mutex::default(),
            })),
            Target::Exec(_) | Target::Program(_) => Err(FindError::not_found(function)),
        }
    }
}

struct ImageRunner {
    shared: Arc<ImageState>,
    function: FunctionSpec,
    /// What [`Runner::reproducible`] has prepared, for the run that follows.
    prepared: Mutex<Option<Result<PreparedCall, RunError>>>,
}

/// A call of an image that is in the store.
struct PreparedCall {
    prepared: PreparedImage,
    identity: FunctionIdentity,
}

impl ImageRunner {
    fn finish(
        &self,
        input: &[u8],
        ctx: &RunContext,
    ) -> Result<(FinishedProcess, FunctionIdentity), RunError> {
        let prepared = self.prepared.lock();
        let prepared = prepared.unwrap_or_else(PoisonError::into_inner).take();
        let prepare = || self.shared.prepare(&self.function, Arguments::Default, ctx);
        let call = prepared.unwrap_or_else(prepare)?;
        let finished = self.shared.run(&call, &self.function, input, ctx)?;
        Ok((finished, call.identity))
    }
}

impl Runner for ImageRunner {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        match self.finish(input.wire().as_bytes(), ctx) {
            Ok((finished, identity)) => {
                let mut outcome = Outcome::from(finished);
                outcome.stderr = without_last_break(outcome.stderr);
                outcome.identity = Some(identity);
                Ok(outcome)
            }
            Err(RunError::TimedOut { timeout, stderr }) => Err(RunError::TimedOut {
                timeout,
                stderr: without_last_break(stderr),
            }),
            Err(error) => Err(error),
        }
    }

    /// What a call depends on besides its input. An image with network or mounts can read anything, and one that runs in place
    /// can read files of this machine.
    fn reproducible(&self, ctx: &RunContext) -> Option<ReproducibleCall> {
        let options = &self.shared.options;
        if self.function.network == Network::Host || !options.mounts.is_empty() {
            return None;
        }
        let interface = match self.shared.levels.isolated(options)? {
            IsolationLevel::Namespaces => "wire in namespaces",
            IsolationLevel::NamespacesWithOuterProc => "wire with the outer /proc",
            IsolationLevel::Landlock => return None,
        };
        let call = self.shared.prepare(&self.function, Arguments::Default, ctx);
        let reproducible = call.as_ref().ok();
        let reproducible = reproducible.map(|call| call.reproducible(interface, ctx));
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        *prepared = Some(call);
        reproducible
    }
}

impl PreparedCall {
    fn reproducible(&self, interface: &'static str, ctx: &RunContext) -> ReproducibleCall {
        let process = &self.prepared.process;
        let (uid, gid) = process.user;
        let variable = |(name, value): &(OsString, OsString)| {
            [name.as_bytes(), b"=", value.as_bytes()].concat()
        };
        let words = process.words.iter().map(|word| word.as_bytes().to_vec());
        ReproducibleCall {
            identity: self.identity.clone(),
            interface,
            platform: Some(self.prepared.image.meta().platform.to_string()),
            arguments: words.chain([format!("{uid}:{gid}").into()]).collect(),
            environment: process.environment.iter().map(variable).collect(),
            memory: ctx.limits.memory,
            certainty: Certainty::Assumed,
        }
    }
}

/// The image by the digest that its name resolves to, and that of the manifest for this machine, which names all of its
/// content.
fn identity(name: &str, found: &FoundImage) -> FunctionIdentity {
    let repository = match name.parse::<ImageReference>() {
        Ok(reference) => format!("{}/{}", reference.registry(), reference.repository()),
        Err(_) => name.to_owned(),
    };
    let manifest = &found.image.meta().manifest_digest;
    FunctionIdentity::image_of_index(&repository, found.digest.as_str(), manifest.as_str())
}

/// Whether the kernel does not have a system call, or a filter refuses it.
fn is_refused(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::Unsupported | ErrorKind::PermissionDenied
    )
}

/// kpt drops the last line break of what an image prints to stderr.
fn without_last_break(mut stderr: Vec<u8>) -> Vec<u8> {
    if stderr.last() == Some(&b'\n') {
        stderr.pop();
    }
    stderr
}

impl ImageState {
    /// Finds the image, pulled if necessary, and prepares its process.
    fn prepare(
        &self,
        function: &FunctionSpec,
        arguments: Arguments,
        ctx: &RunContext,
    ) -> Result<PreparedCall, RunError> {
        let found = self.image(function.name(), ctx)?;
        let identity = identity(function.name(), &found);
        let prepared = prepare(found.image, function, arguments, &self.options);
        let prepared = prepared.map_err(|error| self.unavailable(error))?;
        Ok(PreparedCall { prepared, identity })
    }

    fn run(
        &self,
        call: &PreparedCall,
        function: &FunctionSpec,
        input: &[u8],
        ctx: &RunContext,
    ) -> Result<FinishedProcess, RunError> {
        let prepared = &call.prepared;
        let finished = match self.options.levels {
            LevelChoice::Landlock => self.run_in_place(prepared, function, input, ctx, None),
            LevelChoice::Any | LevelChoice::Namespaces => {
                self.run_isolated(prepared, function, input, ctx)
            }
        };
        finished.map_err(|error| explain(function.name(), prepared, error))
    }

    /// The image in the store, pulled if necessary.
    fn image(&self, name: &str, ctx: &RunContext) -> Result<FoundImage, RunError> {
        let found = self.source.find(name, &self.options);
        if let Some(found) = found.map_err(|error| self.unavailable(error))? {
            return Ok(found);
        }
        // Also on a system without namespaces: whether the program is static, and so can run without them, is in the image.
        let pulled = self.source.pull(name, &self.options, ctx);
        pulled.map_err(|failure| match failure {
            PullFailure::Failed(error) => self.unavailable(error),
            PullFailure::Ended(error) => error,
        })
    }

    fn run_isolated(
        &self,
        prepared: &PreparedImage,
        function: &FunctionSpec,
        input: &[u8],
        ctx: &RunContext,
    ) -> Result<FinishedProcess, RunError> {
        let refused = match self.levels.namespaces(&self.options) {
            Ok(sandbox) => match self.run_in_namespaces(sandbox, prepared, function, input, ctx) {
                Ok(finished) => return finished,
                Err(refused) => refused,
            },
            Err(refused) => refused,
        };
        match self.options.levels {
            LevelChoice::Any => self.run_in_place(prepared, function, input, ctx, Some(refused)),
            _ => Err(self.no_level(function.name(), NoLevelReason::Namespaces(refused))),
        }
    }

    /// The outer error means that this system does not allow namespaces.
    fn run_in_namespaces(
        &self,
        sandbox: &ImageSandbox,
        prepared: &PreparedImage,
        function: &FunctionSpec,
        input: &[u8],
        ctx: &RunContext,
    ) -> Result<Result<FinishedProcess, RunError>, Arc<SandboxError>> {
        let ran = process::run_image(sandbox, &prepared.process, input, ctx);
        match ran {
            Err(RunError::Unavailable(error)) => match error.downcast::<SandboxError>() {
                Ok(error) if matches!(*error, SandboxError::Isolate(_)) => {
                    Err(self.levels.refuse_namespaces(*error))
                }
                Ok(error) if matches!(*error, SandboxError::ReservedPath { .. }) => Ok(Err(
                    self.no_level(function.name(), NoLevelReason::Path(error))
                )),
                Ok(error) => Ok(Err(RunError::Unavailable(error))),
                Err(error) => Ok(Err(RunError::Unavailable(error))),
            },
            ran => {
                self.levels.note(function.name(), sandbox.level());
                Ok(ran)
            }
        }
    }

    /// Runs a static program from the unpacked image, confined like an executable. `refused` is why namespaces are not
    /// used, if they were to be.
    fn run_in_place(
        &self,
        prepared: &PreparedImage,
        function: &FunctionSpec,
        input: &[u8],
        ctx: &RunContext,
        refused: Option<Arc<SandboxError>>,
    ) -> Result<FinishedProcess, RunError> {
        let image = function.name();
        let is_static = matches!(
            &prepared.program.format,
            ExecutableFormat::Elf {
                interpreter: None,
                ..
            }
        );
        if !is_static {
            let program = prepared.process.program.clone();
            let reason = match refused {
                Some(source) => NoLevelReason::NotStatic { program, source },
                None => NoLevelReason::LandlockNeedsStatic { program },
            };
            return Err(self.no_level(image, reason));
        }
        if !self.options.mounts.is_empty() {
            return Err(self.no_level(image, NoLevelReason::MountsNeedNamespaces));
        }
        let allow_network = function.network == Network::Host;
        let sandbox = self.levels.landlock(&self.options, allow_network);
        let sandbox =
            sandbox.map_err(|error| self.no_level(image, NoLevelReason::Landlock(error)))?;
        // The kernel would follow a link of the image to the files of this machine.
        let inside = prepared.image.resolve_file(&prepared.program.path);
        let inside = inside.map_err(|source| {
            self.unavailable(ImageRunError::Read {
                image: image.to_owned(),
                path: "the program",
                source,
            })
        })?;
        let words = prepared.process.words.iter();
        let mut words = words.map(|word| word.to_string_lossy().into_owned());
        let program = Program {
            // A program with several names does what it is called by.
            name: &words.next().unwrap_or_default(),
            arguments: &words.collect::<Vec<String>>(),
            search_path: std::ffi::OsStr::new(""),
            stop_signal: StopSignal::Kill,
            sandbox: Some(sandbox),
            environment: Some(&prepared.process.environment),
        };
        let file = prepared.process.root.join(inside);
        let ran = process::run_file(&file, program, input, ctx);
        self.levels.note(image, IsolationLevel::Landlock);
        ran.map_err(|error| match error {
            RunError::Unavailable(error) => match error.downcast::<SandboxError>() {
                // It was not started.
                Ok(error) => self.no_level(image, NoLevelReason::Landlock(*error)),
                Err(error) => RunError::Unavailable(error),
            },
            error => error,
        })
    }

    /// An image that no level can run is left to the next evaluator, unless the user has chosen the level.
    fn no_level(&self, image: &str, reason: NoLevelReason) -> RunError {
        self.not_run(ImageRunError::NoLevel {
            image: image.to_owned(),
            source: Arc::new(reason),
        })
    }

    fn unavailable(&self, error: ImageRunError) -> RunError {
        match error {
            // An engine may be able to: it may have images that are in no registry.
            ImageRunError::MountKind { .. }
            | ImageRunError::NoStore
            | ImageRunError::OpenStore(_)
            | ImageRunError::Pull { .. } => self.not_run(error),
            // It does not read the files of the image by the system calls of this process.
            ImageRunError::Read { ref source, .. } if is_refused(source) => self.not_run(error),
            error => RunError::Unavailable(Box::new(error)),
        }
    }

    fn not_run(&self, error: ImageRunError) -> RunError {
        match self.options.levels {
            LevelChoice::Any => RunError::NotFound(Box::new(LeftToNext(error))),
            LevelChoice::Namespaces | LevelChoice::Landlock => {
                RunError::Unavailable(Box::new(error))
            }
        }
    }
}
