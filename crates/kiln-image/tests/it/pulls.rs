//! Images that are pulled for a run, from a registry in this process.

use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kiln_image::{ImageEvaluator, ImageOptions, IsolationLevel, LevelChoice, PullObserver};
use kiln_krm::Dialect;
use kiln_oci::{Digest, PullPolicy, RegistryError};
use kiln_runtime::{
    Deadline, Evaluator, FunctionSpec, Input, Outcome, ReproducibleCall, RunContext, RunError,
};
use kiln_store::{CollectLimits, Collected, PullEvent, PullProgress, StoreError};

use crate::busybox::busybox_image;
use crate::registry::TestRegistry;

/// A registry with an image, and a directory for the store.
pub(crate) struct PullTest {
    pub(crate) registry: TestRegistry,
    pub(crate) directory: tempfile::TempDir,
}

impl PullTest {
    /// `None`, with a message, if images cannot be built here.
    pub(crate) fn new() -> Option<PullTest> {
        let test = PullTest {
            registry: TestRegistry::start(),
            directory: tempfile::tempdir().unwrap(),
        };
        test.push("v1").then_some(test)
    }

    /// Adds an image that returns its input.
    fn push(&self, tag: &str) -> bool {
        let Some((layout, root)) = busybox_image(&["/bin/busybox", "cat"], tag) else {
            skip("no static busybox");
            return false;
        };
        let name = format!("team/cat:{tag}");
        self.registry.add(&name, &layout, &root);
        true
    }

    /// The digest of the image `v1`.
    fn digest(&self) -> String {
        let (_, root) = busybox_image(&["/bin/busybox", "cat"], "v1").unwrap();
        root.digest.to_string()
    }

    pub(crate) fn options(&self) -> ImageOptions {
        ImageOptions {
            store: Some(self.directory.path().join("store")),
            temporary: self.directory.path().to_owned(),
            ..ImageOptions::default()
        }
    }

    pub(crate) fn image(&self, tag: &str) -> String {
        format!("{}/team/cat:{tag}", self.registry.host)
    }
}

pub(crate) fn run(evaluator: &ImageEvaluator, image: &str) -> Result<Outcome, RunError> {
    let found = evaluator.find(&FunctionSpec::image(image)).ok().unwrap();
    let input = Input::new(Dialect::Current, &[], None);
    found.into_runner().run(&input, &RunContext::default())
}

fn reproducible(evaluator: &ImageEvaluator, image: &str) -> Option<ReproducibleCall> {
    let found = evaluator.find(&FunctionSpec::image(image)).ok().unwrap();
    found.into_runner().reproducible(&RunContext::default())
}

#[expect(clippy::print_stderr, reason = "a skipped test is visible")]
pub(crate) fn skip(reason: &str) {
    eprintln!("SKIPPED: {reason}");
}

/// Set in the process that has no namespaces.
const WITHOUT: &str = "KILN_TEST_WITHOUT_NAMESPACES";

#[test]
fn a_static_program_is_pulled_and_runs_without_namespaces() {
    if std::env::var_os(WITHOUT).is_none() {
        // The same test, in a user namespace that allows no further ones.
        let name = "pulls::a_static_program_is_pulled_and_runs_without_namespaces";
        let script = "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["-r", "sh", "-c", script, "sh"]);
        command.arg(std::env::current_exe().unwrap());
        command.args(["--exact", name, "--nocapture"]);
        return match command.env(WITHOUT, "1").output() {
            Ok(output) if output.stderr.starts_with(b"unshare:") => skip("unshare does not work"),
            Err(error) => skip(&format!("unshare does not work: {error}")),
            Ok(output) => assert!(output.status.success(), "{output:?}"),
        };
    }
    let Some(test) = PullTest::new() else {
        return;
    };
    let evaluator = ImageEvaluator::new(test.options());
    let image = test.image("v1");
    // Before and after it is known that it runs in place.
    assert_eq!(reproducible(&evaluator, &image), None);
    match run(&evaluator, &image) {
        Err(error) if error.to_string().contains("no Landlock") => {
            skip("the kernel has no Landlock");
        }
        ran => assert_eq!(ran.unwrap().exit_code, 0),
    }
    assert_eq!(reproducible(&evaluator, &image), None);
    assert!(evaluator.probe_namespaces().is_err());
    assert_eq!(evaluator.level_used(&image), Some(IsolationLevel::Landlock));
}

/// An image that runs in place can read files of this machine, and the level is part of what an answer depends on.
#[test]
fn answers_depend_on_the_level() {
    let Some(test) = PullTest::new() else {
        return;
    };
    let image = test.image("v1");
    let with = |levels| {
        ImageEvaluator::new(ImageOptions {
            levels,
            ..test.options()
        })
    };
    let in_place = with(LevelChoice::Landlock);
    assert_eq!(reproducible(&in_place, &image), None);
    let isolated = with(LevelChoice::Namespaces);
    if let Err(error) = isolated.probe_namespaces() {
        return skip(&format!("no namespaces: {error}"));
    }
    let before = reproducible(&isolated, &image).unwrap();
    assert_eq!(run(&isolated, &image).unwrap().exit_code, 0);
    assert_eq!(reproducible(&isolated, &image).as_ref(), Some(&before));
    let interface = match isolated.level_used(&image).unwrap() {
        IsolationLevel::Namespaces => "wire in namespaces",
        IsolationLevel::NamespacesWithOuterProc => "wire with the outer /proc",
        IsolationLevel::Landlock => panic!("in place"),
    };
    assert_eq!(before.interface, interface);
    assert_eq!(reproducible(&with(LevelChoice::Any), &image), Some(before));
}

