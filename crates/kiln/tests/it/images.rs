//! Images that kiln runs itself, from its store, compared with an engine where there is one.
//!
//! The images contain busybox, which has to be static (`busybox-static` in Debian); without it these tests are skipped.

use std::fs;
use std::path::Path;
use std::process::Command;

use kiln_oci::{
    ImageLayout, ImageSpec, LayerBuilder, Platform, RunConfig, add_image, write_archive,
};

use crate::busybox::static_busybox;
use crate::engine;
use crate::faults::skip;
use crate::test_environment::{Outcome, TestEnvironment, run};

pub(crate) const RESOURCE: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  value: old # kept\n";

/// A package, a store with one image, and the way to run it.
pub(crate) struct ImageTest {
    pub(crate) test_env: TestEnvironment,
    pub(crate) image: String,
}

/// The image's own configuration, besides its program.
#[derive(Default)]
struct Settings {
    env: Vec<&'static str>,
    working_dir: &'static str,
    entrypoint: Vec<&'static str>,
}

impl ImageTest {
    /// An image that runs a shell script; `None`, with a message, if images cannot be built or run here.
    pub(crate) fn new(test: &str, script: &str) -> Option<ImageTest> {
        ImageTest::with(test, script, Settings::default())
    }

    fn with(test: &str, script: &str, settings: Settings) -> Option<ImageTest> {
        let Some(busybox) = static_busybox() else {
            skip(test, "no static busybox");
            return None;
        };
        let test_env = TestEnvironment::new();
        let image = format!("localhost/kiln/{test}:v1");
        test_env.write("pkg/a.yaml", RESOURCE);
        let kptfile = format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    \
             - image: {image}\n      selectors:\n        - kind: ConfigMap\n"
        );
        test_env.write("pkg/Kptfile", &kptfile);
        let archive = test_env.work().join("image.tar");
        write_image(&archive, &busybox, script, &settings);
        let made = ImageTest { test_env, image };
        let archive = archive.display().to_string();
        let imported = made.kiln(&format!("image import {archive} --name IMAGE"));
        assert_eq!(imported.code, Some(0), "{}", imported.stderr);
        Some(made)
    }

    /// The same, if this system allows namespaces.
    pub(crate) fn in_namespaces(test: &str, script: &str) -> Option<ImageTest> {
        let made = ImageTest::new(test, script)?;
        let doctor = made.kiln("doctor -o json");
        let report: serde_json::Value = serde_json::from_str(&doctor.stdout).expect("JSON");
        let checks = report["checks"].as_array().expect("checks");
        let works = checks
            .iter()
            .any(|check| check["name"] == "namespaces" && check["status"] == "ok");
        if !works {
            skip(test, "this system does not allow namespaces");
            return None;
        }
        Some(made)
    }

    /// `IMAGE` in the words is replaced by the image.
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = self.test_env.command("kiln", &self.test_env.work());
        let word = |word: &str| word.replace("IMAGE", &self.image);
        command.args(words.split(' ').map(word));
        command
    }

    pub(crate) fn kiln(&self, words: &str) -> Outcome {
        run(&mut self.command(words), "")
    }

    /// The file of the resource; empty if a function removed the resource.
    pub(crate) fn resource(&self) -> String {
        fs::read_to_string(self.test_env.work().join("pkg/a.yaml")).unwrap_or_default()
    }
}

/// Writes an image whose function returns what it gets; `None` if images cannot be built here.
pub(crate) fn write_unchanging_image(archive: &Path) -> Option<()> {
    write_image(archive, &static_busybox()?, "cat", &Settings::default());
    Some(())
}

