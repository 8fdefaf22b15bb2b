//! Images that the runner pulls from a registry in this process and runs itself, without pods.

use tonic::Code;

use crate::busybox::busybox_image;
use crate::program::{LIST, Runner, RunnerFiles};
use crate::registry::TestRegistry;

/// A registry, and the files of a runner with a store.
struct ImageTest {
    files: RunnerFiles,
    registry: TestRegistry,
}

impl ImageTest {
    fn new() -> ImageTest {
        ImageTest {
            files: RunnerFiles::empty(),
            registry: TestRegistry::start(),
        }
    }

    /// Adds an image that runs a command of busybox; `None`, with a message, without busybox.
    fn push(&self, name: &str, words: &[&str]) -> Option<String> {
        let Some((layout, root)) = busybox_image(words, name) else {
            skip("no static busybox");
            return None;
        };
        let tagged = format!("team/{name}:v1");
        self.registry.add(&tagged, &layout, &root);
        Some(format!("{}/{tagged}", self.registry.host))
    }

    fn start(&self, arguments: &[&str]) -> Runner {
        let store = format!("--image-store={}", self.files.path("store").display());
        let own = ["--disable-runtimes=wasm,pod", &store];
        self.files.start(&[&own[..], arguments].concat())
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test is visible")]
fn skip(reason: &str) {
    eprintln!("SKIPPED: {reason}");
}

#[tokio::test]
async fn an_image_is_pulled_once_and_runs_without_a_pod() {
    let test = ImageTest::new();
    let Some(image) = test.push("cat", &["/bin/busybox", "cat"]) else {
        return;
    };
    let runner = test.start(&[]);
    for _ in 0..3 {
        let answer = runner.call(&image).await.expect("a list");
        assert_eq!(answer.resource_list, LIST);
    }
    runner.wait_for_log(&format!("pulling image {image}"));
    let blobs = test.registry.requests();
    let blobs = blobs.iter().filter(|path| path.contains("/blobs/"));
    assert_eq!(blobs.count(), 2, "the config and the layer");
}

#[tokio::test]
async fn an_image_ends_with_its_deadline() {
    let test = ImageTest::new();
    let Some(image) = test.push("sleep", &["/bin/busybox", "sleep", "1000"]) else {
        return;
    };
    let runner = test.start(&["--evaluation-timeout=1s"]);
    let status = runner.call(&image).await.expect_err("too late");
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
}

#[tokio::test]
async fn an_image_that_is_in_no_registry_is_left_to_the_next_evaluator() {
    let test = ImageTest::new();
    let image = format!("{}/team/missing:v1", test.registry.host);
    let runner = test.start(&[]);
    let status = runner.call(&image).await.expect_err("no image");
    assert_eq!(status.code(), Code::NotFound, "{status:?}");
    assert!(status.message().contains(&image), "{status:?}");
    // With a policy that does not pull, the registry is not asked.
    let Some(image) = test.push("cat", &["/bin/busybox", "cat"]) else {
        return;
    };
    test.registry.requests();
    let runner = test.start(&["--image-pull-policy=Never"]);
    let status = runner.call(&image).await.expect_err("no image");
    assert_eq!(status.code(), Code::NotFound, "{status:?}");
    assert_eq!(test.registry.requests(), [""; 0]);
}

#[tokio::test]
async fn a_pull_makes_room_in_the_store() {
    let test = ImageTest::new();
    let runner = test.start(&["--image-store-size=0"]);
    for name in ["first", "second"] {
        let Some(image) = test.push(name, &["/bin/busybox", "cat"]) else {
            return;
        };
        runner.call(&image).await.expect("a list");
    }
    runner.wait_for_log("removed image sha256:");
}