/// Sends what it is notified of.
struct Recorder(Mutex<Sender<String>>);

impl Recorder {
    fn new() -> (Arc<Recorder>, Receiver<String>) {
        let (sender, events) = channel();
        (Arc::new(Recorder(Mutex::new(sender))), events)
    }

    fn record(&self, text: String) {
        let _ = self.0.lock().unwrap().send(text);
    }
}

impl PullObserver for Recorder {
    fn begin(&self, image: &str) -> Arc<dyn PullProgress> {
        self.record(format!("begin {image}"));
        let sender = self.0.lock().unwrap().clone();
        Arc::new(ReceivedBytes(Mutex::new(sender)))
    }

    fn offline(&self, image: &str, _: &RegistryError) {
        self.record(format!("offline {image}"));
    }

    fn collected(&self, outcome: Result<Collected, StoreError>) {
        let images = outcome.unwrap().images;
        self.record(format!("removed {}", images.len()));
    }
}

struct ReceivedBytes(Mutex<Sender<String>>);

impl PullProgress for ReceivedBytes {
    fn event(&self, event: PullEvent) {
        if let PullEvent::Started { layers, .. } = event {
            let _ = self.0.lock().unwrap().send(format!("layers {layers}"));
        }
    }
}

#[test]
fn the_caller_is_notified_of_pulls_and_of_registries_that_are_away() {
    let Some(test) = PullTest::new() else {
        return;
    };
    let (recorder, events) = Recorder::new();
    let evaluator = ImageEvaluator::new(ImageOptions {
        pull_policy: PullPolicy::Always,
        pulls: recorder,
        ..test.options()
    });
    let image = test.image("v1");
    // Whether it can be run here does not matter.
    let _ = run(&evaluator, &image);
    let begin = format!("begin {image}");
    assert_eq!(
        events.try_iter().collect::<Vec<_>>(),
        [begin.as_str(), "layers 1"]
    );
    test.registry.go_away();
    let _ = run(&evaluator, &image);
    let offline = format!("offline {image}");
    assert_eq!(events.try_iter().collect::<Vec<_>>(), [begin, offline]);
}

#[test]
fn a_pull_makes_room_in_the_store() {
    let Some(test) = PullTest::new() else {
        return;
    };
    let (recorder, events) = Recorder::new();
    let evaluator = ImageEvaluator::new(ImageOptions {
        pulls: recorder,
        collect: Some(CollectLimits {
            size: 0,
            ..CollectLimits::default()
        }),
        ..test.options()
    });
    let removed = || {
        let is_removal = |event: &String| event.starts_with("removed");
        events.iter().find(is_removal).unwrap()
    };
    // An image in use stays until the next collection.
    let _ = run(&evaluator, &test.image("v1"));
    removed();
    assert!(test.push("v2"));
    let _ = run(&evaluator, &test.image("v2"));
    removed();
    let store = kiln_store::Store::open(
        &test.directory.path().join("store"),
        kiln_store::StoreOptions::default(),
    );
    assert!(store.unwrap().list().unwrap().len() <= 1);
}

/// A config is read into memory.
#[test]
fn a_large_config_is_refused() {
    let registry = TestRegistry::start();
    let digest = Digest::of(b"");
    let size = 9 << 20;
    let config = format!(
        r#"{{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"{digest}","size":{size}}}"#
    );
    let manifest = format!(r#"{{"schemaVersion":2,"config":{config},"layers":[]}}"#);
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let path = "/v2/team/cat/manifests/v1".to_owned();
    registry.put(vec![(path, media_type, manifest)]);
    let directory = tempfile::tempdir().unwrap();
    let test = PullTest {
        registry,
        directory,
    };
    let evaluator = ImageEvaluator::new(test.options());
    let error = run(&evaluator, &test.image("v1")).unwrap_err();
    assert!(
        error.to_string().contains("limit of 8388608 bytes"),
        "{error}"
    );
}

/// Another process that adds the image holds up neither the caller nor the end of the program.
#[test]
fn an_ended_pull_does_not_wait_for_another_process() {
    let Some(test) = PullTest::new() else {
        return;
    };
    let store = test.directory.path().join("store");
    std::fs::create_dir_all(store.join("locks")).unwrap();
    let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&store, owner_only).unwrap();
    let digest = test.digest().replace(':', "-");
    let locked = std::fs::File::create(store.join("locks").join(digest)).unwrap();
    locked.lock().unwrap();
    let (sender, ended) = channel();
    let (options, image) = (test.options(), test.image("v1"));
    std::thread::spawn(move || {
        let evaluator = ImageEvaluator::new(options);
        let context = RunContext {
            deadline: Deadline::after(Duration::from_millis(300)),
            ..RunContext::default()
        };
        let found = evaluator.find(&FunctionSpec::image(image)).ok().unwrap();
        let input = Input::new(Dialect::Current, &[], None);
        let error = found.into_runner().run(&input, &context).unwrap_err();
        drop(evaluator);
        sender
            .send(matches!(error, RunError::TimedOut { .. }))
            .unwrap();
    });
    assert_eq!(ended.recv_timeout(Duration::from_secs(30)), Ok(true));
}
