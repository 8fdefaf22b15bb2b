//! Images whose paths need care: links to programs, and what is in directories for temporary files.

use kiln_image::{ImageEvaluator, ImageOptions, LevelChoice};
use kiln_oci::{BuildError, ImageLayout, ImageSpec, LayerBuilder, Platform, RunConfig, add_image};
use kiln_runtime::{Outcome, Output, RunError};

use crate::busybox::static_busybox;
use crate::pulls::{PullTest, run, skip};

/// Runs an image at a level. `add` adds entries to its layer, to which the program is passed.
fn run_image(
    levels: LevelChoice,
    config: RunConfig,
    add: impl FnOnce(LayerBuilder, &[u8]) -> Result<LayerBuilder, BuildError>,
) -> Option<Result<Outcome, RunError>> {
    let test = PullTest::new()?;
    let busybox = std::fs::read(static_busybox()?).unwrap();
    let layer = add(LayerBuilder::default(), &busybox).unwrap();
    let spec = ImageSpec {
        platform: Platform::this_machine(),
        run: config,
        layers: vec![layer.finish().unwrap()],
    };
    let mut layout = ImageLayout::default();
    let root = add_image(&mut layout, spec).unwrap();
    test.registry.add("team/cat:paths", &layout, &root);
    let evaluator = ImageEvaluator::new(ImageOptions {
        levels,
        ..test.options()
    });
    if levels == LevelChoice::Namespaces
        && let Err(error) = evaluator.probe_namespaces()
    {
        skip(&format!("no namespaces: {error}"));
        return None;
    }
    let ran = run(&evaluator, &test.image("paths"));
    match &ran {
        Err(error) if error.to_string().contains("no Landlock") => {
            skip("the kernel has no Landlock");
            None
        }
        _ => Some(ran),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// The function returned its input.
#[track_caller]
fn check_returned(ran: Result<Outcome, RunError>) {
    let outcome = ran.unwrap();
    let stderr = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.exit_code, 0, "{stderr}");
    let Output::Wire(output) = outcome.output else {
        panic!("text");
    };
    let output = String::from_utf8_lossy(&output);
    assert!(output.contains("kind: ResourceList"), "{output}");
}

/// The first target is a program of this machine too, the second one is not.
#[test]
fn a_link_leads_to_the_program_of_the_image() {
    for target in ["/usr/bin/id", "/usr/bin/kiln-test-missing"] {
        for levels in [LevelChoice::Landlock, LevelChoice::Namespaces] {
            let config = RunConfig {
                entrypoint: words(&["/bin/cat"]),
                ..RunConfig::default()
            };
            let ran = run_image(levels, config, |layer, busybox| {
                let program = target.trim_start_matches('/');
                layer.file(program, 0o755, busybox)?.link("bin/cat", target)
            });
            let Some(ran) = ran else {
                continue;
            };
            check_returned(ran);
        }
    }
}

#[test]
fn directories_below_writable_ones_are_writable() {
    let script = "touch /tmp/cache/x /tmp/.X11-unix/x ./x /tmp/x /data/x /data/a/b/x && test $(pwd) = /tmp/work && cat";
    let config = RunConfig {
        entrypoint: words(&["/bin/busybox", "sh", "-c", script]),
        working_dir: "/tmp/work".to_owned(),
        volumes: words(&["/tmp/cache", "/data", "/data/a/b"])
            .into_iter()
            .collect(),
        env: words(&["PATH=/bin"]),
        ..RunConfig::default()
    };
    let ran = run_image(LevelChoice::Namespaces, config, |layer, busybox| {
        let mut layer = layer
            .file("bin/busybox", 0o755, busybox)?
            .directory("tmp", 0o1777)?
            .directory("tmp/.X11-unix", 0o1777)?;
        for applet in ["sh", "touch", "cat", "test", "pwd"] {
            layer = layer.link(&format!("bin/{applet}"), "busybox")?;
        }
        Ok(layer)
    });
    if let Some(ran) = ran {
        check_returned(ran);
    }
}

/// They would be hidden. What else is there stays read-only then.
#[test]
fn what_a_run_needs_in_tmp_is_not_hidden() {
    let cases = [
        words(&["/tmp/busybox", "cat"]),
        words(&["/bin/busybox", "sh", "/tmp/script"]),
        words(&["/bin/busybox-link", "sh", "-c", "exec /tmp/busybox cat"]),
    ];
    for entrypoint in cases {
        let config = RunConfig {
            entrypoint,
            ..RunConfig::default()
        };
        let ran = run_image(LevelChoice::Namespaces, config, |layer, busybox| {
            layer
                .directory("tmp", 0o1777)?
                .file("tmp/busybox", 0o755, busybox)?
                .file("bin/busybox", 0o755, busybox)?
                .file("tmp/script", 0o644, b"exec /bin/busybox cat")?
                .link("bin/busybox-link", "/tmp/busybox")
        });
        if let Some(ran) = ran {
            check_returned(ran);
        }
    }
}

/// An image whose function returns its input, with other settings.
fn run_cat(levels: LevelChoice, config: RunConfig) -> Option<Result<Outcome, RunError>> {
    let config = RunConfig {
        entrypoint: words(&["/bin/busybox", "cat"]),
        ..config
    };
    run_image(levels, config, |layer, busybox| {
        layer.file("bin/busybox", 0o755, busybox)
    })
}

#[test]
fn volumes_in_directories_of_the_kernel_are_ignored() {
    let volumes = words(&[
        "/dev/shm",
        "/dev/shm/cache",
        "/dev",
        "/sys/fs/cgroup",
        "/proc/x",
    ]);
    let config = RunConfig {
        volumes: volumes.into_iter().collect(),
        ..RunConfig::default()
    };
    if let Some(ran) = run_cat(LevelChoice::Namespaces, config) {
        check_returned(ran);
    }
}

#[test]
fn an_engine_may_run_what_uses_directories_of_the_kernel() {
    let config = RunConfig {
        working_dir: "/dev/shm".to_owned(),
        ..RunConfig::default()
    };
    let Some(ran) = run_cat(LevelChoice::Namespaces, config.clone()) else {
        return;
    };
    let error = ran.unwrap_err();
    assert!(matches!(error, RunError::Unavailable(_)), "{error:?}");
    let error = run_cat(LevelChoice::Any, config).unwrap().unwrap_err();
    assert!(matches!(error, RunError::NotFound(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("which the image cannot choose"), "{text}");
}

#[test]
fn a_working_directory_that_is_a_file_is_named() {
    let config = RunConfig {
        working_dir: "/bin/busybox".to_owned(),
        ..RunConfig::default()
    };
    for levels in [LevelChoice::Landlock, LevelChoice::Namespaces] {
        let Some(ran) = run_cat(levels, config.clone()) else {
            continue;
        };
        let text = ran.unwrap_err().to_string();
        assert!(text.contains("\"/bin/busybox\" of image"), "{text}");
        assert!(text.ends_with("is a file"), "{text}");
    }
}
