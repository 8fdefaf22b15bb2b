//! Requests to the cluster itself, not through the runner.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures_util::StreamExt as _;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::core::WatchEvent;
use kube::core::params::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchParams};
use kube::core::request::Request;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Time limit of every wait.
const PATIENCE: Duration = Duration::from_secs(120);

/// A namespace of a cluster.
pub(super) struct Cluster {
    client: kube::Client,
    namespace: String,
}

/// The objects that a runner creates.
#[derive(Clone, Copy)]
pub(super) enum ObjectKind {
    Pod,
    Service,
}

/// A watch of pods.
pub(super) struct Watch {
    seen: UnboundedReceiver<Seen>,
}

/// A state of a pod, and the time it was seen.
pub(super) struct Seen {
    pub(super) at: Instant,
    pub(super) pod: Value,
    pub(super) is_gone: bool,
}

/// A position in an audit log.
pub(super) struct Audit {
    path: PathBuf,
    read: u64,
}

impl Cluster {
    pub(super) async fn connect(kubeconfig: &Path, namespace: &str) -> anyhow::Result<Cluster> {
        let file = Kubeconfig::read_from(kubeconfig)?;
        let mut config =
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        // A watch may be silent for long.
        config.read_timeout = None;
        Ok(Cluster {
            client: kube::Client::try_from(config)?,
            namespace: namespace.to_owned(),
        })
    }

    fn all(&self, kind: ObjectKind) -> Request {
        let kind = match kind {
            ObjectKind::Pod => "pods",
            ObjectKind::Service => "services",
        };
        Request::new(format!("/api/v1/namespaces/{}/{kind}", self.namespace))
    }

    pub(super) async fn list(&self, kind: ObjectKind) -> anyhow::Result<Vec<Value>> {
        let request = self.all(kind).list(&ListParams::default())?;
        let mut list: Value = self.client.request(request).await?;
        match list["items"].take() {
            Value::Array(items) => Ok(items),
            other => bail!("no list: {other}"),
        }
    }

    pub(super) async fn create(&self, kind: ObjectKind, object: &Value) -> anyhow::Result<()> {
        let body = object.to_string().into_bytes();
        let request = self.all(kind).create(&PostParams::default(), body)?;
        let _: Value = self.client.request(request).await?;
        Ok(())
    }

    /// Writes the status of a simulated pod; no kubelet does.
    pub(super) async fn set_status(&self, pod: &str, status: &Value) -> anyhow::Result<()> {
        let change = Patch::Merge(json!({"status": status}));
        let params = PatchParams::default();
        let request = self.all(ObjectKind::Pod);
        let request = request.patch_subresource("status", pod, &params, &change)?;
        let _: Value = self.client.request(request).await?;
        Ok(())
    }

    /// Requests the deletion of an object, with its own grace period.
    pub(super) async fn delete(&self, kind: ObjectKind, name: &str) -> anyhow::Result<()> {
        let request = self.all(kind).delete(name, &DeleteParams::default())?;
        let _: Value = self.client.request(request).await?;
        Ok(())
    }

    /// Deletes all objects, and waits until they are gone.
    pub(super) async fn clear(&self) -> anyhow::Result<()> {
        let mut watch = self.watch_pods().await?;
        for kind in [ObjectKind::Service, ObjectKind::Pod] {
            for object in self.list(kind).await? {
                let name = object["metadata"]["name"].as_str();
                // It may be gone already: services are deleted with their pods.
                let _ = self.delete(kind, name.unwrap_or_default()).await;
            }
        }
        while !self.list(ObjectKind::Pod).await?.is_empty() {
            watch.next().await?;
        }
        Ok(())
    }

    /// Watches pods, starting with the existing ones.
    pub(super) async fn watch_pods(&self) -> anyhow::Result<Watch> {
        let list = self.all(ObjectKind::Pod).list(&ListParams::default())?;
        let list: Value = self.client.request(list).await?;
        let version = list["metadata"]["resourceVersion"].as_str();
        let params = WatchParams {
            timeout: Some(290),
            ..WatchParams::default()
        };
        let request = self.all(ObjectKind::Pod);
        let request = request.watch(&params, version.context("no version")?)?;
        let events = self.client.request_events::<Value>(request).await?;
        let (sender, seen) = unbounded_channel();
        tokio::spawn(async move {
            let mut events = std::pin::pin!(events);
            while let Some(Ok(event)) = events.next().await {
                let at = Instant::now();
                let (pod, is_gone) = match event {
                    WatchEvent::Added(pod) | WatchEvent::Modified(pod) => (pod, false),
                    WatchEvent::Deleted(pod) => (pod, true),
                    WatchEvent::Bookmark(_) | WatchEvent::Error(_) => continue,
                };
                if sender.send(Seen { at, pod, is_gone }).is_err() {
                    break;
                }
            }
        });
        Ok(Watch { seen })
    }

    /// The end of an audit log.
    pub(super) fn audit(&self, path: &Path) -> anyhow::Result<Audit> {
        let read = std::fs::metadata(path).context("no audit log")?.len();
        Ok(Audit {
            path: path.to_owned(),
            read,
        })
    }

    /// The requests of a user to the API server since then, by verb and kind.
    pub(super) fn requests(
        &self,
        since: &Audit,
        user: &str,
    ) -> anyhow::Result<BTreeMap<String, usize>> {
        let mut log = File::open(&since.path)?;
        log.seek(SeekFrom::Start(since.read))?;
        let mut text = String::new();
        log.read_to_string(&mut text)?;
        let mut requests = BTreeMap::new();
        for line in text.lines() {
            let entry: Value = serde_json::from_str(line).context("audit log")?;
            if entry["user"]["username"] == user {
                let verb = entry["verb"].as_str().unwrap_or_default();
                let kind = entry["objectRef"]["resource"].as_str().unwrap_or_default();
                *requests.entry(format!("{verb} {kind}")).or_default() += 1;
            }
        }
        Ok(requests)
    }
}

impl Watch {
    pub(super) async fn next(&mut self) -> anyhow::Result<Seen> {
        let next = tokio::time::timeout(PATIENCE, self.seen.recv()).await;
        let next = next.context("nothing happens to any pod")?;
        next.context("the watch has ended")
    }

    /// Waits until a pod is deleted.
    pub(super) async fn until_gone(&mut self, name: &str) -> anyhow::Result<()> {
        loop {
            let seen = self.next().await?;
            if seen.is_gone && seen.pod["metadata"]["name"] == name {
                return Ok(());
            }
        }
    }
}
