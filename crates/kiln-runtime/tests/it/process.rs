//! Children with all kinds of behaviour.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use kiln_runtime::process::{FinishedProcess, Program, StopSignal, adopt_orphans, run};
use kiln_runtime::{CancelToken, Deadline, Limits, RunContext, RunError, StderrListener};

const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn call(
    name: &str,
    arguments: &[&str],
    input: &[u8],
    ctx: &RunContext,
) -> Result<FinishedProcess, RunError> {
    let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
    let program = Program {
        name,
        arguments: &arguments,
        search_path: OsStr::new(SEARCH_PATH),
        stop_signal: StopSignal::Kill,
        sandbox: None,
        environment: None,
    };
    run(program, input, ctx)
}

fn shell(script: &str, input: &[u8], ctx: &RunContext) -> Result<FinishedProcess, RunError> {
    call("sh", &["-c", script], input, ctx)
}

fn within(timeout: Duration) -> RunContext {
    RunContext {
        deadline: Deadline::after(timeout),
        ..RunContext::default()
    }
}

/// Long enough never to be reached by a test that passes.
fn patient() -> RunContext {
    within(Duration::from_secs(60))
}

fn at_most(max_output: u64) -> RunContext {
    let limits = Limits {
        max_output,
        ..Limits::default()
    };
    RunContext {
        limits,
        ..patient()
    }
}

/// Whether a process exists and is not a zombie.
fn is_alive(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Killing is asynchronous: gives the system a moment.
#[track_caller]
fn assert_gone(process: &str) {
    let started = Instant::now();
    while is_alive(process) {
        assert!(
            started.elapsed() < Duration::from_secs(5),
            "{process} lives"
        );
        thread::yield_now();
    }
}

fn written_number(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    text.trim().to_owned()
}

#[test]
fn everything_that_is_printed_is_kept() {
    let _alone = alone();
    let finished = shell("cat; echo talk >&2; exit 7", b"input", &patient()).unwrap();
    assert_eq!(finished.exit_code, 7);
    assert_eq!(finished.signal, None);
    assert_eq!(finished.stdout, b"input");
    assert_eq!(finished.stderr, b"talk\n");
}

#[test]
fn no_size_makes_us_wait_for_each_other() {
    let _alone = alone();
    let input = vec![b'x'; 20 << 20];
    // Both pipes are filled before anything is read.
    let script = "head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero; cat";
    let finished = shell(script, &input, &patient()).unwrap();
    assert_eq!(finished.stderr.len(), 3_000_000);
    assert_eq!(finished.stdout.len(), 3_000_000 + input.len());
}

#[test]
fn input_need_not_be_read() {
    let _alone = alone();
    let input = vec![b'x'; 5 << 20];
    for script in [
        "exit 0",
        "exec <&-; echo",
        "head -c 10 >/dev/null; exec <&-; sleep 0.1",
    ] {
        assert_eq!(shell(script, &input, &patient()).unwrap().exit_code, 0);
    }
}

#[test]
fn a_signal_is_exit_code_minus_one() {
    let _alone = alone();
    let finished = shell("kill -9 $$", b"", &patient()).unwrap();
    assert_eq!((finished.exit_code, finished.signal), (-1, Some(9)));
}

#[test]
fn start_errors_have_the_words_of_go() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("text");
    std::fs::write(&text, "").unwrap();
    let text = text.to_str().unwrap();
    for (name, expected) in [
        (
            "./nope",
            "fork/exec ./nope: no such file or directory".to_owned(),
        ),
        (text, format!("fork/exec {text}: permission denied")),
        (
            "nope-nope",
            r#"exec: "nope-nope": executable file not found in $PATH"#.to_owned(),
        ),
        ("", "exec: no command".to_owned()),
    ] {
        let error = call(name, &[], b"", &patient()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn programs_see_the_name_they_were_called_by() {
    let _alone = alone();
    let finished = call(
        "sh",
        &["-c", "tr '\\0' ' ' </proc/$$/cmdline"],
        b"",
        &patient(),
    );
    let stdout = finished.unwrap().stdout;
    assert!(
        stdout.starts_with(b"sh -c "),
        "{}",
        String::from_utf8_lossy(&stdout)
    );
}

#[test]
fn a_timeout_kills_the_child_and_all_it_started() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().display();
    // One in the group, one in its own session.
    let script = format!(
        "sleep 100 & echo $! >{place}/a; setsid sh -c 'echo $$ >{place}/b; exec sleep 100' & \
         echo $$ >{place}/c; echo talk >&2; wait"
    );
    let started = Instant::now();
    let error = shell(&script, b"", &within(Duration::from_secs(2))).unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(20));
    let RunError::TimedOut { timeout, stderr } = error else {
        panic!("{error}");
    };
    assert_eq!(timeout, Duration::from_secs(2));
    assert_eq!(stderr, b"talk\n");
    for name in ["a", "b", "c"] {
        assert_gone(&written_number(&directory.path().join(name)));
    }
}

/// Killing a function kills all orphans adopted since its start: tests about orphans run alone.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn even_daemons_end_when_we_adopt_them() {
    let _alone = alone();
    adopt_orphans();
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().display();
    let script = format!(
        "setsid -f sh -c 'sleep 100 & echo $! >{place}/a; echo $$ >{place}/b; exec sleep 100' \
         </dev/null >/dev/null 2>&1; sleep 100"
    );
    let error = shell(&script, b"", &within(Duration::from_secs(2))).unwrap_err();
    assert!(matches!(error, RunError::TimedOut { .. }), "{error}");
    for name in ["a", "b"] {
        assert_gone(&written_number(&directory.path().join(name)));
    }
}

