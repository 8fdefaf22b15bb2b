//! The cluster of `tests/cluster/up`, and tools to inspect and to disturb it.
//!
//! Tests share the cluster, each with its own namespaces. A test that stops a part of it has exclusive use.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use serde_json::Value;

/// The cluster that this machine has.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    directory: PathBuf,
    /// The lock for shared or exclusive use. It is a file lock, because tests may run in many processes.
    _turn: Arc<File>,
    pub(crate) registry: String,
    /// The same registry by its name in the cluster.
    pub(crate) inner_registry: String,
    /// The registry that requires a password and a CA.
    pub(crate) private_registry: String,
    /// `NAME:PASSWORD`.
    pub(crate) private_login: String,
}

impl Machine {
    /// Shared use of the cluster; `None`, with a message, if there is no cluster.
    pub(crate) fn get() -> Option<Machine> {
        Machine::find(File::lock_shared)
    }

    /// Exclusive use of the cluster, to stop parts of it.
    pub(crate) fn get_alone() -> Option<Machine> {
        Machine::find(File::lock)
    }

    #[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
    fn find(lock: fn(&File) -> std::io::Result<()>) -> Option<Machine> {
        let Some(directory) = std::env::var_os("KILN_CLUSTER") else {
            eprintln!("SKIPPED: no cluster (eval \"$(tests/cluster/up)\" brings one up)");
            return None;
        };
        let directory = PathBuf::from(directory);
        let turn = File::create(directory.join("tests.lock")).expect("a file");
        lock(&turn).expect("a lock");
        let variable = |name| std::env::var(name).expect("what tests/cluster/up prints");
        Some(Machine {
            directory,
            _turn: Arc::new(turn),
            registry: variable("KILN_CLUSTER_REGISTRY"),
            inner_registry: variable("KILN_CLUSTER_INNER_REGISTRY"),
            private_registry: variable("KILN_CLUSTER_PRIVATE_REGISTRY"),
            private_login: variable("KILN_CLUSTER_PRIVATE_LOGIN"),
        })
    }

    /// The administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.directory.join("kubeconfig")
    }

    /// The CA certificate of the private registry.
    pub(crate) fn registry_authority(&self) -> PathBuf {
        self.directory.join("pki/registry-ca.crt")
    }

    /// The CA certificate of the API server.
    pub(crate) fn authority(&self) -> PathBuf {
        self.directory.join("pki/ca.crt")
    }

    /// The address of the API server.
    pub(crate) fn api_server(&self) -> String {
        let command = [
            "config",
            "view",
            "-o",
            "jsonpath={.clusters[0].cluster.server}",
        ];
        self.kubectl(&command)
    }

    /// Runs kubectl as administrator and returns its output. It has to succeed.
    #[track_caller]
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.try_kubectl(arguments);
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {printed}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn try_kubectl(&self, arguments: &[&str]) -> Output {
        let mut command = self.kubectl_command();
        command.args(arguments).stdin(Stdio::null());
        command.output().expect("kubectl")
    }

    pub(crate) fn kubectl_command(&self) -> Command {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(self.kubeconfig());
        command
    }

    #[track_caller]
    pub(crate) fn apply(&self, yaml: &str) {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("objects.yaml");
        std::fs::write(&file, yaml).expect("a file");
        let file = file.to_str().expect("a path");
        self.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", file]);
    }

    /// The objects of some kinds in a namespace.
    #[track_caller]
    pub(crate) fn list(&self, namespace: &str, kinds: &str) -> Vec<Value> {
        let text = self.kubectl(&["-n", namespace, "get", kinds, "-o", "json"]);
        let mut list: Value = serde_json::from_str(&text).expect("JSON");
        match list["items"].take() {
            Value::Array(items) => items,
            other => panic!("no list: {other}"),
        }
    }

    /// Kills or starts a part of the cluster in exclusive use: `kill` or `start`.
    #[track_caller]
    pub(crate) fn part(&self, verb: &str, name: &str) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cluster/part");
        let mut command = Command::new(Path::new(script));
        command
            .args([verb, name])
            .env("KILN_CLUSTER_DIR", &self.directory);
        let status = command.stdin(Stdio::null()).status();
        assert!(status.expect("a script").success(), "{verb} {name}");
    }

    /// The requests of a user to the API server, without running watches.
    pub(crate) fn requests_of(&self, user: &str) -> Vec<String> {
        let log = std::fs::read_to_string(self.directory.join("log/audit.log")).expect("audit log");
        let asked = log.lines().filter_map(|line| {
            let entry: Value = serde_json::from_str(line).ok()?;
            let is_users = entry["user"]["username"] == user;
            is_users.then(|| format!("{} {}", entry["verb"], entry["requestURI"]))
        });
        asked.collect()
    }
}
