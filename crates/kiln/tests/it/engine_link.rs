//! kiln called as a container engine.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use crate::test_environment::{Outcome, TestEnvironment, run};

/// What kustomize sends, without the image.
const KUSTOMIZE: &str = "run --rm -i -a STDIN -a STDOUT -a STDERR --network none --user nobody \
    --security-opt=no-new-privileges -e LOG_TO_STDERR=true -e STRUCTURED_RESULTS=true";
const SET_LABELS: &str = "gcr.io/kpt-fn/set-labels:v0.2.0";
const STARLARK: &str = "gcr.io/kpt-fn/starlark:v0.4.3";

const LABELS: &str = "apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: labels
  data:
    env: prod
";

fn script(source: &str) -> String {
    let source = source.replace('\n', "\n    ");
    format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig:\n  \
         apiVersion: fn.kpt.dev/v1alpha1\n  kind: StarlarkRun\n  metadata:\n    name: script\n  source: |\n    {source}\n"
    )
}

/// A directory with links named as engines, and a PATH that has nothing else.
struct Links {
    test_env: TestEnvironment,
}

impl Links {
    fn new() -> Links {
        let test_env = TestEnvironment::new();
        let installed = test_env.kiln(
            &["function", "install", "--docker", "--podman", "links"],
            "",
        );
        assert_eq!(installed.code, Some(0), "{}", installed.stderr);
        assert_eq!(
            installed.stderr,
            "docker, podman installed in links; put it first on the PATH of the tool that runs functions\n"
        );
        Links { test_env }
    }

    fn directory(&self) -> PathBuf {
        self.test_env.work().join("links")
    }

    fn command(&self, words: &str) -> Command {
        let program = self.directory().join("docker").display().to_string();
        let mut command = self.test_env.command(&program, &self.test_env.work());
        command
            .args(words.split_whitespace())
            .env("PATH", self.directory());
        command
    }

    fn docker(&self, words: &str, input: &str) -> Outcome {
        run(&mut self.command(words), input)
    }

    /// A program that prints its words and its input, as the next docker on the PATH.
    fn with_real_engine(&self, command: &mut Command) {
        let engine = "#!/bin/sh\necho \"real: $*\"\n/bin/cat\nexit 7\n";
        self.test_env.write_program("real/docker", engine);
        let real = self.test_env.work().join("real");
        let path = std::env::join_paths([self.directory(), real]);
        command.env("PATH", path.expect("a path"));
    }
}

#[test]
fn a_built_in_function_runs_by_the_words_of_kustomize() {
    let links = Links::new();
    let ran = links.docker(&format!("{KUSTOMIZE} {SET_LABELS}"), LABELS);
    let own = links
        .test_env
        .kiln(&["function", "run", "set-labels:v0.2.0"], LABELS);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("env: prod"), "{}", ran.stdout);
    assert_eq!(ran.stdout, own.stdout);
    // A real engine is not asked.
    let mut command = links.command(&format!("{KUSTOMIZE} {SET_LABELS}"));
    links.with_real_engine(&mut command);
    assert_eq!(run(&mut command, LABELS).stdout, own.stdout);
}

#[test]
fn a_failed_function_has_its_exit_code_and_its_output() {
    let links = Links::new();
    let ran = links.docker(
        &format!("{KUSTOMIZE} {STARLARK}"),
        &script("fail('no good')"),
    );
    let own = links.test_env.kiln(
        &["function", "run", "starlark:v0.4.3"],
        &script("fail('no good')"),
    );
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("function failure"), "{}", ran.stderr);
    assert!(ran.stdout.contains("no good"), "{}", ran.stdout);
    assert_eq!(ran.stdout, own.stdout);
}

#[test]
fn variables_and_mounted_files_reach_a_function() {
    let links = Links::new();
    let source =
        "print(ctx.environment['MODE'], ctx.environment['TOKEN'], ctx.environment.get('NONE'))";
    let words = format!("{KUSTOMIZE} -e MODE=fast -e TOKEN -e NONE {STARLARK}");
    let mut command = links.command(&words);
    let ran = run(command.env("TOKEN", "secret"), &script(source));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("fast secret None"), "{}", ran.stderr);
}

