//! What runs in parallel, what does not, and how it ends.

use std::io::Write;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

use kiln_exec::ExecEvaluator;
use kiln_krm::package::MemoryFiles;
use kiln_render::{ExternalFunctions, Jobs, RenderCompat};
use kiln_runtime::{
    CancelToken, Evaluator, FindError, Found, FunctionSpec, Input, Outcome, Output, RunContext,
    RunError, Runner,
};
use proptest::prelude::*;

use crate::properties::config;
use crate::setup::{After, RenderSetup, config_map, kptfile};

/// No wait takes that long unless something is wrong.
const FOR_EVER: Duration = Duration::from_secs(60);

type Body = dyn Fn(&str, &RunContext) -> i32 + Send + Sync;

/// Calls the body with the function's name; what comes out is what went in.
struct Scripted {
    body: Arc<Body>,
    is_native: bool,
}

struct Script {
    name: String,
    body: Arc<Body>,
    is_native: bool,
}

impl Evaluator for Scripted {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        Ok(Found::blocking(Script {
            name: function.name().to_owned(),
            body: self.body.clone(),
            is_native: self.is_native,
        }))
    }
}

impl Runner for Script {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        let exit_code = (self.body)(&self.name, ctx);
        if ctx.cancel.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        Ok(Outcome {
            exit_code,
            signal: None,
            output: Output::Wire(input.wire().to_owned().into()),
            stderr: Vec::new(),
            elapsed: Duration::ZERO,
            identity: None,
            is_cached: false,
        })
    }

    fn is_native(&self) -> bool {
        self.is_native
    }
}

fn scripted(
    is_native: bool,
    body: impl Fn(&str, &RunContext) -> i32 + Send + Sync + 'static,
) -> Scripted {
    Scripted {
        body: Arc::new(body),
        is_native,
    }
}

fn jobs(count: usize, external: ExternalFunctions) -> Jobs {
    Jobs {
        count: NonZeroUsize::new(count).expect("is not zero"),
        external,
    }
}

/// A root with packages below, each with a function of the same name as itself, and a resource.
fn packages(names: &[&str]) -> MemoryFiles {
    let mut files = MemoryFiles::new();
    files.insert("Kptfile", kptfile("root", ""));
    for name in names {
        let function = name.rsplit('/').next().unwrap_or_default();
        let pipeline = format!("pipeline:\n  mutators:\n  - exec: {function}\n");
        files.insert(format!("{name}/Kptfile"), kptfile(function, &pipeline));
        files.insert(format!("{name}/a.yaml"), config_map("a", "old"));
    }
    files
}

fn render(files: MemoryFiles, jobs: Jobs, evaluator: &dyn Evaluator, cancel: CancelToken) -> After {
    let setup = RenderSetup {
        compat: RenderCompat::Kiln,
        jobs,
        evaluator,
        cancel,
    };
    setup.render(files)
}

/// Lets functions wait for each other.
#[derive(Default)]
struct Meeting {
    there: Mutex<usize>,
    came: Condvar,
}

impl Meeting {
    /// Whether as many have come before the time limit.
    fn wait_for(&self, count: usize) -> bool {
        let mut there = self.there.lock().expect("not poisoned");
        *there += 1;
        self.came.notify_all();
        let waited = self
            .came
            .wait_timeout_while(there, FOR_EVER, |there| *there < count);
        *waited.expect("not poisoned").0 >= count
    }
}

/// Waits until the function is not wanted any more.
fn wait_for_cancel(ctx: &RunContext) -> bool {
    let (sender, receiver) = mpsc::channel();
    let _guard = ctx.cancel.on_cancel(move || {
        let _ = sender.send(());
    });
    receiver.recv_timeout(FOR_EVER).is_ok()
}

#[test]
fn native_functions_run_in_parallel_and_others_if_asked() {
    for (is_native, external) in [
        (true, ExternalFunctions::InOrder),
        (true, ExternalFunctions::Parallel),
        (false, ExternalFunctions::Parallel),
    ] {
        let meeting = Meeting::default();
        let evaluator = scripted(is_native, move |_, _| i32::from(!meeting.wait_for(3)));
        // Three threads are needed, one of them for a package further down.
        let files = packages(&["p0", "p1/q", "p2"]);
        let after = render(files, jobs(3, external), &evaluator, CancelToken::new());
        assert_eq!(after.rendered.error, None);
    }
}

#[test]
fn no_more_than_asked_for_run_at_the_same_time() {
    let names = ["a", "a/b", "a/c", "a/c/d", "e", "f/g", "f/h", "i"];
    for (count, external, most) in [
        (3, ExternalFunctions::Parallel, 3),
        (3, ExternalFunctions::InOrder, 1),
    ] {
        let running = Arc::new(AtomicUsize::new(0));
        let highest = Arc::new(AtomicUsize::new(0));
        let (now, top) = (running.clone(), highest.clone());
        let evaluator = scripted(false, move |_, _| {
            top.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::yield_now();
            now.fetch_sub(1, Ordering::SeqCst);
            0
        });
        let after = render(
            packages(&names),
            jobs(count, external),
            &evaluator,
            CancelToken::new(),
        );
        assert_eq!(after.rendered.functions, names.len());
        assert!(highest.load(Ordering::SeqCst) <= most);
    }
}

