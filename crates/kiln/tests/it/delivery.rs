//! Rendered objects for Argo CD, Helm and Flux.

use kiln_oci::{ImageReference, RegistryClient, RegistryOptions};

use crate::test_environment::{Outcome, TestEnvironment, files, run};
use crate::wasm_registry::TestRegistry;

const KPTFILE: &str = "apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
pipeline:
  mutators:
    - image: gcr.io/kpt-fn/apply-setters:v0.2.0
      configPath: setters.yaml
    - image: gcr.io/kpt-fn/set-labels:v0.2.0
      configMap:
        env: prod
";

const SETTERS: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: setters
data:
  replicas: \"3\"
  tag: v1
";

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  annotations:
    config.k8s.io/id: '7'
spec:
  replicas: 3 # kpt-set: ${replicas}
  template:
    spec:
      containers:
        - name: shop
          image: shop:v1 # kpt-set: shop:${tag}
          args: [\"${HOME}\"]
";

const NOTES: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: notes
  annotations:
    config.kubernetes.io/local-config: \"true\"
";

fn package() -> TestEnvironment {
    let test_env = TestEnvironment::new();
    for (name, content) in [
        ("Kptfile", KPTFILE),
        ("setters.yaml", SETTERS),
        ("shop.yaml", DEPLOYMENT),
        ("notes.yaml", NOTES),
    ] {
        test_env.write(&format!("app/{name}"), content);
    }
    test_env
}

/// Runs a command in the package, with variables, as Argo CD does.
fn in_package(test_env: &TestEnvironment, args: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let mut command = test_env.command("kiln", &test_env.work().join("app"));
    command.args(args).envs(variables.iter().copied());
    run(&mut command, "")
}

const GENERATED: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  labels:
    env: prod
spec:
  replicas: 3 # kpt-set: ${replicas}
  template:
    spec:
      containers:
        - name: shop
          image: shop:v1 # kpt-set: shop:${tag}
          args: [\"${HOME}\"]
    metadata:
      labels:
        env: prod
  selector:
    matchLabels:
      env: prod
";

#[test]
fn argo_cd_gets_nothing_but_objects() {
    let test_env = package();
    let before = files(&test_env.work());
    let ran = in_package(&test_env, &["argocd", "generate"], &[]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), GENERATED),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stderr, "");
    // Nothing is written.
    assert_eq!(files(&test_env.work()), before);
}

#[test]
fn parameters_of_an_application_are_setters() {
    let test_env = package();
    let ran = in_package(&test_env, &["argocd", "parameters"], &[]);
    assert_eq!(
        ran.stdout,
        "[{\"collectionType\":\"string\",\"name\":\"replicas\",\"string\":\"3\",\"title\":\"replicas\"},\
         {\"collectionType\":\"string\",\"name\":\"tag\",\"string\":\"v1\",\"title\":\"tag\"}]\n",
        "{}",
        ran.stderr
    );
    let parameters = r#"[{"name":"tag","string":"v2"},{"name":"replicas","string":"5"}]"#;
    let variables = [("ARGOCD_APP_PARAMETERS", parameters)];
    let ran = in_package(&test_env, &["argocd", "generate"], &variables);
    let expected = GENERATED
        .replace("shop:v1", "shop:v2")
        .replace("replicas: 3", "replicas: 5");
    assert_eq!(
        (ran.code, ran.stdout),
        (Some(0), expected),
        "{}",
        ran.stderr
    );

    for (parameters, message) in [
        (r#"[{"name":"tga","string":"v2"}]"#, "did you mean tag?"),
        (r#"[{"name":"tag","array":["v2"]}]"#, "is not a string"),
        ("{", "cannot read ARGOCD_APP_PARAMETERS"),
    ] {
        let variables = [("ARGOCD_APP_PARAMETERS", parameters)];
        let ran = in_package(&test_env, &["argocd", "generate"], &variables);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(1), ""),
            "{parameters}"
        );
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
    }
    let empty = [("ARGOCD_APP_PARAMETERS", "null")];
    assert_eq!(
        in_package(&test_env, &["argocd", "generate"], &empty).stdout,
        GENERATED
    );
}

