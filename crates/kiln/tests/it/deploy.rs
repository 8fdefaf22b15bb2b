//! The package of `deploy/`: kiln itself sets what differs, and a real API server takes what comes out.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::test_environment::{TestEnvironment, copy, files};

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

/// The package with setters changed and applied.
fn rendered(test_env: &TestEnvironment, setters: &[(&str, &str)]) {
    let package = test_env.work().join("runner");
    copy(&deploy().join("kubernetes"), &package);
    let file = package.join("setters.yaml");
    let mut text = std::fs::read_to_string(&file).unwrap();
    for (old, new) in setters {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    std::fs::write(&file, text).unwrap();
    let done = test_env.kiln(&["fn", "render", "runner"], "");
    assert_eq!(done.code, Some(0), "{done:?}");
}

#[test]
fn the_plain_file_is_the_package() {
    let printed = Command::new(deploy().join("plain")).output().unwrap();
    let plain = std::fs::read_to_string(deploy().join("function-runner.yaml")).unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert_eq!(plain, printed, "deploy/plain >deploy/function-runner.yaml");
}

#[test]
fn setters_change_all_that_they_stand_for() {
    let test_env = TestEnvironment::new();
    rendered(&test_env, &[]);
    let package = test_env.work().join("runner");
    let before = files(&deploy().join("kubernetes"));
    let mut same = files(&package);
    // It has the outcome now.
    same.insert("Kptfile".to_owned(), before["Kptfile"].clone());
    assert_eq!(same, before);

    let test_env = TestEnvironment::new();
    let setters = [
        ("namespace: porch-system", "namespace: here"),
        ("pod-namespace: porch-fn-system", "pod-namespace: there"),
        ("function-runner:latest", "example.com/runner:v1"),
        ("wrapper-server:latest", "example.com/wrapper:v1"),
        ("replicas: \"3\"", "replicas: \"5\""),
        ("pod-ttl: 30m", "pod-ttl: 1h"),
        ("max-parallel-pods: \"2\"", "max-parallel-pods: \"7\""),
        ("max-waitlist-length: \"2\"", "max-waitlist-length: \"9\""),
        ("\"6291456\"", "\"1000000\""),
    ];
    rendered(&test_env, &setters);
    let after = files(&test_env.work().join("runner"));
    for (name, text) in after.iter().filter(|(name, _)| *name != "Kptfile") {
        let of_files = text.lines().filter(|line| !line.trim().starts_with('#'));
        for old in ["porch-system", "porch-fn-system", ":latest", "6291456"] {
            let left = of_files.clone().find(|line| line.contains(old));
            assert_eq!(left, None, "{old} is left in {name}");
        }
    }
    let deployment = &after["deployment.yaml"];
    for new in [
        "replicas: 5 ",
        "--pod-namespace=there ",
        "--pod-ttl=1h ",
        "--max-parallel-pods-per-function=7 ",
        "--max-waitlist-length=9 ",
        "image: example.com/runner:v1 ",
        "value: example.com/wrapper:v1 ",
    ] {
        assert!(deployment.contains(new), "{new} is not in {deployment}");
    }
}

/// The kubeconfig of the test cluster's administrator; `None`, with a message, if there is no such cluster.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn kubeconfig() -> Option<PathBuf> {
    let Some(cluster) = std::env::var_os("KILN_CLUSTER") else {
        eprintln!("SKIPPED: no cluster (eval \"$(tests/cluster/up)\" brings one up)");
        return None;
    };
    if Command::new("kubectl").arg("--help").output().is_err() {
        eprintln!("SKIPPED: there is no kubectl on this machine");
        return None;
    }
    Some(Path::new(&cluster).join("kubeconfig"))
}