#[test]
fn what_kiln_does_not_know_is_passed_on_or_refused() {
    let links = Links::new();
    for (words, word) in [
        ("build .", "build"),
        ("run --rm -ti alpine", "-ti"),
        ("run --rm -i --privileged alpine", "--privileged"),
        ("run --rm -i alpine sh", "sh"),
        ("images", "images"),
    ] {
        let refused = links.docker(words, LABELS);
        let expected = format!(
            "docker: Error response from daemon: this docker is a link to kiln, which runs the functions of kustomize \
             and kpt and does not know {word:?}\nhint: install docker, or set KILN_REAL_DOCKER to its path; kiln passes \
             on what it does not know\n"
        );
        assert_eq!((refused.code, refused.stdout), (Some(125), String::new()));
        assert_eq!(refused.stderr, expected, "{words}");

        let mut command = links.command(words);
        links.with_real_engine(&mut command);
        let passed = run(&mut command, "input");
        let expected = format!("real: {words}\ninput");
        assert_eq!((passed.code, passed.stdout), (Some(7), expected), "{words}");
    }
    // A line that a user may have typed, and commands that manage images.
    for words in ["run --rm -i alpine", "pull alpine", "ps", "info", "version"] {
        let mut command = links.command(words);
        links.with_real_engine(&mut command);
        let passed = run(&mut command, "");
        assert_eq!(passed.stdout, format!("real: {words}\n"), "{words}");
    }
}

#[test]
fn the_variable_names_the_real_engine_and_kiln_never_calls_itself() {
    let links = Links::new();
    let mut command = links.command("build .");
    links.with_real_engine(&mut command);
    let engine = links.test_env.work().join("real/docker");
    command
        .env("PATH", links.directory())
        .env("KILN_REAL_DOCKER", engine);
    assert_eq!(run(&mut command, "").stdout, "real: build .\n");

    let mut command = links.command("build .");
    command.env("KILN_REAL_DOCKER", links.directory().join("podman"));
    assert_eq!(run(&mut command, "").code, Some(125));

    // A copy is another file, and would pass everything back.
    let copy = links.test_env.work().join("copy");
    std::fs::create_dir(&copy).expect("a directory");
    std::fs::copy(env!("CARGO_BIN_EXE_kiln"), copy.join("docker")).expect("a copy");
    let path = std::env::join_paths([links.directory(), copy]).expect("a path");
    let mut command = links.command("build .");
    let ended = run(command.env("PATH", path), "");
    assert_eq!(ended.code, Some(125), "{}", ended.stderr);
}

#[test]
fn the_tags_of_the_real_engine_are_listed_too() {
    let links = Links::new();
    let listed = |image: &str, engine: &str| {
        links
            .test_env
            .write_program("real/docker", &format!("#!/bin/sh\n{engine}\n"));
        let words = format!("image ls --filter reference={image} --format {{{{.Tag}}}}");
        let mut command = links.command(&words);
        let path = [links.directory(), links.test_env.work().join("real")];
        command.env("PATH", std::env::join_paths(path).expect("a path"));
        let ran = run(&mut command, "");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        ran.stdout
    };
    let own = "example.com/functions/own";
    let answer = "[ \"$*\" = \"image ls --filter reference=example.com/functions/own --format {{.Tag}}\" ] && printf 'v1\\nv3\\n'";
    assert_eq!(listed(own, answer), "v1\nv3\n");
    let both = listed("gcr.io/kpt-fn/set-labels", "printf 'v0.2.0\\nv7.7.7\\n'");
    assert_eq!(both.matches("v0.2.0\n").count(), 1, "{both}");
    assert!(
        both.contains("v0.1.5\n") && both.contains("v7.7.7\n"),
        "{both}"
    );
    // Without its daemon an engine has no images.
    let failing = "echo v1; echo 'no daemon' >&2; exit 1";
    assert_eq!(listed(own, failing), "");
}

#[test]
fn help_names_kiln_unless_there_is_a_real_engine() {
    let links = Links::new();
    for words in ["", "--help", "help", "run --help"] {
        let mut command = links.command(words);
        let own = run(&mut command, "");
        assert_eq!(own.code, Some(0), "{words}: {}", own.stderr);
        assert!(own.stdout.contains("a link to kiln"), "{}", own.stdout);

        let mut command = links.command(words);
        links.with_real_engine(&mut command);
        let passed = run(&mut command, "");
        assert_eq!(passed.stdout, format!("real: {words}\n"), "{words}");
    }
}

