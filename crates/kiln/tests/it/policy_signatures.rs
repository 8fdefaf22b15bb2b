//! Policies that require signatures: nothing runs unverified, and what was verified is what runs.
//!
//! A program in the place of a container engine records how it is called.

use std::fs;

use crate::image_signatures::sign::{Signer, classic_files};
use crate::package_images::registry::TestRegistry;
use crate::test_environment::{Outcome, TestEnvironment, run};

const REPOSITORY: &str = "team/function";

/// Runs nothing: the answer is the input.
const ENGINE: &str =
    "#!/bin/sh\necho \"$*\" >>calls\ncase $1 in version) echo 24.0.0;; run) exec cat;; esac\n";

struct PolicyTest {
    env: TestEnvironment,
    registry: TestRegistry,
    signer: Signer,
}

impl PolicyTest {
    fn new() -> PolicyTest {
        let env = TestEnvironment::new();
        let registry = TestRegistry::scripted();
        let signer = Signer::new();
        env.write("team.pub", &signer.public_key());
        env.write("other.pub", &Signer::new().public_key());
        env.write_program("docker", ENGINE);
        let moved = env.shell(&env.work(), "mv docker ../bin/docker", &[]);
        assert_eq!(moved.code, Some(0), "{moved:?}");
        env.write(
            "app/a.yaml",
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n",
        );
        let test = PolicyTest {
            env,
            registry,
            signer,
        };
        test.require("team.pub");
        test
    }

    fn name(&self) -> String {
        format!("{}/{REPOSITORY}", self.registry.host)
    }

    /// Pushes an image with this content, and returns its digest.
    fn push(&self, content: &str) -> String {
        let mut layer = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_cksum();
        layer
            .append_data(&mut header, "file", content.as_bytes())
            .expect("a file");
        let layer = layer.into_inner().expect("an archive");
        self.registry.push(REPOSITORY, "v1", vec![layer])
    }

    fn sign(&self, signer: &Signer, digest: &str) {
        let signature = signer.classic(&self.name(), digest);
        for (path, media_type, body) in classic_files(REPOSITORY, digest, &[signature]) {
            self.registry.say(&path, media_type, &body);
        }
    }

    /// A policy that requires signatures by this key.
    fn require(&self, key: &str) {
        self.require_signature(&format!("key: WORK/{key}"));
    }

    /// A policy that requires a signature. `WORK` stands for the directory of the keys.
    fn require_signature(&self, signature: &str) {
        let policy = format!(
            "version: 1\ndefault: deny\nrules:\n- match: {}/team/\n  require:\n  - signature: {{{signature}}}\n",
            self.registry.host,
        );
        let work = self.env.work().display().to_string();
        self.env
            .write("policy.yaml", &policy.replace("WORK", &work));
    }

    /// Renders a package with the image, by the tag or the digest, and with the engine.
    fn render(&self, version: &str) -> Outcome {
        let kptfile = format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n  - image: {}{version}\n",
            self.name()
        );
        self.env.write("app/Kptfile", &kptfile);
        let mut command = self.env.command("kiln", &self.env.work());
        command.args(["fn", "render", "app", "--policy=policy.yaml"]);
        command.env("KRM_FN_RUNTIME", "docker");
        run(&mut command, "")
    }

    /// The command lines that ran images since the last call.
    fn runs(&self) -> Vec<String> {
        let path = self.env.work().join("calls");
        let calls = fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(&path);
        let runs = calls.lines().filter(|line| line.starts_with("run "));
        runs.map(str::to_owned).collect()
    }

    #[track_caller]
    fn check_refused(&self, version: &str, parts: &[&str]) {
        let outcome = self.render(version);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        for part in parts {
            assert!(
                outcome.stderr.contains(part),
                "{part:?} is not in {outcome:?}"
            );
        }
        assert_eq!(self.runs(), Vec::<String>::new());
    }

    /// Checks that the image with the digest runs, and no other.
    #[track_caller]
    fn check_runs(&self, version: &str, digest: &str) {
        let outcome = self.render(version);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let runs = self.runs();
        let [run] = &runs[..] else {
            panic!("{runs:?}");
        };
        let words: Vec<&str> = run.split(' ').collect();
        let image = format!("{}@{digest}", self.name());
        assert!(words.contains(&image.as_str()), "{run}");
        assert!(!run.contains(":v1"), "{run}");
    }
}