#[test]
fn an_api_server_takes_what_is_rendered() {
    let Some(kubeconfig) = kubeconfig() else {
        return;
    };
    let test_env = TestEnvironment::new();
    let unique = std::process::id();
    let (own, pods) = (format!("deploy-{unique}"), format!("deploy-{unique}-fn"));
    rendered(
        &test_env,
        &[
            ("namespace: porch-system", &format!("namespace: {own}")),
            ("porch-fn-system", &pods),
        ],
    );
    let kubectl = |arguments: &[&str]| {
        let package = test_env.work().join("runner");
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(&kubeconfig).args(arguments);
        command.current_dir(package).output().unwrap()
    };
    // Nothing can be looked at in a namespace, or of a kind, that is not there.
    let apply = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--validate=strict",
    ];
    let first = ["-f", "namespaces.yaml", "-f", "crds.yaml"];
    let rest = ["rbac", "config", "deployment", "network"].map(|name| format!("{name}.yaml"));
    let rest = rest.iter().flat_map(|name| ["-f", name.as_str()]);
    let rest: Vec<&str> = apply
        .into_iter()
        .chain(["--dry-run=server"])
        .chain(rest)
        .collect();
    let outcomes = [kubectl(&[&apply[..], &first].concat()), kubectl(&rest)];
    kubectl(&["delete", "namespace", "--wait=false", &own, &pods]);
    for output in outcomes {
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{message}");
        assert!(!message.contains("Warning"), "{message}");
    }
}

/// Pushes the images of the runner and pins them in a package.
fn push_and_pin(registry: &str, package: &Path) {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked", "--package=xtask"])
        .arg("--target-dir")
        .arg(temporary.parent().expect("a target directory"))
        .args(["--", "images", "--profile=dev"])
        .arg("--only=function-runner,wrapper-server")
        .arg(format!("--push={registry}/pinned"))
        .arg("--pin")
        .arg(package)
        .env("CARGO_TARGET_DIR", temporary)
        // The build script of ring looks at it: with another value all that needs ring would be built again.
        .env_remove("CARGO_MANIFEST_DIR")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let output = output.expect("cargo");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
}

#[test]
fn the_commands_of_the_page_install_what_was_pushed() {
    let Some(kubeconfig) = kubeconfig() else {
        return;
    };
    let variable = |name| std::env::var(name).expect("what tests/cluster/up prints");
    let test_env = TestEnvironment::new();
    let package = test_env.work().join("runner");
    copy(&deploy().join("kubernetes"), &package);
    let registry = variable("KILN_CLUSTER_REGISTRY");
    push_and_pin(&registry, &package);
    let unique = std::process::id();
    let (own, pods) = (format!("pinned-{unique}"), format!("pinned-{unique}-fn"));
    let file = package.join("setters.yaml");
    let text = std::fs::read_to_string(&file).expect("setters");
    // Nodes know the registry by another name.
    let text = text
        .replace(&registry, &variable("KILN_CLUSTER_INNER_REGISTRY"))
        .replace("namespace: porch-system", &format!("namespace: {own}"))
        .replace("porch-fn-system", &pods);
    std::fs::write(&file, text).expect("setters");
    let done = test_env.kiln(&["fn", "render", "runner"], "");
    assert_eq!(done.code, Some(0), "{done:?}");

    let page = std::fs::read_to_string(deploy().join("../docs/kubernetes.md")).expect("a page");
    let apply = page
        .lines()
        .find_map(|line| line.strip_prefix("    kubectl apply "));
    let apply: Vec<&str> = apply.expect("the command").split(' ').collect();
    let kubectl = |arguments: &[&str]| {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(&kubeconfig).args(arguments);
        command.current_dir(&package).output().expect("kubectl")
    };
    let rollout = ["rollout", "status", "--timeout=180s"];
    let image = "jsonpath={.spec.template.spec.containers[0].image}";
    let outcomes = [
        kubectl(&[&["apply"], &apply[..]].concat()),
        kubectl(&[&["-n", &own], &rollout[..], &["deployment/function-runner"]].concat()),
        kubectl(&["-n", &own, "get", "deployment/function-runner", "-o", image]),
    ];
    kubectl(&["delete", "namespace", "--wait=false", &own, &pods]);
    for output in &outcomes {
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{message}");
    }
    let image = String::from_utf8_lossy(&outcomes[2].stdout);
    assert!(
        image.contains("/pinned/function-runner:latest@sha256:"),
        "{image}"
    );
}
