//! Modules that functions name as programs (`exec`).

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use kiln_exec::split;
use kiln_runtime::{Evaluator, FindError, Found, FunctionSpec, Target};
use kiln_wasm::{WasmError, WasmEvaluator, WasmImageEvaluator, read_module_file};

/// Settings of the evaluators of WebAssembly.
#[derive(Clone)]
pub struct WasmChainOptions {
    pub modules: WasmEvaluator,
    /// Which programs are modules.
    pub programs: WasmPrograms,
    /// Images that are modules.
    pub images: Option<WasmImageEvaluator>,
    pub image_order: WasmImageOrder,
}

/// Which programs are modules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WasmPrograms {
    /// Files that are modules by their first bytes.
    ByContent,
    /// Those whose name ends in `.wasm`, as in kpt's `fn eval`.
    ByName,
    /// All, as in kpt's `fn render`.
    All,
    /// None.
    Nothing,
}

/// When images are looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WasmImageOrder {
    /// After the built-in functions.
    AfterNative,
    /// Before everything else, as in kpt.
    First,
}

/// Runs programs that are modules.
pub(crate) struct ModulePrograms {
    pub(crate) modules: WasmEvaluator,
    pub(crate) programs: WasmPrograms,
}

impl Evaluator for ModulePrograms {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let not_found = || FindError::not_found(function);
        let Target::Exec(command_line) = &function.target else {
            return Err(not_found());
        };
        match self.programs {
            WasmPrograms::Nothing => Err(not_found()),
            WasmPrograms::ByContent => {
                let words = split(command_line).unwrap_or_default();
                let (program, arguments) = words.split_first().ok_or_else(not_found)?;
                // Without a slash it is searched for in $PATH, where no modules are.
                let is_path = program.contains('/') || program.ends_with(".wasm");
                let path = Path::new(program);
                let found = is_path.then(|| self.modules.file(path, arguments));
                match found.flatten() {
                    Some(found) => Ok(found),
                    None if program.ends_with(".wasm") && !path.exists() => {
                        Err(FindError::refused(MissingModule(program.to_owned())))
                    }
                    None if program.ends_with(".wasm") && !is_executable(path) => {
                        Err(not_a_module(program))
                    }
                    None => Err(not_found()),
                }
            }
            WasmPrograms::ByName if !command_line.ends_with(".wasm") => Err(not_found()),
            // As in kpt, the whole text is the path.
            WasmPrograms::ByName | WasmPrograms::All => {
                let path = Path::new(command_line);
                let found = self.modules.file(path, &[]);
                found.ok_or_else(|| not_a_module(command_line))
            }
        }
    }
}

/// Whether a file can be a program in spite of its name.
fn is_executable(path: &Path) -> bool {
    let metadata = std::fs::metadata(path);
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The error for a file that has to be a module.
fn not_a_module(path: &str) -> FindError {
    let error = read_module_file(Path::new(path)).err();
    FindError::refused(ModuleProgramError {
        source: error.map(Box::new),
        path: path.to_owned(),
    })
}

/// A module is not there, by the path that names it.
#[derive(Debug)]
struct MissingModule(String);

impl std::error::Error for MissingModule {}

impl std::fmt::Display for MissingModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let MissingModule(path) = self;
        write!(f, "cannot open module {path}: no such file or directory")?;
        match Path::new(path).is_absolute() {
            true => Ok(()),
            false => {
                f.write_str("; the path is relative to the current directory, not to the package")
            }
        }
    }
}

/// Why a program that has to be a module is not.
#[derive(Debug)]
struct ModuleProgramError {
    path: String,
    source: Option<Box<WasmError>>,
}

impl std::error::Error for ModuleProgramError {}

impl std::fmt::Display for ModuleProgramError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.source.as_deref() {
            Some(error @ WasmError::Read { source, .. }) => {
                let reason = std::error::Error::source(error)
                    .map_or_else(|| source.to_string(), |_| kiln_go::errno_text(source));
                let path = &self.path;
                write!(f, "failed to open file {path}: open {path}: {reason}")
            }
            Some(error) => f.write_str(&kiln_go::error_chain(error)),
            None => write!(f, "{} is not a WebAssembly module", self.path),
        }
    }
}