#[test]
fn only_signed_images_run_and_by_the_digest_that_was_verified() {
    let test = PolicyTest::new();
    let digest = test.push("one");
    let rule = format!(
        "rule \"{}/team/\" requires a signature: ",
        test.registry.host
    );
    test.check_refused(
        ":v1",
        &[
            &rule,
            " has no signatures; looked for ",
            "policy.yaml:6",
            "\nhint: sign the image",
        ],
    );
    test.sign(&Signer::new(), &digest);
    test.check_refused(":v1", &[&rule, "it was not made with any of the keys"]);
    test.sign(&test.signer, &digest);
    test.check_runs(":v1", &digest);
    test.require("other.pub");
    test.check_refused(":v1", &[&rule]);
    test.require("team.pub");

    // Another image with the same tag is not what was signed.
    let other = test.push("two");
    assert_ne!(other, digest);
    test.check_refused(":v1", &[&rule]);
    // The verdict of the digest is in the store: its signatures are not read again.
    let path = format!(
        "/v2/{REPOSITORY}/manifests/{}.sig",
        digest.replace(':', "-")
    );
    test.registry.say(&path, "text/plain", "no manifest");
    test.check_runs(&format!("@{digest}"), &digest);
}

#[test]
fn a_mirrored_image_and_a_replaced_key() {
    let test = PolicyTest::new();
    let digest = test.push("one");
    let signature = test.signer.classic("example.com/team/function", &digest);
    for (path, media_type, body) in classic_files(REPOSITORY, &digest, &[signature]) {
        test.registry.say(&path, media_type, &body);
    }
    test.check_refused(":v1", &["it is for another repository"]);
    test.require_signature("key: WORK/team.pub, anyRepository: true");
    test.check_runs(":v1", &digest);
    // What was verified then is not a signature for this repository.
    test.require("team.pub");
    test.check_refused(":v1", &["it is for another repository"]);
    test.require_signature("key: WORK/other.pub, anyRepository: true");
    test.check_refused(":v1", &["requires a signature"]);
    test.require_signature("key: [WORK/other.pub, WORK/team.pub], anyRepository: true");
    test.check_runs(":v1", &digest);
    let check = ["policy", "check", "app", "--policy=policy.yaml"];
    let check = test.env.kiln(&check, "");
    let names = "other.pub or ";
    assert!(check.stdout.contains(names), "{check:?}");
}

/// A program that runs before the image could have effects outside of the package.
#[test]
fn nothing_runs_before_a_signature_is_missing() {
    let test = PolicyTest::new();
    test.push("one");
    test.env
        .write_program("mark", "#!/bin/sh\necho it-has-run >&2\ncat\n");
    let kptfile = format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n  - exec: {}\n  - image: {}:v1\n",
        test.env.work().join("mark").display(),
        test.name()
    );
    test.env.write("app/Kptfile", &kptfile);
    let policy = fs::read_to_string(test.env.work().join("policy.yaml")).expect("a policy");
    test.env
        .write("policy.yaml", &format!("{policy}exec: allow\n"));
    let mut command = test.env.command("kiln", &test.env.work());
    let words = "fn render app --policy=policy.yaml --allow-exec --exec-sandbox=off";
    command
        .args(words.split(' '))
        .env("KRM_FN_RUNTIME", "docker");
    let outcome = run(&mut command, "");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(
        outcome.stderr.contains(" has no signatures; looked for "),
        "{outcome:?}"
    );
    assert!(outcome.stderr.contains("app/Kptfile:8"), "{outcome:?}");
    assert!(!outcome.stderr.contains("it-has-run"), "{outcome:?}");
}

#[test]
fn an_image_that_kiln_runs_itself_is_verified_first() {
    let test = PolicyTest::new();
    let digest = test.push("one");
    // Writes the Kptfile.
    test.render(":v1");
    let render = || {
        let mut command = test.env.command("kiln", &test.env.work());
        command.args(["fn", "render", "app", "--policy=policy.yaml"]);
        command.arg("--image-runtime=landlock");
        run(&mut command, "")
    };
    let refused = render();
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let problem = " has no signatures; looked for ";
    assert!(refused.stderr.contains(problem), "{refused:?}");
    test.sign(&test.signer, &digest);
    // The image has no program, which kiln finds out after it has verified and pulled the image.
    let ran = render();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(!ran.stderr.contains("signature"), "{ran:?}");
    assert_eq!(test.runs(), Vec::<String>::new());
}

#[test]
fn check_shows_the_keys() {
    let test = PolicyTest::new();
    test.push("one");
    test.render(":v1");
    let outcome = test
        .env
        .kiln(&["policy", "check", "app", "--policy=policy.yaml"], "");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let key = test.env.work().join("team.pub");
    let reason = format!("an image must be signed: {}", key.display());
    assert!(outcome.stdout.contains(&reason), "{outcome:?}");
}
