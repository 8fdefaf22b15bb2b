//! Two namespaces per test: one for the runner and one for its pods, with the rights that `deploy/` grants.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Once;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::events::{Event, Events, NoEvent};
use super::machine::Machine;

/// Longer than anything takes here, however busy the machine is. No test measures it.
pub(crate) const LONG: Duration = Duration::from_secs(180);

/// The kinds of objects that a runner creates.
pub(crate) const MADE: &str = "pods,services,leases.coordination.k8s.io,secrets";

/// Objects by name.
pub(crate) type Objects = BTreeMap<String, Value>;

/// The namespaces of a test.
pub(crate) struct Space {
    pub(crate) machine: Machine,
    /// The namespace of pods.
    pub(crate) pods: String,
    /// The namespace of the runner.
    pub(crate) own: String,
    pub(crate) directory: TempDir,
}

impl Space {
    pub(crate) fn new(machine: &Machine, name: &str) -> Space {
        let directory = tempfile::tempdir().expect("a directory");
        let unique = directory.path().file_name().expect("a name");
        let unique = unique.to_string_lossy().to_lowercase();
        let unique = unique.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let space = Space {
            machine: machine.clone(),
            pods: format!("{name}-{unique}-fn"),
            own: format!("{name}-{unique}"),
            directory,
        };
        define_kinds(machine);
        machine.apply(&space.in_here(include_str!(
            "../../../../../deploy/kubernetes/namespaces.yaml"
        )));
        machine.apply(&space.in_here(include_str!("../../../../../deploy/kubernetes/rbac.yaml")));
        space
    }

    /// A manifest of `deploy/` with its namespaces replaced by these.
    pub(crate) fn in_here(&self, manifest: &str) -> String {
        manifest
            .replace("porch-fn-system", &self.pods)
            .replace("porch-system", &self.own)
    }

    /// The runner's user name at the API server.
    pub(crate) fn user(&self) -> String {
        format!("system:serviceaccount:{}:porch-fn-runner", self.own)
    }

    /// A kubeconfig of the runner for an API server.
    pub(crate) fn kubeconfig(&self, server: &str) -> PathBuf {
        let account = [
            "-n",
            &self.own,
            "create",
            "token",
            "porch-fn-runner",
            "--duration=3h",
        ];
        let token = self.machine.kubectl(&account);
        let config = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{
                "name": "test",
                "context": {"cluster": "test", "user": "runner", "namespace": self.own},
            }],
            "clusters": [{
                "name": "test",
                "cluster": {"server": server, "certificate-authority": self.machine.authority()},
            }],
            "users": [{"name": "runner", "user": {"token": token.trim()}}],
        });
        let port = server.rsplit(':').next().unwrap_or_default();
        let file = self.directory.path().join(format!("kubeconfig-{port}"));
        std::fs::write(&file, config.to_string()).expect("a file");
        file
    }

    /// Writes a file for the runner to read.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("a directory");
        }
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// Objects of some kinds where pods are, without those that every namespace has.
    #[track_caller]
    pub(crate) fn objects(&self, kinds: &str) -> Objects {
        let items = self.machine.list(&self.pods, kinds);
        items.into_iter().map(|item| (key(&item), item)).collect()
    }

    /// Waits until the objects of a kind in the namespace of pods meet a condition.
    #[track_caller]
    pub(crate) fn until(
        &self,
        kind: &str,
        what: &str,
        pleases: impl Fn(&Objects) -> bool,
    ) -> Objects {
        let last = Instant::now() + LONG;
        let mut events = Events::of(&self.machine, &self.pods, kind);
        let mut objects = self.objects(kind);
        while !pleases(&objects) {
            match events.next(Duration::from_secs(1)) {
                Ok(Event::Is(object)) => drop(objects.insert(key(&object), object)),
                Ok(Event::IsGone(object)) => drop(objects.remove(&key(&object))),
                // Neither the watch nor the list shows a deletion between them.
                Err(NoEvent::Yet) => objects = self.objects(kind),
                Err(NoEvent::Ever) => {
                    events = Events::of(&self.machine, &self.pods, kind);
                    objects = self.objects(kind);
                }
            }
            assert!(Instant::now() < last, "never {what}: {objects:#?}");
        }
        objects
    }

    /// Whether a pod has a sleeping call.
    pub(crate) fn has_sleeping_call(&self, pods: &Objects) -> bool {
        pods.keys().any(|name| {
            let inside = ["-n", &self.pods, "exec", name, "-c", "function", "--"];
            // A list may go while it is read.
            let read = ["sh", "-c", "cat /tmp/list.* 2>/dev/null"];
            let output = self.machine.try_kubectl(&[&inside[..], &read].concat());
            String::from_utf8_lossy(&output.stdout).contains("    sleep: ")
        })
    }

    /// Waits for so many ready pods, none of which is terminating.
    #[track_caller]
    pub(crate) fn until_ready(&self, count: usize) -> Objects {
        self.until("pods", &format!("{count} ready pods"), |pods| {
            pods.len() == count && pods.values().all(is_ready)
        })
    }

    /// Waits until pods, services, leases and secrets are gone.
    #[track_caller]
    pub(crate) fn until_empty(&self) {
        for kind in MADE.split(',') {
            self.until(kind, &format!("without {kind}"), Objects::is_empty);
        }
    }

    /// Deletes an object in the namespace of pods without waiting.
    #[track_caller]
    pub(crate) fn delete(&self, kind: &str, name: &str) {
        let now = ["--wait=false", "--grace-period=0", "--force"];
        let object = ["-n", &self.pods, "delete", kind, name];
        self.machine.kubectl(&[&object[..], &now].concat());
    }
}

#[expect(clippy::print_stderr, reason = "what there was explains a failure")]
impl Drop for Space {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let about = [
                "-n",
                &self.pods,
                "get",
                "pods,services,leases,events",
                "-o",
                "wide",
            ];
            let output = self.machine.try_kubectl(&about);
            eprintln!("{}", String::from_utf8_lossy(&output.stdout));
        }
        // Finalizers of a runner that is gone would keep the namespace.
        let names =
            self.machine
                .try_kubectl(&["-n", &self.pods, "get", "functionconfigs", "-o", "name"]);
        for name in String::from_utf8_lossy(&names.stdout).lines() {
            let patch = ["-n", &self.pods, "patch", name, "--type=merge"];
            let nothing = ["-p", "{\"metadata\":{\"finalizers\":null}}"];
            self.machine.try_kubectl(&[&patch[..], &nothing].concat());
        }
        let namespaces = ["delete", "namespace", &self.pods, &self.own, "--wait=false"];
        self.machine.try_kubectl(&namespaces);
    }
}

/// Whether a pod is ready and stays.
pub(crate) fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let ready = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    ready && pod["metadata"]["deletionTimestamp"].is_null()
}

fn key(object: &Value) -> String {
    let name = object["metadata"]["name"].as_str();
    name.unwrap_or_default().to_owned()
}

fn define_kinds(machine: &Machine) {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        machine.apply(include_str!("../../../../../deploy/kubernetes/crds.yaml"));
        let kinds = ["functionconfigs", "servicetemplates"];
        let kinds = kinds.map(|kind| format!("crd/{kind}.config.porch.kpt.dev"));
        let established = ["wait", "--for=condition=Established", "--timeout=60s"];
        machine.kubectl(&[&established[..], &kinds.each_ref().map(String::as_str)].concat());
    });
}