fn write_image(archive: &Path, busybox: &Path, script: &str, settings: &Settings) {
    let busybox = fs::read(busybox).expect("busybox");
    let mut layer = LayerBuilder::default()
        .directory("tmp", 0o777)
        .and_then(|layer| layer.file("bin/busybox", 0o755, &busybox))
        .and_then(|layer| {
            let passwd = b"root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/home:/bin/sh\n";
            layer.file("etc/passwd", 0o644, passwd)
        })
        .and_then(|layer| layer.directory("work", 0o755))
        .expect("a layer");
    for applet in [
        "sh", "cat", "sed", "id", "env", "ls", "sleep", "touch", "echo", "head", "yes",
    ] {
        layer = layer
            .link(&format!("bin/{applet}"), "busybox")
            .expect("a link");
    }
    let script = format!("#!/bin/sh\n{script}\n");
    let layer = layer.file("usr/local/bin/function", 0o755, script.as_bytes());
    let layer = layer.and_then(LayerBuilder::finish).expect("a layer");
    let strings = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let entrypoint = match settings.entrypoint.as_slice() {
        [] => strings(&["function"]),
        words => strings(words),
    };
    let mut layout = ImageLayout::default();
    let image = ImageSpec {
        platform: Platform::this_machine(),
        run: RunConfig {
            entrypoint,
            env: strings(&settings.env),
            working_dir: settings.working_dir.to_owned(),
            ..RunConfig::default()
        },
        layers: vec![layer],
    };
    let descriptor = add_image(&mut layout, image).expect("an image");
    layout.add_root(descriptor, "v1");
    let mut file = fs::File::create(archive).expect("a file");
    write_archive(&layout, &mut file).expect("an archive");
}

const EVAL: &str = "fn eval pkg --image IMAGE --match-kind ConfigMap --image-runtime=namespaces";
const RENDER: &str = "fn render pkg --image-runtime=namespaces";
const RUN: &str = "fn run pkg --image IMAGE --image-runtime=namespaces";

/// kiln called as docker, with the words of kustomize.
#[test]
fn an_image_runs_by_a_link_named_as_an_engine() {
    let script = "cat; id -u >&2; cat /in/a.yaml >&2; echo \"[$MODE$SECRET]\" >&2; exit 4";
    let Some(test) = ImageTest::in_namespaces("link", script) else {
        return;
    };
    let link = test.test_env.work().join("links/docker");
    let installed = test.kiln("function install --docker links");
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    let source = test.test_env.work().join("pkg");
    let words = format!(
        "run --rm -i -a STDIN -a STDOUT -a STDERR --network none --user nobody --security-opt=no-new-privileges \
         --mount type=bind,source={},target=/in,readonly -e MODE=fast {}",
        source.display(),
        test.image
    );
    let program = link.display().to_string();
    let mut command = test.test_env.command(&program, &test.test_env.work());
    command.args(words.split(' ')).env("SECRET", "secret");
    let ran = run(&mut command, "the input: as it came\n");
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert_eq!(ran.stdout, "the input: as it came\n");
    assert_eq!(ran.stderr, format!("65534\n{RESOURCE}[fast]\n"));

    // The store answers questions about its images.
    for (words, expected) in [
        (
            "image ls --filter reference=localhost/kiln/link --format {{.Tag}}",
            "v1\n",
        ),
        (
            "image inspect localhost/kiln/link:v1",
            "\"RepoDigests\":[\"localhost/kiln/link@sha256:",
        ),
    ] {
        let mut command = test.test_env.command(&program, &test.test_env.work());
        command
            .args(words.split(' '))
            .env("PATH", test.test_env.work().join("links"));
        let ran = run(&mut command, "");
        assert_eq!(ran.code, Some(0), "{words}: {}", ran.stderr);
        assert!(ran.stdout.contains(expected), "{words}: {}", ran.stdout);
    }
}