#[test]
fn a_function_with_flags_of_its_own_reads_and_writes_files() {
    let links = Links::new();
    let list = r#"{"kind":"ResourceList","apiVersion":"v1","items":[{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a<b"}}]}"#;
    links.test_env.write("files/in.json", list);
    let work = links.test_env.work();
    let path = |name: &str| work.join(name);
    let run_words = |mount: &str, more: &str| {
        let image = "gcr.io/kpt-fn/gatekeeper:v0.2.2";
        format!(
            "run --rm -v {}:{mount} {image} --input files/in.json {more}",
            path("files").display()
        )
    };
    let ran = links.docker(&run_words("/files", "--output files/out.json --json"), "");
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), ""),
        "{}",
        ran.stderr
    );
    let written = std::fs::read_to_string(path("files/out.json")).expect("a file");
    let expected = r#"{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a\u003cb"}}],"kind":"ResourceList""#;
    assert!(written.starts_with(expected), "{written}");
    assert!(!written.ends_with('\n'));

    symlink("/etc/passwd", path("files/link")).expect("a link");
    for (mount, more, problem) in [
        (
            "/files",
            "--output files/no",
            "tried to parse JSON as YAML. Use --json flag",
        ),
        ("/files:ro", "--output files/no --json", "read-only"),
        (
            "/other",
            "--output files/no --json",
            "no such file in the container",
        ),
        (
            "/files",
            "--output files/../no --json",
            "no such file in the container",
        ),
        (
            "/files",
            "--output files/link --json",
            "leads out of the mounted directory",
        ),
    ] {
        let ran = links.docker(&run_words(mount, more), "");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{more}");
        assert!(ran.stderr.contains(problem), "{}", ran.stderr);
    }
    assert!(!path("files/no").exists());
    // The files of the machine need permission, as for all functions.
    let outside = run_words("/files", "--output files/no --json")
        .replace(&path("files").display().to_string(), "/etc");
    assert_eq!(links.docker(&outside, "").code, Some(125));
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let links = Links::new();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = links.command(&format!("{KUSTOMIZE} {SET_LABELS}"));
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(writer)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, LABELS.as_bytes()).expect("writes");
    drop(stdin);
    let ended = child.wait_with_output().expect("ends");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!((ended.status.code(), &*stderr), (Some(0), ""));
}

#[test]
fn network_and_files_need_permission() {
    let links = Links::new();
    let host = KUSTOMIZE.replace("--network none", "--network host");
    let refused = links.docker(&format!("{host} {SET_LABELS}"), LABELS);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(125), ""));
    assert!(
        refused.stderr.contains("KILN_ALLOW_NETWORK=1"),
        "{}",
        refused.stderr
    );
    let mut command = links.command(&format!("{host} {SET_LABELS}"));
    let allowed = run(command.env("KILN_ALLOW_NETWORK", "1"), LABELS);
    assert_eq!(allowed.code, Some(0), "{}", allowed.stderr);

    let mount = |source: &str| {
        format!("{KUSTOMIZE} --mount type=bind,source={source},target=/x,readonly {SET_LABELS}")
    };
    let refused = links.docker(&mount("/etc"), LABELS);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(125), ""));
    assert!(
        refused.stderr.contains("KILN_ALLOW_MOUNTS"),
        "{}",
        refused.stderr
    );
    let mut command = links.command(&mount("/etc"));
    let allowed = run(command.env("KILN_ALLOW_MOUNTS", "/etc"), LABELS);
    assert_eq!(allowed.code, Some(0), "{}", allowed.stderr);
    let scratch = format!("{KUSTOMIZE} --mount type=tmpfs,source=,target=/x,readonly {SET_LABELS}");
    assert_eq!(links.docker(&scratch, LABELS).code, Some(0));
    let inside = links.test_env.work().display().to_string();
    assert_eq!(links.docker(&mount(&inside), LABELS).code, Some(0));
}