#[test]
fn cancelling_wakes_the_waiting_thread() {
    let _alone = alone();
    let cancel = CancelToken::new();
    let ctx = RunContext {
        cancel: cancel.clone(),
        ..patient()
    };
    let directory = tempfile::tempdir().unwrap();
    let started = directory.path().join("started");
    let script = format!(
        "mkfifo {0}; echo $$ >{0}; exec sleep 100",
        started.display()
    );
    let worker = thread::spawn(move || shell(&script, b"", &ctx));
    while !started.exists() {
        thread::yield_now();
    }
    // Blocks until the child writes.
    let process = written_number(&started);
    cancel.cancel();
    let error = worker.join().unwrap().unwrap_err();
    assert!(matches!(error, RunError::Cancelled), "{error}");
    assert_gone(&process);
    let ctx = RunContext {
        cancel,
        ..patient()
    };
    let error = shell("echo never", b"", &ctx).unwrap_err();
    assert!(matches!(error, RunError::Cancelled), "{error}");
}

#[test]
fn what_a_stopped_function_printed_is_kept() {
    let _alone = alone();
    let cancel = CancelToken::new();
    let stop = cancel.clone();
    let ctx = RunContext {
        cancel,
        on_stderr: Some(StderrListener::new(move |_| stop.cancel())),
        ..patient()
    };
    let error = shell("echo starting >&2; exec sleep 100", b"", &ctx).unwrap_err();
    assert!(matches!(error, RunError::Cancelled), "{error}");
    assert_eq!(ctx.stopped_stderr.take(), b"starting\n");
    assert_eq!(ctx.stopped_stderr.take(), b"");

    let ctx = at_most(1_000);
    let error = shell("yes starting >&2", b"", &ctx).unwrap_err();
    assert!(matches!(error, RunError::OutputTooLarge { .. }), "{error}");
    assert!(ctx.stopped_stderr.take().starts_with(b"starting\n"));
}

#[test]
fn too_much_output_is_cut_off() {
    let _alone = alone();
    for script in ["yes", "yes >&2"] {
        let error = shell(script, b"", &at_most(1 << 20)).unwrap_err();
        assert!(
            matches!(error, RunError::OutputTooLarge { limit: 1_048_576 }),
            "{error}"
        );
    }
    let exact = shell("head -c 1000 /dev/zero", b"", &at_most(1000)).unwrap();
    assert_eq!(exact.stdout.len(), 1000);
}

#[test]
fn a_gigabyte_stops_at_the_default_limit() {
    let _alone = alone();
    let error = shell("head -c 1073741824 /dev/zero", b"", &patient()).unwrap_err();
    assert!(
        matches!(error, RunError::OutputTooLarge { limit: 536_870_912 }),
        "{error}"
    );
}

#[test]
fn a_daemon_that_keeps_our_pipes_does_not_keep_us() {
    let _alone = alone();
    let script = "sleep 100 & echo $!";
    let started = Instant::now();
    let finished = shell(script, b"", &patient()).unwrap();
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(finished.exit_code, 0);
    let daemon = String::from_utf8(finished.stdout).unwrap();
    assert_gone(daemon.trim());
}

