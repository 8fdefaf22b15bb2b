//! Modules in a registry, in every form.

use std::path::Path;
use std::sync::Arc;

use kiln_krm::Dialect;
use kiln_oci::media_type::{DOCKER_LIST, OCI_CONFIG, OCI_INDEX, OCI_LAYER, OCI_MANIFEST};
use kiln_oci::{
    Digest, ImageLayout, ImageManifest, LayerBuilder, Platform, PullPolicy, write_archive,
};
use kiln_runtime::{
    Evaluator as _, EvaluatorChain, FindError, FunctionSpec, Input, RunContext, RunError,
};
use kiln_store::{ImportedImage, Store, StoreOptions};
use kiln_wasm::{
    ImageFormat, WasmEvaluator, WasmImageEvaluator, WasmImageOptions, WasmImages, WasmModule,
    WasmOptions, module_platforms,
};

use crate::registry::TestRegistry;
use crate::support::{describe, error_text};

/// A program that prints its name.
fn module() -> WasmModule {
    module_that_prints("module")
}

fn module_that_prints(name: &str) -> WasmModule {
    let length = name.len();
    let text = format!(
        r#"(module
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1) (data (i32.const 16) "{name}")
        (func (export "_start")
          (i32.store (i32.const 0) (i32.const 16)) (i32.store (i32.const 4) (i32.const {length}))
          (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#
    );
    WasmModule::parse(wat::parse_str(text).unwrap().into()).unwrap()
}

fn images(options: WasmImageOptions, cache: Option<&Path>) -> Arc<WasmImages> {
    Arc::new(WasmImages::new(options, cache))
}

/// Runs an image as a new process would, but for what `images` remembers.
fn run(images: &Arc<WasmImages>, image: &str) -> String {
    run_with(&evaluator(images), image)
}

fn evaluator(images: &Arc<WasmImages>) -> WasmImageEvaluator {
    let modules = WasmEvaluator::new(WasmOptions::default());
    WasmImageEvaluator::new(&modules, Arc::clone(images))
}

fn run_with(evaluator: &WasmImageEvaluator, image: &str) -> String {
    match evaluator.find(&FunctionSpec::image(image)) {
        Ok(found) => {
            let input = Input::from_wire(Dialect::Current, "");
            describe(found.into_runner().run(&input, &RunContext::default()))
        }
        Err(FindError::NotFound { .. }) => "not found".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn push(registry: &TestRegistry, name: &str, format: ImageFormat) -> String {
    push_module(registry, name, &module(), format)
}

fn push_module(
    registry: &TestRegistry,
    name: &str,
    module: &WasmModule,
    format: ImageFormat,
) -> String {
    let image = format!("{}/{name}:v1", registry.host);
    let images = images(WasmImageOptions::default(), None);
    let pushed = images.push(
        &image,
        "fn.wasm",
        module.bytes(),
        format,
        &RunContext::default(),
    );
    let pushed = pushed.unwrap_or_else(|error| panic!("{}", error_text(&error)));
    assert_eq!(pushed.index.is_some(), format == ImageFormat::Kpt);
    image
}

#[test]
fn what_is_pushed_runs() {
    let registry = TestRegistry::start();
    for (name, format) in [
        ("team/oci", ImageFormat::Oci),
        ("team/kpt", ImageFormat::Kpt),
    ] {
        let image = push(&registry, name, format);
        let images = images(WasmImageOptions::default(), None);
        assert_eq!(run(&images, &image), "0|module|", "{name}");
        let pulled = images.module(&image, &RunContext::default()).unwrap();
        assert_eq!(pulled.bytes(), module().bytes());
    }
}

#[test]
fn pushing_in_the_form_of_kpt_keeps_the_other_platforms() {
    let registry = TestRegistry::start();
    let other = r#"{"mediaType":"application/vnd.oci.image.manifest.v1+json",
        "digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","size":1,
        "platform":{"os":"linux","architecture":"s390x"}}"#;
    let index = format!(r#"{{"schemaVersion":2,"mediaType":"{OCI_INDEX}","manifests":[{other}]}}"#);
    registry.put_manifest("team/both", "v1", OCI_INDEX, &index);
    let image = push(&registry, "team/both", ImageFormat::Kpt);
    push(&registry, "team/both", ImageFormat::Kpt);
    let images = images(WasmImageOptions::default(), None);
    assert_eq!(run(&images, &image), "0|module|");
    assert_eq!(registry.media_type("team/both", "v1"), DOCKER_LIST);
    // An image without an index is not replaced.
    let image = push(&registry, "team/oci", ImageFormat::Oci);
    let refused = images.push(
        &image,
        "fn.wasm",
        module().bytes(),
        ImageFormat::Kpt,
        &RunContext::default(),
    );
    assert_eq!(
        refused.unwrap_err().to_string(),
        "unexpected media type: application/vnd.oci.image.manifest.v1+json, expect either \
         application/vnd.docker.distribution.manifest.list.v2+json or application/vnd.oci.image.index.v1+json"
    );
}

/// Puts a container image for a platform there; returns its reference.
fn put_image(registry: &TestRegistry, name: &str, config: &str, file: &str) -> String {
    put_program(registry, name, config, file, module().bytes())
}

/// The same with a module.
fn put_program(
    registry: &TestRegistry,
    name: &str,
    config: &str,
    file: &str,
    module: &[u8],
) -> String {
    let layer = LayerBuilder::default().file(file, 0o644, module).unwrap();
    let layer = registry.put_blob(name, OCI_LAYER, &layer.finish().unwrap());
    let config = registry.put_blob(
        name,
        "application/vnd.oci.image.config.v1+json",
        config.as_bytes(),
    );
    let manifest = format!(
        r#"{{"schemaVersion":2,"mediaType":"{OCI_MANIFEST}","config":{config},"layers":[{layer}]}}"#
    );
    let digest = registry.put_manifest(name, "v1", OCI_MANIFEST, &manifest);
    format!("{}/{name}@{digest}", registry.host)
}

#[test]
fn a_container_image_with_a_module_as_its_entrypoint_runs() {
    let registry = TestRegistry::start();
    let config = r#"{"os":"wasi","architecture":"wasm","config":{"Entrypoint":["/app/fn.wasm"]}}"#;
    let image = put_image(&registry, "team/container", config, "app/fn.wasm");
    let all = images(WasmImageOptions::default(), None);
    assert_eq!(run(&all, &image), "0|module|");
    let image = put_image(&registry, "team/missing", config, "app/other.wasm");
    let answer = run(&all, &image);
    assert!(
        answer.ends_with(r#"it has no file "/app/fn.wasm", which is its entrypoint"#),
        "{answer}"
    );
}

/// A program that prints its arguments and variables, each with a zero byte at its end. All that it prints fits into a page.
const PRINTS_ARGUMENTS: &str = r#"(module
    (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ_sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "environ_get" (func $environ (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func $print
      (i32.store (i32.const 8) (i32.const 4096))
      (i32.store (i32.const 12) (i32.load (i32.const 4)))
      (drop (call $write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 16))))
    (func (export "_start")
      (drop (call $args_sizes (i32.const 0) (i32.const 4)))
      (drop (call $args (i32.const 1024) (i32.const 4096)))
      (call $print)
      (drop (call $environ_sizes (i32.const 0) (i32.const 4)))
      (drop (call $environ (i32.const 1024) (i32.const 4096)))
      (call $print)))"#;

/// The command of an image that is in a directory of its own.
const COMMAND: &str = r#"{"os":"wasip1","architecture":"wasm","config":{"WorkingDir":"/app",
    "Entrypoint":["./fn.wasm","--mode=x"],"Cmd":["more"],"Env":["COLOR=red","SIZE=1","NOTHING"]}}"#;

/// What the module of such an image prints.
fn with_command(image: &str, environment: &str) -> String {
    let printed = format!("{image}\0--mode=x\0more\0{environment}\0");
    format!("0|{printed}|")
}

#[test]
fn the_command_of_a_container_image_is_that_of_its_module() {
    let registry = TestRegistry::start();
    let program = wat::parse_str(PRINTS_ARGUMENTS).unwrap();
    let image = put_program(&registry, "team/command", COMMAND, "app/fn.wasm", &program);
    let cache = tempfile::tempdir().unwrap();
    let first = images(WasmImageOptions::default(), Some(cache.path()));
    let expected = with_command(&image, "COLOR=red\0SIZE=1");
    assert_eq!(run(&first, &image), expected);
    let requests = registry.requests();
    // Another process.
    let again = images(WasmImageOptions::default(), Some(cache.path()));
    assert_eq!(run(&again, &image), expected);
    assert_eq!(registry.requests(), requests);
    // The variables of the function replace those of the image. One that is only a name has our value.
    let function = FunctionSpec {
        env: ["SIZE=2", "NEW=3", "OURS", "MISSING"]
            .map(str::to_owned)
            .into(),
        ..FunctionSpec::image(&image)
    };
    let with_environment = WasmImageOptions {
        environment: vec![("OURS".into(), "4".into())],
        ..WasmImageOptions::default()
    };
    let again = evaluator(&images(with_environment, Some(cache.path())));
    let found = again.find(&function).unwrap().into_runner();
    let input = Input::from_wire(Dialect::Current, "");
    let answer = describe(found.run(&input, &RunContext::default()));
    assert_eq!(
        answer,
        with_command(&image, "COLOR=red\0SIZE=2\0NEW=3\0OURS=4")
    );
}

#[test]
fn an_image_for_this_machine_is_left_to_others_and_remembered() {
    let registry = TestRegistry::start();
    let config = r#"{"os":"linux","architecture":"amd64","config":{"Entrypoint":["/bin/fn"]}}"#;
    let image = put_image(&registry, "team/linux", config, "bin/fn");
    let cache = tempfile::tempdir().unwrap();
    let asked = images(WasmImageOptions::default(), Some(cache.path()));
    let chain = EvaluatorChain::new(vec![("wasm", Arc::new(evaluator(&asked)))]);
    let found = chain
        .find(&FunctionSpec::image(&image))
        .unwrap()
        .into_runner();
    let input = Input::from_wire(Dialect::Current, "");
    let error = found.run(&input, &RunContext::default()).unwrap_err();
    assert!(
        matches!(error, RunError::NotFound(_) | RunError::Declined(_)),
        "{error}"
    );
    assert!(!found.is_native(), "it may run elsewhere");
    let requests = registry.requests();
    assert_eq!(run(&asked, &image), "not found");
    // Another process.
    let again = images(WasmImageOptions::default(), Some(cache.path()));
    assert_eq!(run(&again, &image), "not found");
    assert_eq!(registry.requests(), requests);
}

#[test]
fn modules_are_stored_by_their_digest() {
    let registry = TestRegistry::start();
    let image = push(&registry, "team/stored", ImageFormat::Oci);
    let cache = tempfile::tempdir().unwrap();
    let first = images(WasmImageOptions::default(), Some(cache.path()));
    assert_eq!(run(&first, &image), "0|module|");
    let requests = registry.requests();
    let never = WasmImageOptions {
        pull: PullPolicy::Never,
        ..WasmImageOptions::default()
    };
    let offline = images(never.clone(), Some(cache.path()));
    assert_eq!(run(&offline, &image), "0|module|");
    assert_eq!(registry.requests(), requests);
    // A module that was changed on disk is not used.
    let path = cache
        .path()
        .join(format!("modules/{}.wasm", module().digest()));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(&[0, 2, 1, b'x']);
    std::fs::write(&path, bytes).unwrap();
    let offline = images(never, Some(cache.path()));
    let answer = run(&offline, &image);
    assert!(answer.contains("is not on this machine"), "{answer}");
    let online = images(WasmImageOptions::default(), Some(cache.path()));
    assert_eq!(run(&online, &image), "0|module|");
}

/// Only evaluators hold modules in memory, which limit their size.
#[test]
fn images_remember_what_they_are_without_the_module() {
    let registry = TestRegistry::start();
    // No other test has this module in memory.
    let module = || module_that_prints("memory");
    let names = ["team/first", "team/second"];
    let pushed = names.map(|name| push_module(&registry, name, &module(), ImageFormat::Oci));
    let images = images(WasmImageOptions::default(), None);
    let requests_of = |evaluator: &WasmImageEvaluator| {
        let before = registry.requests();
        for image in &pushed {
            assert_eq!(run_with(evaluator, image), "0|memory|");
        }
        registry.requests() - before
    };
    let first = evaluator(&images);
    assert!(requests_of(&first) > 0);
    assert_eq!(requests_of(&first), 0);
    drop(first);
    assert!(requests_of(&evaluator(&images)) > 0);
}

/// Imports an image into a store, as on a machine without a registry; returns its references.
fn import(store: &Path, layout: ImageLayout) -> Vec<String> {
    let mut archive = Vec::new();
    write_archive(&layout, &mut archive).unwrap();
    let store = Store::open(store, StoreOptions::default()).unwrap();
    let mut platforms = vec![Platform::this_machine()];
    platforms.extend(module_platforms());
    let imported = store.import(&mut archive.as_slice(), &platforms, None);
    let by_digest = |image: &ImportedImage| {
        let reference = image.reference.clone().unwrap();
        let digest = image.image.meta().manifest_digest.clone();
        [
            reference.to_string(),
            reference.with_digest(digest).to_string(),
        ]
    };
    imported.unwrap().iter().flat_map(by_digest).collect()
}

#[test]
fn modules_in_the_image_store_need_no_registry() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store");
    let empty = |os: &str| format!(r#"{{"os":"{os}","architecture":"wasm"}}"#);
    let container = r#"{"os":"wasi","architecture":"wasm","config":{"WorkingDir":"/app","Entrypoint":["fn.wasm"]}}"#;
    let module = module().bytes().to_vec();
    let file = |path: &str| {
        let layer = LayerBuilder::default().file(path, 0o644, &module);
        layer.and_then(LayerBuilder::finish).unwrap()
    };
    let forms = [
        (
            "artifact",
            empty("wasip1"),
            "application/wasm",
            module.clone().into(),
            None,
        ),
        ("kpt", empty(""), OCI_LAYER, file("fn.wasm"), Some("js")),
        (
            "container",
            container.to_owned(),
            OCI_LAYER,
            file("app/fn.wasm"),
            Some("wasi"),
        ),
        (
            "alone",
            container.to_owned(),
            OCI_LAYER,
            file("app/fn.wasm"),
            None,
        ),
    ];
    for (name, config, media_type, layer, os) in forms {
        let mut layout = ImageLayout::default();
        let diff_id = Digest::of(&layer);
        let rootfs = format!(r#","rootfs":{{"type":"layers","diff_ids":["{diff_id}"]}}}}"#);
        let config = format!("{}{rootfs}", config.strip_suffix('}').unwrap());
        let layer = layout.add_blob(media_type, layer);
        let config = layout.add_blob(OCI_CONFIG, config.into());
        let manifest = ImageManifest {
            schema_version: 2,
            media_type: Some(OCI_MANIFEST.to_owned()),
            config,
            layers: vec![layer],
        };
        let manifest = serde_json::to_vec(&manifest).unwrap();
        let mut root = layout.add_blob(OCI_MANIFEST, manifest.into());
        root.platform = os.map(|os| format!("{os}/wasm").parse().unwrap());
        layout.add_root(root, &format!("registry.invalid/team/{name}:v1"));
        for image in import(&store, layout) {
            // As in a registry, the digest of the index shows that it is a module, not that of the image.
            if name == "kpt" && image.contains('@') {
                continue;
            }
            for prefers_modules in [false, true] {
                let options = WasmImageOptions {
                    pull: PullPolicy::Never,
                    image_store: Some(store.clone()),
                    prefers_modules,
                    ..WasmImageOptions::default()
                };
                assert_eq!(run(&images(options, None), &image), "0|module|", "{image}");
            }
        }
    }
}

/// kpt loads when it prepares a pipeline.
#[test]
fn for_kpt_an_image_is_loaded_before_the_first_function_runs() {
    let registry = TestRegistry::start();
    let for_kpt = WasmImageOptions {
        is_every_image_a_module: true,
        ..WasmImageOptions::default()
    };
    let image = push(&registry, "team/early", ImageFormat::Kpt);
    let loaded = evaluator(&images(for_kpt.clone(), None));
    let found = loaded.find(&FunctionSpec::image(&image)).unwrap();
    let requests = registry.requests();
    let input = Input::from_wire(Dialect::Current, "");
    let ran = found.into_runner().run(&input, &RunContext::default());
    assert_eq!(describe(ran), "0|module|");
    assert_eq!(registry.requests(), requests);
    let missing = format!("{}/team/none:v1", registry.host);
    let Err(FindError::Refused(error)) = loaded.find(&FunctionSpec::image(&missing)) else {
        panic!("a missing image was found");
    };
    assert!(error.to_string().contains(&missing), "{error}");
}

#[test]
fn any_file_is_pushed_and_fetched() {
    let registry = TestRegistry::start();
    let images = images(WasmImageOptions::default(), None);
    let ctx = RunContext::default();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("any");
    for (index, bytes) in [&b"\0asm\x01\0\0\0"[..], b"\0asm\x0d\0\x01\0", b"text", b""]
        .into_iter()
        .enumerate()
    {
        std::fs::write(&path, bytes).unwrap();
        let image = format!("{}/team/any{index}:v1", registry.host);
        let pushed = images.push_as_kpt(&image, &path, &ctx).unwrap();
        assert!(pushed.index.is_some());
        assert_eq!(images.fetch(&image, &ctx).unwrap(), bytes);
        let image = format!("{}/team/artifact{index}:v1", registry.host);
        let bytes = bytes.to_vec().into();
        let pushed = images.push(&image, "any", &bytes, ImageFormat::Oci, &ctx);
        assert!(pushed.unwrap().index.is_none());
        assert_eq!(images.fetch(&image, &ctx).unwrap(), bytes);
    }
}

/// In kpt's order: the registry is asked before the file is read.
#[test]
fn a_push_in_the_form_of_kpt_fails_with_its_words() {
    let registry = TestRegistry::start();
    let images = images(WasmImageOptions::default(), None);
    let failed = |image: &str| {
        let pushed = images.push_as_kpt(image, Path::new("none.wasm"), &RunContext::default());
        error_text(&pushed.unwrap_err())
    };
    assert_eq!(
        failed(&format!("{}/team/fn:v1", registry.host)),
        "unable to compress none.wasm: failed to read from file none.wasm: open none.wasm: no such file or directory"
    );
    let error = failed("registry.example.com/UPPER:v1");
    assert!(
        error.starts_with(r#"unable to parse tag "registry.example.com/UPPER:v1": "#),
        "{error}"
    );
    let digest = Digest::of(b"");
    let error = failed(&format!("{}/team/fn@{digest}", registry.host));
    assert!(error.starts_with("unable to parse tag "), "{error}");
    let image = push(&registry, "team/oci", ImageFormat::Oci);
    assert!(failed(&image).starts_with("unexpected media type: "));
}

#[test]
fn an_index_with_both_runs_as_a_module_only_on_request() {
    let registry = TestRegistry::start();
    let config = r#"{"os":"linux","architecture":"amd64","config":{}}"#;
    let linux = put_image(&registry, "team/both", config, "bin/fn");
    let digest = linux.split_once('@').unwrap().1;
    let architecture = kiln_oci::Platform::this_machine().architecture;
    let index = format!(
        r#"{{"schemaVersion":2,"mediaType":"{OCI_INDEX}","manifests":[{{"mediaType":"{OCI_MANIFEST}",
            "digest":"{digest}","size":1,"platform":{{"os":"linux","architecture":"{architecture}"}}}}]}}"#
    );
    registry.put_manifest("team/both", "v1", OCI_INDEX, &index);
    let image = push(&registry, "team/both", ImageFormat::Kpt);
    let answer = run(&images(WasmImageOptions::default(), None), &image);
    assert!(answer.ends_with("is not a WebAssembly module"), "{answer}");
    let preferred = WasmImageOptions {
        prefers_modules: true,
        ..WasmImageOptions::default()
    };
    assert_eq!(run(&images(preferred, None), &image), "0|module|");
}

#[test]
fn a_registry_that_does_not_respond_is_not_asked_again_at_once() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    drop(listener);
    let options = WasmImageOptions {
        registry: kiln_oci::RegistryOptions {
            retry: kiln_oci::RetryPolicy {
                attempts: 1,
                ..kiln_oci::RetryPolicy::default()
            },
            ..kiln_oci::RegistryOptions::default()
        },
        ..WasmImageOptions::default()
    };
    let unreachable = images(options, None);
    let image = format!("{host}/team/fn:v1");
    assert!(run(&unreachable, &image).starts_with("error: "));
    assert_eq!(run(&unreachable, &image), "not found");
}