#[test]
fn the_questions_of_kpt_are_answered() {
    let links = Links::new();
    let version = links.docker("version --format {{.Client.Version}}", "");
    assert_eq!(
        (version.code, version.stdout.as_str()),
        (Some(0), "27.0.0\n")
    );
    let mut command = links.command("version --format {{.Client.Version}}");
    let version = run(command.env("KILN_DOCKER_VERSION", "28.1.0"), "");
    assert_eq!(version.stdout, "28.1.0\n");

    let words = "image ls --filter reference=gcr.io/kpt-fn/set-labels --format {{.Tag}}";
    let tags = links.docker(words, "");
    assert!(
        tags.stdout.lines().any(|tag| tag == "v0.2.0"),
        "{}",
        tags.stdout
    );
    let none = links.docker(&words.replace("gcr.io/kpt-fn", "example.com/functions"), "");
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    for (tag, expected) in [("v0.2.0", "v0.2.0\n"), ("v0.2", "v0.2\n"), ("v9", "")] {
        let words = words.replace("set-labels", &format!("set-labels:{tag}"));
        let one = links.docker(&words, "");
        assert_eq!(
            (one.code, one.stdout.as_str()),
            (Some(0), expected),
            "{tag}"
        );
    }

    let help = links.docker(&format!("run --rm -i {SET_LABELS} --help"), "");
    assert!(help.stdout.starts_with("set-labels: "), "{}", help.stdout);
    assert_eq!(
        links
            .docker(&format!("run --rm {SET_LABELS} --help"), "")
            .stdout,
        help.stdout
    );
    // Built-in functions are there already, and need no registry.
    assert_eq!(
        links
            .docker(&format!("image inspect {SET_LABELS}"), "")
            .code,
        Some(0)
    );
    assert_eq!(
        links.docker(&format!("image pull {SET_LABELS}"), "").code,
        Some(0)
    );
    let about = links.docker("--version", "");
    assert!(about.stdout.contains("a link to kiln"), "{}", about.stdout);
    let missing = links.docker("image inspect example.com/functions/x:v1", "");
    assert_eq!((missing.code, missing.stdout.as_str()), (Some(1), "[]\n"));
}

#[test]
fn an_image_that_cannot_run_is_an_error_of_the_engine() {
    let links = Links::new();
    let words = format!("{KUSTOMIZE} --pull never localhost:1/functions/none:v1");
    let ran = links.docker(&words, LABELS);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(125), ""));
    let first = "docker: Error response from daemon: ";
    assert!(ran.stderr.starts_with(first), "{}", ran.stderr);

    // The real engine may have the image; it gets the same words and the input that was read.
    let mut command = links.command(&words);
    links.with_real_engine(&mut command);
    let passed = run(&mut command, "apiVersion: v1\n");
    assert_eq!(passed.code, Some(7), "{}", passed.stderr);
    assert_eq!(passed.stdout, format!("real: {words}\napiVersion: v1\n"));
}

#[test]
fn kpt_uses_the_link_and_kiln_does_not() {
    let links = Links::new();
    links.test_env.write(
        "pkg/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n",
    );
    // kiln is on the PATH as docker, and no engine is: it reports that instead of calling itself.
    let kiln = links.test_env.bin().join("kiln").display().to_string();
    let mut command = links.test_env.command(&kiln, &links.test_env.work());
    command
        .args([
            "fn",
            "eval",
            "pkg",
            "--image",
            "localhost:1/none:v1",
            "--image-pull-policy",
            "Never",
        ])
        .env("PATH", links.directory());
    let ran = run(&mut command, "");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("executable file not found in $PATH"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_link_is_not_made_in_the_place_of_another_program() {
    let test_env = TestEnvironment::new();
    test_env.write_program("bin/docker", "#!/bin/sh\n");
    let refused = test_env.kiln(&["function", "install", "--docker", "bin"], "");
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("already exists"),
        "{}",
        refused.stderr
    );
    symlink(
        env!("CARGO_BIN_EXE_kiln"),
        test_env.work().join("bin/podman"),
    )
    .expect("a link");
    let both = test_env.kiln(
        &["function", "install", "--docker", "bin", "set-labels"],
        "",
    );
    assert_eq!(both.code, Some(2), "{}", both.stderr);
}

#[test]
fn a_link_to_the_kiln_of_before_an_upgrade_is_replaced() {
    let test_env = TestEnvironment::new();
    let links = test_env.work().join("links");
    std::fs::create_dir(&links).expect("a directory");
    let program = std::fs::canonicalize(env!("CARGO_BIN_EXE_kiln")).expect("a path");
    let name = program.file_name().expect("a name");
    symlink(
        test_env.work().join("removed").join(name),
        links.join("docker"),
    )
    .expect("a link");
    for _ in 0..2 {
        let installed = test_env.kiln(&["function", "install", "--docker", "links"], "");
        assert_eq!(installed.code, Some(0), "{}", installed.stderr);
        assert!(links.join("docker").is_file());
    }
}