#[test]
fn an_image_transforms_resources_without_an_engine() {
    let Some(test) = ImageTest::in_namespaces("own", "sed 's/value: old/value: new/'") else {
        return;
    };
    let wanted = RESOURCE.replace("old", "new");
    for words in [EVAL, RENDER, RUN] {
        test.test_env.write("pkg/a.yaml", RESOURCE);
        let ran = test.kiln(words);
        assert_eq!(ran.code, Some(0), "{words}: {}", ran.stderr);
        assert_eq!(test.resource(), wanted, "{words}");
    }
    // Without a flag, kiln runs it itself too.
    test.test_env.write("pkg/a.yaml", RESOURCE);
    let mut command = test.command("fn render pkg --timings");
    let ran = run(command.env_remove("KRM_FN_RUNTIME"), "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(test.resource(), wanted);
    let mut lines = ran.stderr.lines();
    let timing = lines.find(|line| line.contains("ms ") && line.contains(&test.image));
    let is_shown = timing.is_some_and(|line| line.ends_with(" (namespaces)"));
    assert!(is_shown, "{}", ran.stderr);
    // The variable selects as the flag does.
    let mut command = test.command("fn render pkg");
    let ran = run(command.env("KILN_IMAGE_RUNTIME", "nonsense"), "");
    assert!(
        ran.stderr.contains("must be one of: auto, namespaces"),
        "{}",
        ran.stderr
    );
}

#[test]
fn user_variables_and_directories_are_those_of_engines() {
    let script = "(id -u; id -g; echo \"home $HOME\"; pwd; echo \"[$SECRET][$A][$KILN_STORE]\"; \
                  touch /tmp/x && echo tmp; touch /x 2>/dev/null || echo read-only; echo $$) >&2; cat";
    let settings = Settings {
        env: vec!["A=image", "B=image"],
        working_dir: "/work",
        ..Settings::default()
    };
    let Some(test) = ImageTest::with("environment", script, settings) else {
        return;
    };
    let ran = test.kiln(&format!("{EVAL} --env A=given --env SECRET"));
    if ran.stderr.contains("cannot isolate") {
        return skip("environment", "this system does not allow namespaces");
    }
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for wanted in [
        "65534",
        "home /home",
        "/work",
        "[][given][]",
        "tmp",
        "read-only",
        "1",
    ] {
        let line = format!("    {wanted}\n");
        assert!(ran.stderr.contains(&line), "{wanted}: {}", ran.stderr);
    }
}

#[test]
fn the_documentation_of_an_image_is_printed() {
    let Some(test) = ImageTest::in_namespaces("help", "echo \"usage: $*\"") else {
        return;
    };
    let ran = test.kiln("fn doc --image IMAGE --image-runtime=namespaces");
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "usage: --help\n\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn mounts_are_seen_and_written_only_if_allowed() {
    let script = "cat /data/in >&2; echo out 2>/dev/null >/data/out || echo refused >&2; cat";
    let Some(test) = ImageTest::in_namespaces("mounted", script) else {
        return;
    };
    test.test_env.write("data/in", "from outside\n");
    let data = test.test_env.work().join("data");
    let mount = format!("type=bind,src={},dst=/data", data.display());
    let ran = test.kiln(&format!("{EVAL} --as-current-user --mount {mount}"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("from outside"), "{}", ran.stderr);
    assert!(ran.stderr.contains("refused"), "{}", ran.stderr);
    assert!(!data.join("out").exists());
    let ran = test.kiln(&format!("{EVAL} --as-current-user --mount {mount},rw=true"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        fs::read_to_string(data.join("out")).expect("a file"),
        "out\n"
    );
}

#[test]
fn failures_deadlines_and_limits_end_an_image() {
    let script = "cat >/dev/null; echo 'oh no' >&2; cat <<'END'
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
results:
- message: value must not be old
  severity: error
END
exit 3";
    let Some(test) = ImageTest::in_namespaces("failing", script) else {
        return;
    };
    for words in [EVAL, RENDER] {
        let ran = test.kiln(words);
        assert_eq!(ran.code, Some(1), "{words}: {}", ran.stderr);
        for wanted in ["[error]", "value must not be old", "oh no", "Exit code: 3"] {
            assert!(ran.stderr.contains(wanted), "{wanted}: {}", ran.stderr);
        }
        assert_eq!(test.resource(), RESOURCE);
    }
    // It ignores signals and leaves processes behind.
    let script = "trap '' INT TERM HUP; sleep 1000 & while :; do echo x; sleep 0.01; done";
    let Some(test) = ImageTest::in_namespaces("lingering", script) else {
        return;
    };
    let ran = test.kiln(&format!("{EVAL} --timeout 500ms"));
    let message = "did not finish within 500ms and was killed";
    assert!(ran.stderr.contains(message), "{}", ran.stderr);
    let ran = test.kiln(&format!("{EVAL} --max-output 64"));
    let message = "wrote more than 64 bytes and was killed";
    assert!(ran.stderr.contains(message), "{}", ran.stderr);
    assert_eq!(test.resource(), RESOURCE);
}

#[test]
fn output_of_half_a_gigabyte_ends_an_image() {
    let Some(test) = ImageTest::in_namespaces("loud", "yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") else {
        return;
    };
    let ran = test.kiln(EVAL);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let message = "wrote more than 536870912 bytes and was killed";
    assert!(ran.stderr.contains(message), "{}", ran.stderr);
}

#[test]
fn a_static_program_runs_without_namespaces() {
    let settings = Settings {
        entrypoint: vec!["/bin/busybox", "sed", "s/value: old/value: new/"],
        ..Settings::default()
    };
    let Some(test) = ImageTest::with("static", "", settings) else {
        return;
    };
    let words = "fn eval pkg --image IMAGE --match-kind ConfigMap --image-runtime=landlock";
    let ran = test.kiln(words);
    if ran.stderr.contains("no Landlock") {
        return skip("static", "the kernel has no Landlock");
    }
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(test.resource(), RESOURCE.replace("old", "new"));
    // A script needs the files of its image.
    let Some(test) = ImageTest::new("script", "cat") else {
        return;
    };
    let ran = test.kiln(words);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("is not a static program"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("kiln doctor"), "{}", ran.stderr);
}

#[test]
fn a_system_without_namespaces_runs_static_programs_and_explains_the_rest() {
    let settings = Settings {
        entrypoint: vec!["/bin/busybox", "sed", "s/value: old/value: new/"],
        ..Settings::default()
    };
    let Some(test) = ImageTest::with("nowhere", "", settings) else {
        return;
    };
    // In a user namespace of the test that allows no further ones.
    let outside = |words: &str| {
        let mut command = test.test_env.command("unshare", &test.test_env.work());
        let script = format!(
            "echo 0 >/proc/sys/user/max_user_namespaces && exec kiln {}",
            words.replace("IMAGE", &test.image)
        );
        run(
            command
                .args(["-r", "sh", "-c", &script])
                .env_remove("KRM_FN_RUNTIME"),
            "",
        )
    };
    let probe = outside("doctor");
    if probe.stdout.is_empty() {
        return skip(
            "nowhere",
            &format!("unshare does not work: {}", probe.stderr),
        );
    }
    assert!(
        probe
            .stdout
            .contains("cannot create namespaces: No space left"),
        "{}",
        probe.stdout
    );
    assert!(
        probe
            .stdout
            .contains("fix: sudo sysctl -w user.max_user_namespaces"),
        "{}",
        probe.stdout
    );
    let ran = outside("fn eval pkg --image IMAGE --match-kind ConfigMap");
    if ran.stderr.contains("no Landlock") {
        return skip("nowhere", "the kernel has no Landlock");
    }
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(test.resource(), RESOURCE.replace("old", "new"));
    let ran = outside("fn eval pkg --image IMAGE --image-runtime=namespaces");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("cannot create namespaces"),
        "{}",
        ran.stderr
    );
}

#[test]
fn an_image_that_is_missing_is_named() {
    let Some(test) = ImageTest::in_namespaces("here", "cat") else {
        return;
    };
    // Nothing listens on that port, so that nothing can be pulled.
    let missing = "localhost:1/kiln/missing:v1";
    for (policy, wanted) in [
        ("Never", "pull policy is Never"),
        ("IfNotPresent", "cannot pull image"),
        ("Always", "cannot pull image"),
    ] {
        let words = format!(
            "fn eval pkg --image {missing} --image-pull-policy {policy} --image-runtime=namespaces"
        );
        let ran = test.kiln(&words);
        assert_eq!(ran.code, Some(1), "{policy}: {}", ran.stderr);
        assert!(ran.stderr.contains(wanted), "{policy}: {}", ran.stderr);
        assert!(ran.stderr.contains(missing), "{policy}: {}", ran.stderr);
    }
    // One that is there is not pulled.
    for policy in ["Never", "IfNotPresent"] {
        let ran = test.kiln(&format!("{EVAL} --image-pull-policy {policy}"));
        assert_eq!(ran.code, Some(0), "{policy}: {}", ran.stderr);
    }
}

#[test]
fn doctor_reports_each_way_to_run_images() {
    let test_env = TestEnvironment::new();
    let mut command = test_env.command("kiln", &test_env.work());
    let ran = run(command.args(["doctor", "-o", "json"]), "");
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let checks = report["checks"].as_array().expect("checks");
    for name in [
        "namespaces",
        "landlock",
        "docker",
        "podman",
        "nerdctl",
        "git",
        "home",
        "cache",
        "image store",
        "files",
    ] {
        let check = checks.iter().find(|check| check["name"] == name);
        let check = check.unwrap_or_else(|| panic!("{name}: {}", ran.stdout));
        assert!(
            check["detail"]
                .as_str()
                .is_some_and(|detail| !detail.is_empty()),
            "{check}"
        );
    }
    // It makes nothing.
    assert!(!test_env.work().join("../home/.cache").exists());
    let has_problem = checks.iter().any(|check| check["status"] == "problem");
    assert_eq!(ran.code, Some(i32::from(has_problem)), "{}", ran.stderr);
}

/// The same image by kiln and by the engine: the same resources, exit code and results.
#[test]
fn an_engine_gives_the_same() {
    let Some(name) = engine::name() else {
        return skip("equality", engine::MISSING);
    };
    let scripts = [
        "sed 's/value: old/value: new/'",
        "cat >/dev/null; echo broken >&2; exit 7",
        "cat; echo 'a warning' >&2",
        "(id -u; id -g; pwd; cat /proc/self/status | sed -n 's/^CapEff:.//p;s/^NoNewPrivs:.//p') >&2; cat",
        "echo not yaml: [",
        "kill -9 $$",
        "cat >/dev/null; printf 'apiVersion: config.kubernetes.io/v1\\nkind: ResourceList\\nitems: []\\nresults:\\n- message: m\\n  severity: warning\\n'",
    ];
    for (number, script) in scripts.into_iter().enumerate() {
        let Some(test) = ImageTest::in_namespaces(&format!("same{number}"), script) else {
            return;
        };
        let archive = test.test_env.work().join("image.tar");
        load_into_engine(&test.test_env, &name, &archive, &test.image);
        let mut outcomes = Vec::new();
        for runtime in ["namespaces", &name] {
            test.test_env.write("pkg/a.yaml", RESOURCE);
            let words = format!(
                "fn eval pkg --image IMAGE --match-kind ConfigMap --results-dir results-{runtime} --image-runtime={runtime}"
            );
            let mut command = test.command(&words);
            pass_engine_variables(&mut command);
            let ran = run(&mut command, "");
            let results = test
                .test_env
                .work()
                .join(format!("results-{runtime}/results.yaml"));
            // The identity names how it ran.
            let results = fs::read_to_string(results).unwrap_or_default();
            let results = results.lines();
            let results = results.filter(|line| !line.trim_start().starts_with("identity: "));
            let results: Vec<String> = results.map(str::to_owned).collect();
            let times =
                |text: &str| without_times(text).replace(&format!("results-{runtime}"), "results");
            outcomes.push((
                ran.code,
                ran.stdout,
                times(&ran.stderr),
                results,
                test.resource(),
            ));
        }
        assert_eq!(outcomes[0], outcomes[1], "{script}");
    }
}

/// Brings the image of an archive into an engine, by a name.
pub(crate) fn load_into_engine(
    test_env: &TestEnvironment,
    engine: &str,
    archive: &Path,
    image: &str,
) {
    let mut load = test_env.command(engine, &test_env.work());
    load.args(["pull", "--quiet"]);
    load.arg(format!("oci-archive:{}", archive.display()));
    pass_engine_variables(&mut load);
    let loaded = run(&mut load, "");
    assert_eq!(loaded.code, Some(0), "{}", loaded.stderr);
    let mut tag = test_env.command(engine, &test_env.work());
    tag.args(["tag", loaded.stdout.trim(), image]);
    pass_engine_variables(&mut tag);
    assert_eq!(run(&mut tag, "").code, Some(0));
}

pub(crate) fn pass_engine_variables(command: &mut Command) {
    for name in engine::VARIABLES {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
}

/// Durations as `in 12.3ms` or `in 0s` differ from run to run.
fn without_times(text: &str) -> String {
    let words = text.split_inclusive([' ', '\n']).map(|word| {
        let is_time = word.starts_with(|letter: char| letter.is_ascii_digit())
            && word.trim_end().ends_with('s');
        if is_time { "TIME\n" } else { word }
    });
    words.collect()
}
