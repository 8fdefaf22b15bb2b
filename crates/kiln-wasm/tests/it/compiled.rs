//! Compiled code on disk: used when it is right, a miss when it is not.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kiln_wasm::{
    StepListener, WasmEngine, WasmEvaluator, WasmOptions, WasmStep, WasmUsage, read_module_file,
};

use crate::support::{Call, ModuleFile, describe, error_text, evaluator};

/// A program that exits with 5.
const FIVE: &str = r#"(module
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1) (func (export "_start") (call $exit (i32.const 5))))"#;

struct Cache {
    directory: tempfile::TempDir,
    module: ModuleFile,
}

impl Cache {
    fn new() -> Cache {
        Cache {
            directory: tempfile::tempdir().unwrap(),
            module: ModuleFile::of_text(FIVE),
        }
    }

    /// Runs the module as a new process would; returns the steps.
    fn run(&self, engine: WasmEngine) -> Vec<WasmStep> {
        let steps = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&steps);
        let evaluator = WasmEvaluator::new(WasmOptions {
            engine,
            usage: WasmUsage::Command,
            cache: Some(self.directory.path().to_owned()),
            on_step: Some(StepListener::new(move |step, _| {
                if is_of_engine(step) {
                    seen.lock().unwrap().push(step);
                }
            })),
            ..WasmOptions::default()
        });
        let ran = Call::new("").run(&evaluator, &self.module.path);
        assert_eq!(describe(ran), "5||");
        let mut steps = steps.lock().unwrap();
        std::mem::take(&mut *steps)
    }

    fn compiled(&self) -> PathBuf {
        self.directory.path().join("compiled")
    }

    /// The file with the code.
    fn code(&self) -> PathBuf {
        let entries = fs::read_dir(self.compiled()).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths
            .find(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "cwasm")
            })
            .unwrap()
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Whether a step makes code, and is not part of every call.
fn is_of_engine(step: WasmStep) -> bool {
    matches!(step, WasmStep::Load | WasmStep::Compile)
}

const COMPILED: [WasmStep; 1] = [WasmStep::Compile];
const LOADED: [WasmStep; 1] = [WasmStep::Load];

#[test]
fn code_is_compiled_once() {
    let cache = Cache::new();
    assert_eq!(cache.run(WasmEngine::Compiler), COMPILED);
    assert_eq!(cache.run(WasmEngine::Compiler), LOADED);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&cache.compiled()), 0o700);
    assert_eq!(mode(&cache.code()), 0o600);
}

#[test]
fn a_command_compiles_a_small_module_when_it_is_used_again() {
    let cache = Cache::new();
    assert_eq!(cache.run(WasmEngine::Auto), LOADED);
    assert_eq!(cache.run(WasmEngine::Auto), COMPILED);
    assert_eq!(cache.run(WasmEngine::Auto), LOADED);
}

