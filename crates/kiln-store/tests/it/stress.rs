//! Processes that use, collect and are killed at the same time.
//!
//! The test starts its own program again, with an environment variable, as the processes that use the store.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use kiln_oci::{ImageReference, PullPolicy};
use kiln_store::{CollectLimits, Store, StoreOptions};

use crate::images::{TestStore, image, layer, pull};
use crate::registry::TestRegistry;

const IMAGES: usize = 20;
const PROCESSES: usize = 8;
const RUNS: usize = 100;
/// How many processes are killed.
const KILLS: usize = 12;

const ROLE: &str = "KILN_STORE_TEST_ROLE";
const STORE: &str = "KILN_STORE_TEST_STORE";
const REGISTRY: &str = "KILN_STORE_TEST_REGISTRY";

/// A sequence of numbers that looks random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

fn content(number: usize) -> Vec<u8> {
    format!("image {number}\n")
        .repeat(500 + 100 * number)
        .into_bytes()
}

/// What the started processes do; nothing in an ordinary test run.
#[test]
fn process() {
    let Some(role) = std::env::var_os(ROLE) else {
        return;
    };
    let store = PathBuf::from(std::env::var_os(STORE).unwrap());
    let store = Store::open(&store, StoreOptions::default()).unwrap();
    match role.to_str().unwrap() {
        "use" => use_images(&store),
        _ => collect(&store),
    }
}

/// Pulls images and checks them, and prints a line after each one.
fn use_images(store: &Store) {
    let host = std::env::var(REGISTRY).unwrap();
    let client = kiln_oci::RegistryClient::new(kiln_oci::RegistryOptions::default());
    let mut numbers = Numbers(u64::from(std::process::id()));
    for _ in 0..RUNS {
        let number = numbers.below(IMAGES);
        let reference: ImageReference = format!("{host}/image/{number}:v1").parse().unwrap();
        let policy = match numbers.below(4) {
            0 => PullPolicy::Always,
            _ => PullPolicy::IfNotPresent,
        };
        let pulled = pull(store, &client, &reference, policy).unwrap();
        let root = pulled.image.root_path();
        assert!(fs::read(root.join("own")).unwrap() == content(number));
        assert_eq!(fs::read(root.join("base")).unwrap(), b"base");
        std::io::stdout().write_all(b"used\n").unwrap();
    }
}

/// Collects until standard input ends.
fn collect(store: &Store) {
    let (sender, is_over) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_line(&mut String::new());
        let _ = sender.send(());
    });
    let limits = CollectLimits {
        size: 200_000,
        age: Duration::from_secs(1000),
    };
    while is_over.recv_timeout(Duration::from_millis(2)).is_err() {
        store.collect(&limits).unwrap();
    }
}

fn start(role: &str, test: &TestStore, registry: &TestRegistry) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "stress::process",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(ROLE, role)
        .env(STORE, test.store.directory())
        .env(REGISTRY, &registry.host)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Starts a process that uses images. It is killed after some uses, if `uses` says so, and waited for.
fn run_user(test: &TestStore, registry: &TestRegistry, uses: Option<usize>) {
    let mut child = start("use", test, registry);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let used = lines
        .map_while(Result::ok)
        .filter(|line| line.ends_with("used"));
    match uses {
        None => {
            assert_eq!(used.count(), RUNS);
            assert!(child.wait().unwrap().success());
        }
        Some(uses) => {
            let mut used = used;
            for _ in 0..uses {
                used.next();
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

#[test]
fn processes_share_a_store() {
    let registry = TestRegistry::start();
    for number in 0..IMAGES {
        let layers = vec![layer("base", b"base"), layer("own", &content(number))];
        let (layout, root) = image(layers);
        registry.add(&format!("image/{number}:v1"), &layout, &root);
    }
    let test = TestStore::new();
    let mut collector = start("collect", &test, &registry);
    std::thread::scope(|scope| {
        for _ in 0..PROCESSES {
            scope.spawn(|| run_user(&test, &registry, None));
        }
        scope.spawn(|| {
            let mut numbers = Numbers(7);
            for _ in 0..KILLS {
                run_user(&test, &registry, Some(numbers.below(8)));
            }
        });
    });
    collector.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(collector.wait().unwrap().success());

    let report = test.store.verify().unwrap();
    assert_eq!(report.damages, []);
    // What killed processes left is removed, and everything can be used.
    test.store.collect(&CollectLimits::default()).unwrap();
    assert_eq!(test.entries("tmp"), [""; 0]);
    assert_eq!(test.entries("locks"), [""; 0]);
    for number in 0..IMAGES {
        let reference = registry.reference(&format!("image/{number}:v1"));
        pull(
            &test.store,
            &registry.client(),
            &reference,
            PullPolicy::IfNotPresent,
        )
        .unwrap();
    }
    let report = test.store.verify().unwrap();
    assert_eq!((report.images, report.damages.len()), (IMAGES, 0));
}
