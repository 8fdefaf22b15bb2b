//! A runner that runs a function in WebAssembly, from a registry.

use kiln_runtime::RunContext;
use kiln_wasm::{ImageFormat, WasmImageOptions, WasmImages, WasmModule};
use tonic::Code;

use crate::program::{LIST, RunnerFiles};

#[expect(dead_code, reason = "the tests of images use more of it")]
#[path = "../../../kiln-wasm/tests/it/registry.rs"]
mod registry;

use registry::TestRegistry;

/// A program of WASI that writes one line of log, then copies its input to its output.
const ECHO: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1) (data (i32.const 32) "hello\n")
    (func (export "_start")
      (i32.store (i32.const 0) (i32.const 32)) (i32.store (i32.const 4) (i32.const 6))
      (drop (call $write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 12)))
      (i32.store (i32.const 0) (i32.const 64))
      (loop $again
        (i32.store (i32.const 4) (i32.const 4096))
        (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
        (if (i32.load (i32.const 8)) (then
          (i32.store (i32.const 4) (i32.load (i32.const 8)))
          (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
          (br $again))))))"#;

/// A program that exits with 5.
const FIVE: &str = r#"(module
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1) (func (export "_start") (call $exit (i32.const 5))))"#;

fn push(registry: &TestRegistry, name: &str, text: &str, format: ImageFormat) -> String {
    let image = format!("{}/team/{name}:v1", registry.host);
    let module = wat::parse_str(text).expect("a module");
    let module = WasmModule::parse(module.into()).expect("a module");
    let images = WasmImages::new(WasmImageOptions::default(), None);
    // A client blocks, which a thread of the runtime of a test must not.
    std::thread::scope(|scope| {
        let push = || {
            images.push(
                &image,
                "fn.wasm",
                module.bytes(),
                format,
                &RunContext::default(),
            )
        };
        let pushed = scope.spawn(push).join().expect("a thread");
        pushed.expect("an image");
    });
    image
}

#[tokio::test]
async fn modules_in_a_registry_run() {
    let registry = TestRegistry::start();
    let images = [
        push(&registry, "oci", ECHO, ImageFormat::Oci),
        push(&registry, "kpt", ECHO, ImageFormat::Kpt),
    ];
    let failing = push(&registry, "five", FIVE, ImageFormat::Oci);
    let files = RunnerFiles::empty();
    for engine in ["auto", "interpreter", "compiler"] {
        let engine = format!("--wasm-engine={engine}");
        let runner = files.start(&["--disable-runtimes=exec,image,pod", &engine]);
        // The second call may find compiled code.
        for image in images.iter().chain(&images) {
            let answer = runner.call(image).await.expect("a list");
            assert_eq!(answer.resource_list, LIST, "{engine} {image}");
            assert_eq!(answer.log, "hello\n", "{engine} {image}");
        }
        let status = runner.call(&failing).await.expect_err("it exits with 5");
        assert_eq!(status.code(), Code::Internal, "{status:?}");
        assert!(status.message().contains('5'), "{status:?}");
    }
    let runner = files.start(&["--disable-runtimes=exec,wasm,image,pod"]);
    let status = runner.call(&images[0]).await.expect_err("nothing runs it");
    assert_eq!(status.code(), Code::NotFound, "{status:?}");
}

#[tokio::test]
async fn the_pull_policy_is_that_of_images() {
    let registry = TestRegistry::start();
    let image = push(&registry, "oci", ECHO, ImageFormat::Oci);
    let requests = registry.requests();
    let files = RunnerFiles::empty();
    let runner = files.start(&[
        "--disable-runtimes=exec,image,pod",
        "--image-pull-policy=Never",
    ]);
    runner.call(&image).await.expect_err("it was never pulled");
    assert_eq!(registry.requests(), requests);
}