#[test]
fn parameters_of_an_invalid_package_are_an_error() {
    let test_env = package();
    test_env.write(
        "app/inner/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\npipeline: [\n",
    );
    let ran = in_package(&test_env, &["argocd", "parameters"], &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains("inner/Kptfile"), "{}", ran.stderr);
}

#[test]
fn annotations_of_tools_are_left_out_of_unchanged_objects() {
    let test_env = package();
    test_env.write(
        "app/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n",
    );
    std::fs::remove_file(test_env.work().join("app/setters.yaml")).expect("removes");
    let marked = DEPLOYMENT.replace(
        "    config.k8s.io/id: '7'\n",
        "    config.k8s.io/id: '7'\n    config.kubernetes.io/path: a.yaml\n    config.kubernetes.io/index: '0'\n    \
         internal.config.kubernetes.io/path: a.yaml\n    internal.config.kubernetes.io/seqindent: wide\n",
    );
    test_env.write("app/shop.yaml", &marked);
    let ran = in_package(&test_env, &["argocd", "generate"], &[]);
    let expected = DEPLOYMENT.replace("  annotations:\n    config.k8s.io/id: '7'\n", "");
    assert_eq!(
        (ran.code, ran.stdout),
        (Some(0), expected),
        "{}",
        ran.stderr
    );
}

#[test]
fn argo_cd_runs_no_programs_and_gets_errors_only_on_standard_error() {
    let test_env = package();
    let kptfile = KPTFILE.replace(
        "- image: gcr.io/kpt-fn/set-labels:v0.2.0",
        "- exec: touch ran",
    );
    test_env.write("app/Kptfile", &kptfile);
    let ran = in_package(&test_env, &["argocd", "generate"], &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(!ran.stderr.is_empty());
    assert!(!test_env.work().join("app/ran").exists());
}

#[test]
fn a_render_ends_before_argo_cd_kills_it() {
    let test_env = package();
    let script =
        "def run():\n  for a in range(1000000):\n    for b in range(1000000):\n      pass\nrun()";
    let script = script.replace('\n', "\n  ");
    let config = format!(
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: script\nsource: |\n  {script}\n"
    );
    test_env.write("app/script.yaml", &config);
    let kptfile = KPTFILE.replace(
        "set-labels:v0.2.0\n      configMap:\n        env: prod",
        "starlark:v0.4.3\n      configPath: script.yaml",
    );
    test_env.write("app/Kptfile", &kptfile);
    let variables = [("ARGOCD_EXEC_TIMEOUT", "1s")];
    let ran = in_package(&test_env, &["argocd", "generate"], &variables);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    for name in [
        "ARGOCD_EXEC_TIMEOUT",
        "controller.repo.server.timeout.seconds",
    ] {
        assert!(ran.stderr.contains(name), "{}", ran.stderr);
    }
}

#[test]
fn a_limit_of_argo_cd_may_be_absent_or_invalid() {
    let test_env = package();
    for (limit, stderr) in [
        ("0", ""),
        (
            "90",
            "[WARN] ARGOCD_EXEC_TIMEOUT: \"90\" is not a duration such as 90s, 5m or 1h30m; the limit is 60s\n",
        ),
    ] {
        let variables = [("ARGOCD_EXEC_TIMEOUT", limit)];
        let ran = in_package(&test_env, &["argocd", "generate"], &variables);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), GENERATED));
        assert_eq!(ran.stderr, stderr);
    }
}