#[test]
fn a_module_that_would_take_the_compiler_too_long_is_interpreted() {
    // Small enough for commands to compile it otherwise.
    let (variables, nothing) = ("i32 ".repeat(2_000), "(nop)".repeat(100_000));
    let start = format!(r#"(func (local {variables}) {nothing}) (func (export "_start")"#);
    let cache = Cache {
        module: ModuleFile::of_text(&FIVE.replace(r#"(func (export "_start")"#, &start)),
        ..Cache::new()
    };
    for _ in 0..3 {
        assert_eq!(cache.run(WasmEngine::Auto), LOADED);
    }
    let ran = Call::new("").run(&evaluator(WasmEngine::Compiler), &cache.module.path);
    let error = describe(ran);
    assert!(
        error.contains("takes the compiler too much time and memory"),
        "{error}"
    );
}

#[test]
fn damaged_code_is_compiled_again() {
    let changes: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes.truncate(100),
        Vec::clear,
        |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        },
        |bytes| bytes.extend_from_slice(b"more"),
    ];
    for change in changes {
        let cache = Cache::new();
        cache.run(WasmEngine::Compiler);
        let mut bytes = fs::read(cache.code()).unwrap();
        change(&mut bytes);
        fs::write(cache.code(), bytes).unwrap();
        assert_eq!(cache.run(WasmEngine::Compiler), COMPILED);
        assert_eq!(cache.run(WasmEngine::Compiler), LOADED);
    }
}

/// The code of another version of the compiler, or of one with other settings, under the name of ours.
#[test]
fn code_of_another_compiler_is_refused() {
    use sha2::{Digest as _, Sha256};

    let cache = Cache::new();
    cache.run(WasmEngine::Compiler);
    let own = cache.code();
    let name = own.file_name().unwrap().to_str().unwrap();
    let prefix = &name[..=name.rfind('-').unwrap()];
    let other = wasmtime::Engine::default();
    let code = other.precompile_module(&fs::read(&cache.module.path).unwrap());
    let code = code.unwrap();
    let digest = Sha256::digest(&code);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    fs::remove_file(&own).unwrap();
    let forged = cache.compiled().join(format!("{prefix}{digest}.cwasm"));
    fs::write(&forged, code).unwrap();
    set_mode(&forged, 0o600);
    assert_eq!(cache.run(WasmEngine::Compiler), COMPILED);
    assert!(!forged.exists());
    assert_eq!(cache.run(WasmEngine::Compiler), LOADED);
}

#[test]
fn what_a_killed_process_left_is_removed() {
    let cache = Cache::new();
    cache.run(WasmEngine::Compiler);
    let code = cache.code();
    let partial = code.with_file_name(
        code.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .replace(".cwasm", ".partial"),
    );
    let of_another_module = cache.compiled().join("other-1.partial");
    fs::rename(&code, &partial).unwrap();
    fs::write(&of_another_module, "").unwrap();
    assert_eq!(cache.run(WasmEngine::Compiler), COMPILED);
    assert!(!partial.exists());
    assert!(of_another_module.exists());
}

#[test]
fn code_of_another_module_under_the_name_of_this_one_is_not_used() {
    let cache = Cache::new();
    cache.run(WasmEngine::Compiler);
    let other = Cache {
        module: ModuleFile::of_text(&FIVE.replace("const 5", "const 6")),
        ..Cache::new()
    };
    let evaluator = WasmEvaluator::new(WasmOptions {
        engine: WasmEngine::Compiler,
        cache: Some(other.directory.path().to_owned()),
        ..WasmOptions::default()
    });
    let ran = Call::new("").run(&evaluator, &other.module.path);
    assert_eq!(describe(ran), "6||");
    fs::copy(other.code(), cache.code()).unwrap();
    assert_eq!(cache.run(WasmEngine::Compiler), COMPILED);
}

#[test]
fn code_that_others_can_write_is_not_used() {
    let cache = Cache::new();
    cache.run(WasmEngine::Compiler);
    set_mode(&cache.code(), 0o622);
    assert_eq!(cache.run(WasmEngine::Compiler), COMPILED);
    let cache = Cache::new();
    cache.run(WasmEngine::Compiler);
    for mode in [0o777, 0o770, 0o755] {
        set_mode(&cache.compiled(), mode);
        // Neither loaded nor stored.
        assert_eq!(cache.run(WasmEngine::Compiler), COMPILED);
        assert_eq!(cache.run(WasmEngine::Compiler), COMPILED);
    }
    set_mode(&cache.compiled(), 0o700);
    assert_eq!(cache.run(WasmEngine::Compiler), LOADED);
    set_mode(cache.directory.path(), 0o777);
    assert_eq!(cache.run(WasmEngine::Compiler), COMPILED);
}

#[test]
fn compiling_ahead_fails_if_the_code_cannot_be_stored() {
    let cache = Cache::new();
    let evaluator = WasmEvaluator::new(WasmOptions {
        cache: Some(cache.directory.path().to_owned()),
        ..WasmOptions::default()
    });
    let compile = || evaluator.compile("fn", read_module_file(&cache.module.path).unwrap());
    compile().unwrap();
    fs::remove_file(cache.code()).unwrap();
    set_mode(&cache.compiled(), 0o755);
    let error = error_text(&compile().unwrap_err());
    assert!(
        error.starts_with("cannot compile fn: cannot store the code: "),
        "{error}"
    );
    assert!(
        error.contains(&cache.compiled().display().to_string()),
        "{error}"
    );
}

#[test]
fn links_are_not_followed() {
    let cache = Cache::new();
    cache.run(WasmEngine::Compiler);
    let (code, elsewhere) = (cache.code(), cache.directory.path().join("elsewhere"));
    fs::rename(&code, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &code).unwrap();
    assert_eq!(cache.run(WasmEngine::Compiler), COMPILED);
    // A second name of the file is refused, too.
    let cache = Cache::new();
    cache.run(WasmEngine::Compiler);
    fs::hard_link(cache.code(), cache.directory.path().join("second")).unwrap();
    assert_eq!(cache.run(WasmEngine::Compiler), COMPILED);
}

#[test]
fn code_of_another_user_is_not_used() {
    if !is_root() {
        crate::support::skip("only root can give files to another user");
        return;
    }
    let cache = Cache::new();
    cache.run(WasmEngine::Compiler);
    std::os::unix::fs::chown(cache.code(), Some(1), None).unwrap();
    assert_eq!(cache.run(WasmEngine::Compiler), COMPILED);
    let cache = Cache::new();
    cache.run(WasmEngine::Compiler);
    std::os::unix::fs::chown(cache.compiled(), Some(1), None).unwrap();
    assert_eq!(cache.run(WasmEngine::Compiler), COMPILED);
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn two_processes_compile_one_module_without_harm() {
    let cache = Cache::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| cache.run(WasmEngine::Compiler));
        }
    });
    let entries = fs::read_dir(cache.compiled()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let code = names.filter(|name| name.ends_with(".cwasm")).count();
    assert_eq!(code, 1);
    assert_eq!(cache.run(WasmEngine::Compiler), LOADED);
}

