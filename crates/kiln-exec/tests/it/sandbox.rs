//! Functions in a sandbox: well-behaved ones work, hostile ones affect no others.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kiln_exec::ExecEvaluator;
use kiln_krm::Dialect;
use kiln_runtime::{
    Deadline, Evaluator, FunctionSpec, Input, Limits, Outcome, RunContext, RunError, Target,
};
use kiln_sandbox::{
    Excess, HostEnvironment, InForce, Sandbox, SandboxError, SandboxLimits, SandboxPolicy,
    processes,
};

use crate::{LIST, SEARCH_PATH, config_map, document, wire};

/// An evaluator with a sandbox; `None`, with a message, where the system has no sandbox.
fn evaluator(limits: SandboxLimits) -> Option<ExecEvaluator> {
    let policy = SandboxPolicy {
        limits,
        ..SandboxPolicy::default()
    };
    let surroundings = HostEnvironment {
        environment: vec![("PATH".into(), SEARCH_PATH.into())],
        temporary: std::env::temp_dir(),
    };
    match Sandbox::new(policy, surroundings) {
        Ok(sandbox) => Some(ExecEvaluator::new(SEARCH_PATH).with_sandbox(Arc::new(sandbox))),
        Err(SandboxError::Unsupported { reason }) => {
            skip(&reason);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test is visible")]
fn skip(reason: &str) {
    eprintln!("SKIPPED: {reason}");
}

fn run_with(
    evaluator: &ExecEvaluator,
    function: &FunctionSpec,
    timeout: Duration,
) -> Result<Outcome, RunError> {
    let items = [config_map("a")];
    let config = document("data:\n  k: v\n");
    let input = Input::new(Dialect::Current, &items, Some(&config));
    let ctx = RunContext {
        deadline: Deadline::after(timeout),
        limits: Limits::default(),
        ..RunContext::default()
    };
    let found = evaluator.find(function).ok().unwrap();
    found.into_runner().run(&input, &ctx)
}

/// Long enough never to be reached by a test that passes.
const PATIENCE: Duration = Duration::from_secs(120);

fn shell(script: &str) -> FunctionSpec {
    assert!(!script.contains('\''), "{script}");
    FunctionSpec::exec(format!("sh -c '{script}'"))
}

/// The function returns its input.
#[track_caller]
fn check_works(function: &FunctionSpec) {
    let Some(evaluator) = evaluator(SandboxLimits::default()) else {
        return;
    };
    let outcome = run_with(&evaluator, function, PATIENCE).unwrap();
    let stderr = outcome.stderr_text().into_owned();
    assert_eq!(outcome.exit_text(), "exit status 0", "{stderr}");
    assert_eq!(wire(outcome), LIST, "{stderr}");
}

/// A directory for programs, closed to other users like temporary directories.
struct Programs {
    directory: tempfile::TempDir,
}

impl Programs {
    fn new() -> Programs {
        Programs {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> String {
        let path = self.directory.path().join(name);
        path.to_str().unwrap().to_owned()
    }

    fn script(&self, name: &str, text: &str) -> FunctionSpec {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        FunctionSpec::new(Target::Program(path))
    }
}

/// The path of a program of the system; `None`, with a message, if it is missing.
fn installed(name: &str) -> Option<String> {
    let directories = SEARCH_PATH.split(':').chain(["/usr/local/go/bin"]);
    let mut paths = directories.map(|directory| format!("{directory}/{name}"));
    let found = paths.find(|path| Path::new(path).exists());
    if found.is_none() {
        skip(&format!("{name} is not installed"));
    }
    found
}

#[test]
fn programs_of_the_system_work() {
    check_works(&FunctionSpec::exec("cat"));
    check_works(&FunctionSpec::exec("sed -e s/no/no/"));
    check_works(&shell("cat /dev/stdin | tee copy | cat >/dev/stdout"));
    check_works(&shell(
        "t=$(mktemp) && cat >$t && sort -c /dev/null && cat $t",
    ));
}

#[test]
fn scripts_work() {
    let programs = Programs::new();
    std::fs::write(programs.path("data"), "").unwrap();
    let text = "#!/bin/sh\nset -e\ncat \"${0%/*}/data\" - >list\ncp list copy\ncat copy\n";
    check_works(&programs.script("function.sh", text));
}

#[test]
fn static_programs_work() {
    let programs = Programs::new();
    let (source, program) = (programs.path("copy.rs"), programs.path("copy"));
    let text =
        "fn main() { std::io::copy(&mut std::io::stdin(), &mut std::io::stdout()).unwrap(); }";
    std::fs::write(&source, text).unwrap();
    let built = Command::new("rustc")
        .args(["-C", "target-feature=+crt-static", "-o", &program, &source])
        .output();
    if !built.is_ok_and(|output| output.status.success()) {
        skip("no static program can be built here");
        return;
    }
    check_works(&FunctionSpec::new(Target::Program(program)));
}

#[test]
fn programs_in_python_work() {
    let Some(python) = installed("python3") else {
        return;
    };
    let text = format!(
        "#!{python}\nimport json, os, subprocess, sys, tempfile, threading\n\
         with tempfile.TemporaryFile() as f:\n    f.write(sys.stdin.buffer.read())\n    f.seek(0)\n    \
         out = subprocess.run(['cat'], input=f.read(), stdout=subprocess.PIPE, check=True).stdout\n\
         t = threading.Thread(target=lambda: sys.stdout.buffer.write(out))\nt.start()\nt.join()\n"
    );
    check_works(&Programs::new().script("function.py", &text));
}

#[test]
fn programs_in_node_work() {
    let Some(node) = installed("node") else {
        return;
    };
    let text = format!(
        "#!{node}\nconst fs = require('fs'), os = require('os'), {{execFileSync}} = require('child_process');\n\
         fs.writeFileSync(os.tmpdir() + '/list', fs.readFileSync(0));\n\
         process.stdout.write(execFileSync('cat', ['list']));\n"
    );
    check_works(&Programs::new().script("function.js", &text));
}

#[test]
fn programs_in_go_work() {
    let Some(go) = installed("go") else {
        return;
    };
    let programs = Programs::new();
    let (source, program) = (programs.path("main.go"), programs.path("function"));
    let text = "package main\n\nimport (\n\t\"io\"\n\t\"os\"\n\t\"os/exec\"\n\t\"strings\"\n)\n\n\
                func main() {\n\tlist, _ := io.ReadAll(os.Stdin)\n\tif err := os.WriteFile(\"list\", list, 0o600); err != nil {\n\t\tpanic(err)\n\t}\n\t\
                cmd := exec.Command(\"cat\")\n\tcmd.Stdin = strings.NewReader(string(list))\n\tcmd.Stdout = os.Stdout\n\t\
                if err := cmd.Run(); err != nil {\n\t\tpanic(err)\n\t}\n}\n";
    std::fs::write(&source, text).unwrap();
    let built = Command::new(go)
        .args(["build", "-o", &program, &source])
        .env("GOFLAGS", "-mod=mod")
        .env("GO111MODULE", "off")
        .env("GOCACHE", programs.path("cache"))
        .output()
        .unwrap();
    if !built.status.success() {
        skip(&format!(
            "Go builds nothing here: {}",
            String::from_utf8_lossy(&built.stderr)
        ));
        return;
    }
    check_works(&FunctionSpec::new(Target::Program(program)));
}

#[test]
fn a_fork_bomb_is_bounded_and_nothing_of_it_is_left() {
    let limits = SandboxLimits {
        processes: 40,
        ..SandboxLimits::default()
    };
    let Some(evaluator) = evaluator(limits) else {
        return;
    };
    let programs = Programs::new();
    // Each process starts two others, until that is refused, and none exits.
    let text = "#!/bin/sh\nbomb() { bomb & bomb & sleep 600; }\nbomb; sleep 600\n";
    let bomb = programs.script("kiln-bomb", text);
    // By us, by the kernel, or by the timeout.
    let ended = run_with(&evaluator, &bomb, Duration::from_secs(3));
    let is_bounded = match &ended {
        Ok(outcome) => outcome.stderr_text().contains("Cannot fork"),
        Err(RunError::TimedOut { .. }) => has_own_users(),
        Err(error) => matches!(error, RunError::OverLimit(Excess::Processes(40))),
    };
    assert!(is_bounded, "{ended:?}");
    wait_until(|| processes_of(&programs.path("kiln-bomb")).is_empty());
    // Other functions continue.
    assert!(run_with(&evaluator, &FunctionSpec::exec("cat"), PATIENCE).is_ok());
}

#[test]
fn processes_are_counted() {
    let limits = SandboxLimits {
        processes: 40,
        ..SandboxLimits::default()
    };
    let Some(evaluator) = evaluator(limits) else {
        return;
    };
    // As many as fit. A shell ends when it is refused one.
    let started = |count: u32| {
        let script = format!(
            "i=0; while [ $i -lt {count} ]; do sleep 600 >/dev/null & i=$((i+1)); echo $i >&2; done"
        );
        run_with(&evaluator, &shell(&script), PATIENCE)
    };
    assert_eq!(started(20).unwrap().exit_code, 0);
    match started(500) {
        Err(RunError::OverLimit(Excess::Processes(40))) => assert!(!has_own_users()),
        Err(error) => panic!("{error}"),
        Ok(outcome) => {
            assert!(has_own_users());
            assert_ne!(outcome.exit_code, 0);
            let lines = outcome.stderr_text().lines().count();
            assert!((20..=41).contains(&lines), "{lines}");
        }
    }
}

/// Whether functions get separate users here.
fn has_own_users() -> bool {
    let measures = Sandbox::probe();
    let user = measures.iter().find(|measure| measure.name == "user");
    user.is_some_and(|measure| measure.in_force == InForce::Yes)
}

/// Killing is asynchronous: gives the system a moment.
#[track_caller]
fn wait_until(is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "it did not happen");
        std::thread::yield_now();
    }
}

/// The processes that are running a program and have not ended.
fn processes_of(program: &str) -> Vec<i32> {
    let ids = processes().into_iter().map(|process| process.id);
    let running = ids.filter(|id| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(program)
    });
    running.collect()
}

#[test]
fn memory_is_bounded_for_all_processes_together() {
    if processes().is_empty() {
        skip("/proc shows the processes of another system");
        return;
    }
    let limits = SandboxLimits {
        memory: 200 << 20,
        ..SandboxLimits::default()
    };
    let Some(evaluator) = evaluator(limits) else {
        return;
    };
    // Each stays below its limit, but all exceed it together. (A shell replaces itself by its last command; these do
    // not.)
    let eater = "x=$(head -c 25000000 /dev/zero | tr \"\\0\" x); sleep 600; :";
    let script = format!("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do ({eater}) & done; wait");
    let error = run_with(&evaluator, &shell(&script), PATIENCE).unwrap_err();
    assert!(
        matches!(error, RunError::OverLimit(Excess::Memory(209_715_200))),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "function used more than 209715200 bytes of memory and was killed"
    );
    // The kernel refuses more to a single one, and it fails.
    let script = "x=$(head -c 400000000 /dev/zero | tr \"\\0\" x); echo ${#x}";
    let outcome = run_with(&evaluator, &shell(script), PATIENCE).unwrap();
    assert_ne!(outcome.exit_code, 0);
}

#[test]
fn no_process_outlives_a_function() {
    let Some(evaluator) = evaluator(SandboxLimits::default()) else {
        return;
    };
    let script = "sleep 600 </dev/null >/dev/null 2>&1 & echo $!";
    let outcome = run_with(&evaluator, &shell(script), PATIENCE).unwrap();
    let daemon = wire(outcome);
    let stat = format!("/proc/{}/stat", daemon.trim());
    // It may be a zombie, which is dead too.
    let is_alive = |stat: String| !stat.contains(") Z ");
    wait_until(|| !std::fs::read_to_string(&stat).is_ok_and(is_alive));
}

#[test]
fn a_timeout_kills_in_a_sandbox_too() {
    let Some(evaluator) = evaluator(SandboxLimits::default()) else {
        return;
    };
    let script = "trap : TERM INT HUP; echo talk >&2; touch left; while :; do sleep 600; done";
    let error = run_with(&evaluator, &shell(script), Duration::from_secs(2)).unwrap_err();
    assert!(matches!(error, RunError::TimedOut { .. }), "{error}");
}

#[test]
fn faults_are_reported_as_without_workers() {
    let Some(evaluator) = evaluator(SandboxLimits::default()) else {
        return;
    };
    let run = |script: &str| run_with(&evaluator, &shell(script), PATIENCE);
    for (script, code, signal) in [
        ("exit 0", 0, None),
        ("exec <&-; echo x", 0, None),
        ("cat; exec >&-; exit 3", 3, None),
        ("kill -SEGV $$", -1, Some(11)),
        ("ulimit -c", 0, None),
    ] {
        let outcome = run(script).unwrap();
        assert_eq!(
            (outcome.exit_code, outcome.signal),
            (code, signal),
            "{script}"
        );
    }
    assert_eq!(wire(run("ulimit -c").unwrap()), "0\n");
    let error = run("head -c 1073741824 /dev/zero").unwrap_err();
    assert!(matches!(error, RunError::OutputTooLarge { .. }), "{error}");
}

#[test]
fn many_run_in_parallel() {
    let Some(evaluator) = evaluator(SandboxLimits::default()) else {
        return;
    };
    std::thread::scope(|scope| {
        let work = || {
            for _ in 0..10 {
                let script = "cat >list; ls; cat list";
                let outcome = run_with(&evaluator, &shell(script), PATIENCE).unwrap();
                assert_eq!(wire(outcome), format!("list\n{LIST}"));
            }
        };
        for _ in 0..8 {
            scope.spawn(work);
        }
    });
}

#[test]
fn start_errors_have_the_same_words() {
    let Some(evaluator) = evaluator(SandboxLimits::default()) else {
        return;
    };
    for (command_line, expected) in [
        ("./nope -x", "fork/exec ./nope: no such file or directory"),
        ("/etc", "fork/exec /etc: permission denied"),
        (
            "x-x y",
            r#"exec: "x-x": executable file not found in $PATH"#,
        ),
    ] {
        let error = run_with(&evaluator, &FunctionSpec::exec(command_line), PATIENCE).unwrap_err();
        assert!(matches!(error, RunError::NotStarted(_)));
        assert_eq!(error.to_string(), expected);
    }
}