#[test]
fn argo_cd_runs_exactly_what_the_lock_file_names() {
    let test_env = package();
    let required = in_package(&test_env, &["argocd", "generate", "--locked"], &[]);
    assert_eq!((required.code, required.stdout.as_str()), (Some(1), ""));
    assert!(required.stderr.contains("kiln.lock"), "{}", required.stderr);
    assert_eq!(in_package(&test_env, &["lock"], &[]).code, Some(0));
    let ran = in_package(&test_env, &["argocd", "generate"], &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), GENERATED));

    // A function that is not locked does not run.
    let kptfile = KPTFILE.replace("set-labels:v0.2.0", "set-labels:v0.1.5");
    test_env.write("app/Kptfile", &kptfile);
    let before = files(&test_env.work());
    let ran = in_package(&test_env, &["argocd", "generate"], &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains("set-labels:v0.1.5"), "{}", ran.stderr);
    assert_eq!(files(&test_env.work()), before);
}

/// The commands of the plugin, as the file that Argo CD reads has them.
#[test]
fn the_plugin_of_argo_cd_runs_these_commands() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../deploy/argocd/plugin.yaml"
    );
    let plugin = std::fs::read_to_string(path).expect("a file");
    let commands: Vec<Vec<String>> = plugin
        .lines()
        .filter_map(|line| line.trim().strip_prefix("command: [")?.strip_suffix(']'))
        .map(|words| words.split(", ").map(str::to_owned).collect())
        .collect();
    assert_eq!(commands.len(), 2);
    let test_env = package();
    for command in commands {
        let args: Vec<&str> = command.iter().skip(1).map(String::as_str).collect();
        let ran = in_package(&test_env, &args, &[]);
        assert_eq!(ran.code, Some(0), "{command:?}: {}", ran.stderr);
    }
}

const CHART: &str = "---
# Source: shop/templates/service.yaml
apiVersion: v1
kind: Service
metadata:
  name: shop
---
# Source: shop/templates/config.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: config
data:
  replicas: \"1\" # kpt-set: ${replicas}
";

#[test]
fn helm_gets_its_manifests_after_a_pipeline() {
    let test_env = package();
    // In the labels of both objects, and in the selector of the service.
    let expected = "env: prod";
    let by_flag = test_env.kiln(&["helm", "post-render", "--pipeline", "app/Kptfile"], CHART);
    assert_eq!(by_flag.code, Some(0), "{}", by_flag.stderr);
    assert_eq!(
        by_flag.stdout.matches(expected).count(),
        3,
        "{}",
        by_flag.stdout
    );
    assert!(
        by_flag.stdout.contains("replicas: \"3\""),
        "{}",
        by_flag.stdout
    );
    assert!(
        by_flag
            .stdout
            .contains("# Source: shop/templates/service.yaml")
    );
    for absent in ["Kptfile", "setters", "notes", "config.kubernetes.io"] {
        assert!(!by_flag.stdout.contains(absent), "{}", by_flag.stdout);
    }

    // By the link, for versions of Helm that pass no arguments.
    let link = test_env.work().join("kiln-post");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kiln"), &link).expect("a link");
    let mut command = test_env.command(&link.display().to_string(), &test_env.work());
    command.env("KILN_POST_PIPELINE", "app/Kptfile");
    assert_eq!(run(&mut command, CHART).stdout, by_flag.stdout);

    let missing = test_env.kiln(&["helm", "post-render"], CHART);
    assert_eq!((missing.code, missing.stdout.as_str()), (Some(1), ""));
    assert!(
        missing.stderr.contains("cannot read Kptfile"),
        "{}",
        missing.stderr
    );
    test_env.write(
        "bad/Kptfile",
        &KPTFILE.replace("setters.yaml", "../app/setters.yaml"),
    );
    let bad = test_env.kiln(&["helm", "post-render", "--pipeline", "bad/Kptfile"], CHART);
    assert_eq!(
        (bad.code, bad.stdout.as_str()),
        (Some(1), ""),
        "{}",
        bad.stderr
    );
}

