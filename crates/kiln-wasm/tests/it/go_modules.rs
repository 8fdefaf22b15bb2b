//! Programs in Go, for `js` and for `wasip1`, built by the Go of this machine.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use kiln_runtime::Limits;
use kiln_wasm::{WasmEngine, WasmEvaluator};

use crate::support::{Call, describe, engines, evaluator, skip};

const LIST: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n\
                    - metadata:\n    name: before\n";

/// The two interfaces of Go.
const SYSTEMS: [&str; 2] = ["js", "wasip1"];

/// The module for a system; `None` if there is no Go here.
fn module(system: &'static str) -> Option<&'static Path> {
    static MODULES: OnceLock<Option<[PathBuf; 2]>> = OnceLock::new();
    let modules = MODULES.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-modules");
        let build = |system: &str| -> Option<PathBuf> {
            let path = directory.join(format!("{system}.wasm"));
            let built = Command::new("go")
                .args(["build", "-o"])
                .arg(&path)
                .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/go"))
                .env("GOOS", system)
                .env("GOARCH", "wasm")
                .env("GOFLAGS", "-mod=mod")
                .env("GOTOOLCHAIN", "local")
                .output()
                .ok()?;
            let message = String::from_utf8_lossy(&built.stderr).into_owned();
            assert!(built.status.success(), "go build: {message}");
            Some(path)
        };
        Some([build("js")?, build("wasip1")?])
    });
    let Some(modules) = modules else {
        skip("there is no go");
        return None;
    };
    let index = SYSTEMS.iter().position(|known| *known == system)?;
    modules.get(index).map(PathBuf::as_path)
}

/// One evaluator for each engine: compiling a module takes seconds.
fn shared(engine: WasmEngine) -> &'static WasmEvaluator {
    static INTERPRETER: OnceLock<WasmEvaluator> = OnceLock::new();
    static COMPILER: OnceLock<WasmEvaluator> = OnceLock::new();
    match engine {
        WasmEngine::Compiler => COMPILER.get_or_init(|| evaluator(engine)),
        _ => INTERPRETER.get_or_init(|| evaluator(engine)),
    }
}

/// The answer to an input, the same of all engines.
#[track_caller]
fn answer(system: &'static str, call: &Call<'_>) -> Option<String> {
    let module = module(system)?;
    let mut answers = engines()
        .into_iter()
        .map(|engine| (engine, describe(call.run(shared(engine), module))));
    let (_, oracle) = answers.next()?;
    for (engine, answer) in answers {
        assert_eq!(answer, oracle, "{engine:?} differs from the interpreter");
    }
    Some(oracle)
}

#[track_caller]
fn check(system: &'static str, task: &str, expected: impl Fn(&str) -> String) {
    let input = format!("{LIST}# do: {task}\n");
    let changed = input.replace("before", "after");
    if let Some(answer) = answer(system, &Call::new(&input)) {
        assert_eq!(answer, expected(&changed), "{system}: {task}");
    }
}

#[test]
fn lists_are_changed() {
    for system in SYSTEMS {
        check(system, "nothing", |list| format!("0|{list}|"));
        check(system, "files", |list| format!("0|{list}# error: true\n|"));
        check(system, "sync", |list| format!("0|{list}# error: <nil>\n|"));
        check(system, "environment", |list| {
            format!("0|{list}# environment: 0\n|")
        });
    }
}

#[test]
fn failures_carry_their_message() {
    check("wasip1", "fail", |_| "1||the input is wrong\n".to_owned());
    check("js", "fail", |_| {
        "1||unable to process resource list: the input is wrong\na message of the results"
            .to_owned()
    });
    for system in SYSTEMS {
        check(system, "exit", |_| "7||".to_owned());
    }
}

#[test]
fn what_is_printed_is_kept() {
    check("wasip1", "print", |list| {
        format!("0|to stdout\n{list}|to stderr\n")
    });
    // The answer is what the function returns; everything that is printed is its log.
    check("js", "print", |list| {
        format!("0|{list}|to stderr\nto stdout\n")
    });
}

#[test]
fn sleeping_takes_no_time() {
    for system in SYSTEMS {
        check(system, "sleep", |list| format!("0|{list}|"));
    }
}