/// The compiler is not stopped, but left alone.
#[test]
fn a_call_that_waits_for_the_compiler_ends_at_its_deadline() {
    let cache = Cache::new();
    fs::create_dir(cache.compiled()).unwrap();
    set_mode(&cache.compiled(), 0o700);
    let module = read_module_file(&cache.module.path).unwrap();
    // As another process that compiles the module.
    let path = cache.compiled().join(format!("{}.lock", module.digest()));
    let lock = fs::File::create(path).unwrap();
    lock.lock().unwrap();
    let evaluator = WasmEvaluator::new(WasmOptions {
        engine: WasmEngine::Compiler,
        cache: Some(cache.directory.path().to_owned()),
        ..WasmOptions::default()
    });
    let late = Call {
        timeout: Duration::from_millis(50),
        ..Call::new("")
    };
    let error = describe(late.run(&evaluator, &cache.module.path));
    assert!(
        error.starts_with("error: function did not finish within 50ms"),
        "{error}"
    );
    let cancelled = Call::new("");
    cancelled.cancel.cancel();
    let error = describe(cancelled.run(&evaluator, &cache.module.path));
    assert_eq!(error, "error: function was interrupted");
    lock.unlock().unwrap();
    let ran = describe(Call::new("").run(&evaluator, &cache.module.path));
    assert_eq!(ran, "5||");
}

#[test]
fn a_server_interprets_until_the_code_is_compiled() {
    let module = ModuleFile::of_text(FIVE);
    let steps = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&steps);
    let (compiled, is_compiled) = std::sync::mpsc::channel();
    let evaluator = WasmEvaluator::new(WasmOptions {
        usage: WasmUsage::Server,
        on_step: Some(StepListener::new(move |step, _| {
            if is_of_engine(step) {
                seen.lock().unwrap().push(step);
            }
            if step == WasmStep::Compile {
                compiled.send(()).unwrap();
            }
        })),
        ..WasmOptions::default()
    });
    for _ in 0..2 {
        assert_eq!(describe(Call::new("").run(&evaluator, &module.path)), "5||");
    }
    is_compiled.recv().unwrap();
    assert_eq!(describe(Call::new("").run(&evaluator, &module.path)), "5||");
    assert_eq!(*steps.lock().unwrap(), [WasmStep::Load, WasmStep::Compile]);
}