#[test]
fn helm_gets_the_items_of_lists() {
    let test_env = package();
    let lists = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata:\n    name: one\n\
        - apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: two\n  data:\n    text: \"a # b\" # kept\n---\n\
        apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleList\nitems:\n\
        - apiVersion: rbac.authorization.k8s.io/v1\n  kind: Role\n  metadata:\n    name: three\n";
    let words = ["helm", "post-render", "--pipeline", "app/Kptfile"];
    let ran = test_env.kiln(&words, &format!("{CHART}---\n{lists}"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    // The function sorts what it returns.
    let mut kinds: Vec<&str> = ran
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("kind: "))
        .collect();
    kinds.sort_unstable();
    let expected = ["ConfigMap", "ConfigMap", "Role", "Service", "Service"];
    assert_eq!(kinds, expected);
    assert!(
        ran.stdout.contains("text: \"a # b\" # kept"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("config.k"), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("env: prod").count(), 7, "{}", ran.stdout);
}

#[test]
fn the_digest_of_an_artifact_changes_only_with_its_content() {
    let test_env = package();
    let push = |more: &[&str]| {
        let words = [
            "push",
            "artifact",
            "registry.example.com/shop:v1",
            "--dry-run",
        ];
        let ran = test_env.kiln(&[&words[..], more].concat(), "kind: A\n");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout
    };
    let first = push(&["--path", "app"]);
    assert!(
        first.starts_with("registry.example.com/shop@sha256:"),
        "{first}"
    );
    let touched = test_env.shell(
        &test_env.work(),
        "cp -r app copy && touch -d 2001-01-01 copy/* && mkdir copy/.git",
        &[],
    );
    assert_eq!(touched.code, Some(0));
    assert_eq!(push(&["--path", "copy"]), first);
    assert_eq!(push(&["--path", "app/"]), first);
    test_env.write("copy/shop.yaml", &DEPLOYMENT.replace("v1", "v2"));
    assert_ne!(push(&["--path", "copy"]), first);
    let revision = [
        "--path",
        "app",
        "--revision",
        "main@sha1:0123",
        "--source",
        "https://git.example.com/shop",
    ];
    assert_ne!(push(&revision), first);
    assert_eq!(push(&revision), push(&revision));
    assert_ne!(push(&["--path", "-"]), first);

    // Flux would delete everything.
    test_env.write("blank/a.yaml", "# nothing\n---\n");
    let words = [
        "push",
        "artifact",
        "registry.example.com/shop:v1",
        "--path=blank",
        "--dry-run",
    ];
    let blank = test_env.kiln(&words, "");
    assert_eq!((blank.code, blank.stdout.as_str()), (Some(1), ""));
    assert!(blank.stderr.contains("no manifests"), "{}", blank.stderr);

    // A command that failed in front of the pipe.
    for input in ["", "\n", "---\n# nothing\n"] {
        let words = [
            "push",
            "artifact",
            "registry.example.com/shop:v1",
            "--path=-",
        ];
        let ran = test_env.kiln(&words, input);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{input:?}");
        assert!(ran.stderr.contains("pipefail"), "{}", ran.stderr);
    }
    let words = ["push", "artifact", "oci://registry.example.com/shop:v1"];
    let as_flux = test_env.kiln(&[&words[..], &["--dry-run", "--path", "app"]].concat(), "");
    assert_eq!(as_flux.stdout, first, "{}", as_flux.stderr);

    let empty = test_env.work().join("empty");
    std::fs::create_dir(empty).expect("a directory");
    let words = ["push", "artifact", "registry.example.com/shop:v1", "--path"];
    for path in ["empty", "missing"] {
        let ran = test_env.kiln(&[&words[..], &[path]].concat(), "");
        assert_eq!(ran.code, Some(1), "{path}: {}", ran.stderr);
    }
}

#[test]
fn an_artifact_has_only_what_a_cluster_gets() {
    let test_env = package();
    let words = [
        "push",
        "artifact",
        "registry.example.com/shop:v1",
        "--path=-",
        "--dry-run",
    ];
    let all = test_env
        .kiln(&["fn", "render", "app", "-o", "unwrap"], "")
        .stdout;
    let refused = test_env.kiln(&words, &all);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    assert!(refused.stderr.contains("-o objects"), "{}", refused.stderr);

    let before = files(&test_env.work());
    let objects = test_env.kiln(&["fn", "render", "app", "-o", "objects"], "");
    assert_eq!(
        (objects.code, objects.stdout.as_str()),
        (Some(0), GENERATED)
    );
    assert_eq!(files(&test_env.work()), before);
    let pushed = test_env.kiln(&words, &objects.stdout);
    assert_eq!(pushed.code, Some(0), "{}", pushed.stderr);

    // Flux does not read files that are called Kptfile, and takes what a kustomization selects.
    let push = |path: &str| {
        let words = [
            "push",
            "artifact",
            "registry.example.com/shop:v1",
            "--dry-run",
            "--path",
        ];
        let ran = test_env.kiln(&[&words[..], &[path]].concat(), "");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stderr
    };
    let config = "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetLabels\nmetadata:\n  name: labels\n";
    test_env.write(
        "plain/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n",
    );
    test_env.write("plain/shop.yaml", DEPLOYMENT);
    assert_eq!(push("plain"), "");
    test_env.write(
        "plain/sub/labels.yml",
        &format!("{DEPLOYMENT}---\n{config}"),
    );
    let warned = push("plain");
    assert!(
        warned.contains("sub/labels.yml: SetLabels \"labels\" is for tools"),
        "{warned}"
    );
    assert!(push("plain/sub/labels.yml").contains("is for tools"));
    test_env.write("plain/kustomization.yaml", "resources: [shop.yaml]\n");
    assert_eq!(push("plain"), "");

    // In an evaluation, and for kpt, whose word it is not.
    let eval = [
        "fn",
        "eval",
        "app",
        "-i",
        "set-labels:v0.2.0",
        "-o",
        "objects",
        "--",
        "env=prod",
    ];
    let ran = test_env.kiln(&eval, "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stdout.matches("kind: ").count(), 1, "{}", ran.stdout);
    let as_kpt = ["--compat=kpt", "fn", "render", "app", "-o", "objects"];
    assert_eq!(test_env.kiln(&as_kpt, "").stdout, "");
    assert!(test_env.work().join("objects/Kptfile").exists());
}

#[test]
fn flux_pulls_the_artifact_from_a_registry() {
    let registry = TestRegistry::start();
    let test_env = package();
    let image = format!("{}/shop/manifests:v1", registry.host);
    let words = [
        "push",
        "artifact",
        &image,
        "--path",
        "app",
        "--created",
        "2026-11-18T08:00:00Z",
    ];
    let pushed = test_env.kiln(&words, "");
    assert_eq!(pushed.code, Some(0), "{}", pushed.stderr);
    let again = test_env.kiln(&words, "");
    assert_eq!(again.stdout, pushed.stdout);
    let digest = pushed
        .stdout
        .trim()
        .rsplit_once('@')
        .expect("a digest")
        .1
        .to_owned();
    let reference: ImageReference = image.parse().expect("a reference");
    let client = RegistryClient::new(RegistryOptions::default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let stored = runtime
        .block_on(client.manifest(&reference))
        .expect("a manifest");
    assert_eq!(stored.descriptor.digest.to_string(), digest);
    let manifest = stored.bytes;
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).expect("JSON");
    assert_eq!(
        manifest["mediaType"],
        "application/vnd.oci.image.manifest.v1+json"
    );
    assert_eq!(
        manifest["config"]["mediaType"],
        "application/vnd.cncf.flux.config.v1+json"
    );
    assert_eq!(
        manifest["layers"][0]["mediaType"],
        "application/vnd.cncf.flux.content.v1.tar+gzip"
    );
    assert_eq!(
        manifest["annotations"],
        serde_json::json!({"org.opencontainers.image.created": "2026-11-18T08:00:00Z"})
    );
}