#[test]
fn goroutines_wait_for_each_other() {
    for system in SYSTEMS {
        check(system, "goroutines", |list| {
            format!("0|{list}# sum: 4950\n|")
        });
    }
}

#[test]
fn memory_grows_in_the_middle_of_a_call() {
    for system in SYSTEMS {
        check(system, "grow", |list| format!("0|{list}# pieces: 64\n|"));
    }
}

#[test]
fn a_panic_is_a_failure_with_its_message() {
    for system in SYSTEMS {
        let input = format!("{LIST}# do: panic\n");
        if let Some(answer) = answer(system, &Call::new(&input)) {
            assert!(answer.starts_with("2||panic: on request"), "{answer}");
        }
    }
}

#[test]
fn memory_and_time_are_limited() {
    for system in SYSTEMS {
        let input = format!("{LIST}# do: exhaust\n");
        let limits = Limits {
            memory: Some(100 << 20),
            ..Limits::default()
        };
        let call = Call {
            limits,
            ..Call::new(&input)
        };
        if let Some(answer) = answer(system, &call) {
            assert_eq!(
                answer,
                "error: function used more than 104857600 bytes of memory and was killed"
            );
        }
        let input = format!("{LIST}# do: loop\n");
        for engine in engines() {
            let Some(module) = module(system) else {
                return;
            };
            // Loads the module, so that the deadline is that of the loop.
            drop(Call::new(LIST).run(shared(engine), module));
            let call = Call {
                timeout: Duration::from_secs(1),
                ..Call::new(&input)
            };
            let answer = describe(call.run(shared(engine), module));
            assert!(
                answer.starts_with("error: function did not finish within 1s"),
                "{answer}"
            );
        }
    }
}

#[test]
fn a_thousand_parallel_runs_are_all_right() {
    const THREADS: usize = 8;
    // The interpreter of a debug build takes a hundred times as long.
    const RUNS: usize = if cfg!(feature = "wasm-jit") { 1000 } else { 16 };
    // So large that memory grows while the list is read.
    let item = "- metadata:\n    name: before\n    annotations:\n      a: b\n";
    let input = format!("{LIST}{}", item.repeat(500));
    let expected = format!("0|{}|", input.replace("before", "after"));
    let Some(module) = module("js") else {
        return;
    };
    let engine = *engines().last().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..RUNS / THREADS {
                    let answer = describe(Call::new(&input).run(shared(engine), module));
                    assert!(answer == expected, "wrong answer: {}", answer.len());
                }
            });
        }
    });
}

/// The example of the documentation, which has one dependency.
#[test]
fn the_example_in_go_passes_its_tests_and_runs() {
    let directory = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/wasm-function/go"
    );
    let go = |arguments: &[&str], variables: &[(&str, &str)]| {
        Command::new("go")
            .args(arguments)
            .current_dir(directory)
            .env("GOTOOLCHAIN", "local")
            .envs(variables.iter().copied())
            .output()
    };
    match go(&["mod", "download"], &[]) {
        Err(_) => return skip("there is no go"),
        Ok(output) if !output.status.success() => {
            return skip("the modules of Go that the example needs cannot be downloaded");
        }
        Ok(_) => {}
    }
    let succeed = |arguments: &[&str], variables: &[(&str, &str)]| {
        let output = go(arguments, variables).unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "go {arguments:?}: {message}");
    };
    succeed(&["vet", "./..."], &[]);
    succeed(&["test", "./..."], &[]);
    let list = format!("{LIST}functionConfig:\n  data:\n    owner: shop\n");
    let built = tempfile::tempdir().unwrap();
    for system in SYSTEMS {
        let path = built.path().join(format!("{system}.wasm"));
        let output = path.display().to_string();
        let target = [("GOOS", system), ("GOARCH", "wasm")];
        succeed(&["build", "-o", &output, "."], &target);
        // The interpreter: compiling takes longer than everything else here.
        let evaluator = evaluator(WasmEngine::Interpreter);
        let answer = describe(Call::new(&list).run(&evaluator, &path));
        assert!(answer.starts_with("0|"), "{system}: {answer}");
        assert!(
            answer.contains("example.com/owner: shop"),
            "{system}: {answer}"
        );
    }
}