#[test]
fn a_failure_ends_what_runs_later() {
    let meeting = Meeting::default();
    let evaluator = scripted(true, move |name, ctx| {
        let is_met = meeting.wait_for(2);
        match name {
            "p0" => i32::from(is_met),
            _ => i32::from(!wait_for_cancel(ctx)),
        }
    });
    let files = packages(&["p0", "p1", "p2"]);
    let after = render(
        files,
        jobs(2, ExternalFunctions::Parallel),
        &evaluator,
        CancelToken::new(),
    );
    assert_eq!(after.log, ["package root/p0", "run p0", "fail p0"]);
    assert_eq!(after.message(), "");
    assert_eq!((after.rendered.functions, after.rendered.packages), (0, 2));
    assert_eq!(after.rendered.results.items.len(), 1);
}

#[test]
fn an_earlier_failure_counts_more_than_a_later_one() {
    let (sender, receiver) = mpsc::channel::<()>();
    let (sender, receiver) = (Mutex::new(Some(sender)), Mutex::new(receiver));
    let evaluator = scripted(true, move |name, _| match name {
        "p0" => {
            // Ends when the other function has dropped its end, on its way out.
            let receiver = receiver.lock().expect("not poisoned");
            let _ = receiver.recv_timeout(FOR_EVER);
            3
        }
        _ => {
            drop(sender.lock().expect("not poisoned").take());
            4
        }
    });
    let files = packages(&["p0", "p1"]);
    let after = render(
        files,
        jobs(2, ExternalFunctions::InOrder),
        &evaluator,
        CancelToken::new(),
    );
    let results = &after.rendered.results.items;
    assert_eq!(
        results
            .iter()
            .map(|item| item.exit_code)
            .collect::<Vec<_>>(),
        [3]
    );
}

#[test]
fn giving_up_ends_all_that_runs() {
    for is_native in [true, false] {
        let cancel = CancelToken::new();
        let (meeting, user) = (Meeting::default(), cancel.clone());
        let evaluator = scripted(is_native, move |name, ctx| {
            if !meeting.wait_for(2) {
                return 1;
            }
            if name == "p1" {
                user.cancel();
            }
            i32::from(!wait_for_cancel(ctx))
        });
        let files = packages(&["p0", "p1", "p2"]);
        let after = render(
            files,
            jobs(2, ExternalFunctions::Parallel),
            &evaluator,
            cancel,
        );
        assert_eq!(after.message(), "Error: function was interrupted ");
    }
}

#[test]
fn a_function_that_panics_leaves_no_thread_waiting() {
    let evaluator = scripted(false, |name, _| match name {
        "p1" => panic!("on purpose"),
        _ => 0,
    });
    for external in [ExternalFunctions::InOrder, ExternalFunctions::Parallel] {
        let files = packages(&["p0", "p1", "p2", "p3"]);
        let rendered = catch_unwind(AssertUnwindSafe(|| {
            render(files, jobs(3, external), &evaluator, CancelToken::new())
        }));
        assert!(rendered.is_err());
    }
}

#[test]
fn packages_nested_to_any_depth() {
    let mut names = Vec::new();
    for depth in 1..400 {
        names.push(vec!["p"; depth].join("/"));
        names.push(format!("{}/q", vec!["p"; depth].join("/")));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let evaluator = scripted(true, |_, _| 0);
    let after = render(
        packages(&names[..40]),
        jobs(4, ExternalFunctions::InOrder),
        &evaluator,
        CancelToken::new(),
    );
    assert_eq!(after.rendered.packages, 41);
    let mut files = packages(&[]);
    for name in names {
        files.insert(format!("{name}/Kptfile"), kptfile("p", ""));
    }
    let after = render(
        files,
        jobs(4, ExternalFunctions::InOrder),
        &evaluator,
        CancelToken::new(),
    );
    assert_eq!(after.rendered.packages, 799);
    assert_eq!(after.rendered.error, None);
}

/// Programs of every system; the first that fails ends the render.
const PROGRAMS: [&str; 4] = [
    "cat",
    "sed s/old/new/",
    "sed s/new/newer/",
    "sed --no-such-flag",
];

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn programs_make_no_difference_either(
        places in prop::collection::vec((0..3_usize, 0..6_usize), 1..8),
        count in 2..5_usize,
        is_asked in any::<bool>(),
    ) {
        let search_path = std::env::var_os("PATH").unwrap_or_default();
        let is_there = std::env::split_paths(&search_path)
            .any(|directory| directory.join("sed").exists());
        if !is_there {
            let _ = writeln!(std::io::stderr(), "SKIPPED: there is no sed");
            return Ok(());
        }
        let evaluator = ExecEvaluator::new(search_path);
        let mut files = packages(&[]);
        for (number, (depth, program)) in places.into_iter().enumerate() {
            let name = format!("{}p{number}", "p0/".repeat(depth));
            // The one that fails is rarer than the others.
            let program = PROGRAMS.get(program).unwrap_or(&"cat");
            let pipeline = format!("pipeline:\n  mutators:\n  - exec: {program}\n");
            files.insert(format!("{name}/Kptfile"), kptfile("p", &pipeline));
            files.insert(format!("{name}/a.yaml"), config_map("a", "old"));
        }
        let external = if is_asked { ExternalFunctions::Parallel } else { ExternalFunctions::InOrder };
        let one = render(files.clone(), Jobs::ONE, &evaluator, CancelToken::new());
        let many = render(files, jobs(count, external), &evaluator, CancelToken::new());
        prop_assert_eq!(one.events, many.events);
        prop_assert_eq!(one.files, many.files);
        prop_assert_eq!(&one.rendered.error, &many.rendered.error);
        prop_assert_eq!(&one.rendered.results, &many.rendered.results);
    }
}