#[test]
fn a_daemon_that_closed_our_pipes_lives_on() {
    let _alone = alone();
    let script = "sleep 3 </dev/null >/dev/null 2>&1 & echo $!";
    let finished = shell(script, b"", &patient()).unwrap();
    assert!(finished.elapsed < Duration::from_secs(2));
    let daemon = String::from_utf8(finished.stdout).unwrap();
    assert!(is_alive(daemon.trim()));
}

#[test]
fn a_process_that_still_writes_is_read() {
    let _alone = alone();
    let script = "(for i in 1 2 3; do sleep 0.6; echo $i; done) & echo 0";
    let finished = shell(script, b"", &patient()).unwrap();
    assert_eq!(finished.stdout, b"0\n1\n2\n3\n");
}

#[test]
fn every_child_is_waited_for() {
    let _alone = alone();
    let script = "echo $$ >&2; exec sleep";
    let ended = shell(&format!("{script} 0"), b"", &patient()).unwrap();
    let killed = shell(
        &format!("{script} 100"),
        b"",
        &within(Duration::from_secs(1)),
    );
    let RunError::TimedOut { stderr: killed, .. } = killed.unwrap_err() else {
        panic!("it ended");
    };
    for number in [ended.stderr, killed] {
        let number = String::from_utf8(number).unwrap();
        let process = Path::new("/proc").join(number.trim());
        assert!(!process.exists(), "{number} is still there");
    }
}

#[test]
fn memory_can_be_limited() {
    let _alone = alone();
    let limits = Limits {
        memory: Some(64 << 20),
        ..Limits::default()
    };
    let ctx = RunContext {
        limits,
        ..patient()
    };
    // The variable grows to 200 MB, if that is allowed.
    let script = "sleep 0.2; x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${#x}";
    let finished = shell(script, b"", &ctx).unwrap();
    assert_ne!(
        finished.exit_code,
        0,
        "{}",
        String::from_utf8_lossy(&finished.stdout)
    );
    assert_eq!(shell("echo small", b"", &ctx).unwrap().exit_code, 0);
}

#[test]
fn what_we_open_stays_with_us() {
    let _alone = alone();
    let open = std::fs::File::open("/dev/zero").unwrap();
    let script = "ls -l /proc/self/fd";
    let finished = shell(script, b"", &patient()).unwrap();
    let listed = String::from_utf8(finished.stdout).unwrap();
    assert!(listed.contains(" 0 -> pipe:"), "{listed}");
    assert!(!listed.contains("/dev/zero"), "{listed}");
    drop(open);
}

/// Whether this process and its children ignore interrupts, as in the background of a shell without job control.
fn ignores_interrupts() -> bool {
    const INTERRUPT: u64 = 1 << 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|signals| u64::from_str_radix(signals.trim(), 16).ok());
    ignored.is_some_and(|signals| signals & INTERRUPT != 0)
}

#[expect(clippy::print_stderr, reason = "a skipped test prints why")]
fn skip(reason: &str) {
    eprintln!("SKIPPED: {reason}");
}

#[test]
fn an_interrupted_program_may_clean_up() {
    if ignores_interrupts() {
        skip("a shell cannot handle an interrupt that was ignored when it started");
        return;
    }
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().display();
    // The second one ignores the signal.
    for (name, trap) in [
        ("a", format!("echo >{place}/a; exit")),
        ("b", String::new()),
    ] {
        // A signal that arrives while a shell forks, or just before it blocks, can get lost. So it does neither.
        let script = format!("trap '{trap}' INT; echo ready >&2; while :; do :; done");
        let arguments = ["-c".to_owned(), script];
        let program = Program {
            name: "sh",
            arguments: &arguments,
            search_path: OsStr::new(SEARCH_PATH),
            stop_signal: StopSignal::Interrupt,
            sandbox: None,
            environment: None,
        };
        // It is interrupted as soon as it handles the signal.
        let cancel = CancelToken::new();
        let on_ready = cancel.clone();
        let ctx = RunContext {
            cancel,
            on_stderr: Some(StderrListener::new(move |_| on_ready.cancel())),
            ..patient()
        };
        let error = run(program, b"", &ctx).unwrap_err();
        assert!(matches!(error, RunError::Cancelled), "{error}");
        assert_eq!(directory.path().join(name).exists(), name == "a");
    }
}
