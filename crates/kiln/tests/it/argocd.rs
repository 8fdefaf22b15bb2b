//! `kiln argocd` under the plugin server of Argo CD, with the plugin that `deploy/argocd` installs.
//!
//! The variable `KILN_TEST_ARGOCD` names the server, and `tests/argocd/up` builds it; without it these tests are skipped.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Stdio};

use serde_json::{Value, json};

use crate::faults::skip;
use crate::test_environment::{Outcome, TestEnvironment, run};

const PLUGIN: &str = include_str!("../../../../deploy/argocd/plugin.yaml");

const KPTFILE: &str = "apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
pipeline:
  mutators:
    - image: gcr.io/kpt-fn/apply-setters:v0.2.0
      configMap:
        tag: v1
";

const POD: &str = "apiVersion: v1
kind: Pod
metadata:
  name: app
  annotations:
    config.kubernetes.io/path: pod.yaml
spec:
  containers:
    - name: app
      image: app:v1 # kpt-set: app:${tag}
";

/// A running server, with a repository that has a package in `apps/app`.
struct PluginServer {
    test_env: TestEnvironment,
    program: PathBuf,
    server: Child,
    /// Kept open, so that the server can log.
    _log: BufReader<ChildStderr>,
}

impl PluginServer {
    fn start(test: &str, variables: &[(&str, &str)]) -> Option<PluginServer> {
        let named = std::env::var_os("KILN_TEST_ARGOCD").filter(|named| !named.is_empty());
        let Some(program) = named.map(PathBuf::from) else {
            skip(test, "KILN_TEST_ARGOCD is not set, see tests/argocd/up");
            return None;
        };
        let test_env = TestEnvironment::new();
        test_env.write("repository/apps/app/Kptfile", KPTFILE);
        test_env.write("repository/apps/app/pod.yaml", POD);
        test_env.write("repository/apps/other/pod.yaml", POD);
        test_env.write("config/plugin.yaml", PLUGIN);
        fs::create_dir(test_env.work().join("plugins")).expect("a directory");
        let mut command = test_env.command(&program.display().to_string(), &test_env.work());
        let mut server = command
            .args(["--config-dir-path", "config"])
            .env("ARGOCD_PLUGINSOCKFILEPATH", "plugins")
            .env("ARGOCD_CMP_WORKDIR", test_env.work())
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut log = BufReader::new(server.stderr.take().expect("a pipe"));
        // The server writes one line when it listens.
        let mut line = String::new();
        while !line.contains("serving on") {
            line.clear();
            let read = log.read_line(&mut line).expect("a line");
            assert_ne!(read, 0, "the server has ended");
        }
        Some(PluginServer {
            test_env,
            program,
            server,
            _log: log,
        })
    }

    fn call(&self, verb: &str, application: &str, timeout: &str, variables: &[&str]) -> Outcome {
        let socket = self.test_env.work().join("plugins/kiln-v1.sock");
        let program = self.program.display().to_string();
        let mut command = self.test_env.command(&program, &self.test_env.work());
        command
            .arg("call")
            .arg(socket)
            .args([verb, "repository", application, timeout])
            .args(variables);
        run(&mut command, "")
    }

    fn answer(&self, verb: &str, application: &str, variables: &[&str]) -> Value {
        let ran = self.call(verb, application, "60s", variables);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        serde_json::from_str(&ran.stdout).expect("JSON")
    }
}

impl Drop for PluginServer {
    fn drop(&mut self) {
        // The test is over, whatever becomes of the server.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn pod(image: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "app"},
        "spec": {"containers": [{"name": "app", "image": image}]},
    })
}

fn manifests(answer: &Value) -> Vec<Value> {
    let manifests = answer["manifests"].as_array().expect("a list");
    let texts = manifests
        .iter()
        .map(|manifest| manifest.as_str().expect("text"));
    texts
        .map(|text| serde_json::from_str(text).expect("JSON"))
        .collect()
}

#[test]
fn the_plugin_server_of_argo_cd_renders_packages() {
    let Some(server) = PluginServer::start("argocd", &[]) else {
        return;
    };
    let app = "repository/apps/app";
    let matched = |application| server.answer("match", application, &[])["isSupported"].clone();
    assert_eq!(matched(app), json!(true));
    assert_ne!(matched("repository/apps/other"), json!(true));

    let parameters = server.answer("parameters", app, &[]);
    let tag = json!({"name": "tag", "title": "tag", "collectionType": "string", "string": "v1"});
    assert_eq!(parameters["parameterAnnouncements"], json!([tag]));

    let generated = server.answer("generate", app, &[]);
    assert_eq!(manifests(&generated), [pod("app:v1")]);
    let variable = r#"ARGOCD_APP_PARAMETERS=[{"name":"tag","string":"v2"}]"#;
    let generated = server.answer("generate", app, &[variable]);
    assert_eq!(manifests(&generated), [pod("app:v2")]);

    let unknown = r#"ARGOCD_APP_PARAMETERS=[{"name":"tga","string":"v2"}]"#;
    let failed = server.call("generate", app, "60s", &[unknown]);
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), ""));
    assert!(
        failed.stderr.contains("did you mean tag?"),
        "{}",
        failed.stderr
    );
}

#[test]
fn argo_cd_gets_the_reason_before_its_deadline() {
    let variables = [("ARGOCD_EXEC_TIMEOUT", "2s")];
    let Some(server) = PluginServer::start("argocd deadline", &variables) else {
        return;
    };
    let script = "for a in range(1000000):\n    for b in range(1000000):\n      pass\n";
    let script = format!("def run():\n  {script}run()").replace('\n', "\n  ");
    let app = "repository/apps/app";
    server.test_env.write(
        &format!("{app}/script.yaml"),
        &format!(
            "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: script\nsource: |\n  {script}\n"
        ),
    );
    let pipeline = "    - image: gcr.io/kpt-fn/starlark:v0.4.3\n      configPath: script.yaml\n";
    server
        .test_env
        .write(&format!("{app}/Kptfile"), &format!("{KPTFILE}{pipeline}"));
    let failed = server.call("generate", app, "60s", &[]);
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), ""));
    assert!(
        failed
            .stderr
            .contains("controller.repo.server.timeout.seconds"),
        "{}",
        failed.stderr
    );
}
