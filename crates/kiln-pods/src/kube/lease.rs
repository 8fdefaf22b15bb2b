//! The lease that shows other replicas that this one is alive.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::kube::api::{Api, ApiError, ResourceCollection};
use crate::kube::names::{LEASE_LABEL, REPLICA_LABEL};
use crate::options::PodOptions;

pub(crate) struct ReplicaLease {
    api: Api,
    leases: ResourceCollection,
    namespace: String,
    name: String,
    replica: String,
    holder: String,
    period: Duration,
}

impl ReplicaLease {
    pub(crate) fn new(api: Api, options: &PodOptions, replica: &str) -> ReplicaLease {
        ReplicaLease {
            api,
            leases: ResourceCollection::leases(&options.namespace),
            namespace: options.namespace.clone(),
            name: format!("fn-{}", replica.to_ascii_lowercase().replace('_', "-")),
            replica: replica.to_owned(),
            holder: options.replica.clone(),
            period: options.lease_period,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Renews the lease three times per period, forever, and reports each result. What failed is repeated earlier: a busy
    /// API server refuses several requests in a row, and orphans would make it busier.
    pub(crate) async fn run(self, report: impl Fn(Result<(), ApiError>) -> bool) {
        let interval = self.period / 3;
        loop {
            let start = Instant::now();
            let renewed = self.renew().await;
            let wait = match &renewed {
                Ok(()) => interval,
                Err(error) => {
                    let wanted = error.retry_after.unwrap_or_default();
                    wanted.clamp(self.period / 15, interval)
                }
            };
            if !report(renewed) {
                return;
            }
            tokio::time::sleep_until(start + wait).await;
        }
    }

    async fn renew(&self) -> Result<(), ApiError> {
        let spec = json!({
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.period.as_secs().max(1),
            "renewTime": format!("{:.6}", jiff::Timestamp::now()),
        });
        let change = json!({"spec": spec});
        let patched = self
            .api
            .patch::<Value>(&self.leases, &self.name, &change)
            .await;
        match patched {
            Err(error) if error.is_not_found() => {
                let lease = json!({
                    "apiVersion": "coordination.k8s.io/v1",
                    "kind": "Lease",
                    "metadata": {
                        "name": self.name,
                        "namespace": self.namespace,
                        "labels": {REPLICA_LABEL: self.replica, LEASE_LABEL: "true"},
                    },
                    "spec": spec,
                });
                self.api
                    .create::<Value>(&self.leases, &lease)
                    .await
                    .map(drop)
            }
            patched => patched.map(drop),
        }
    }
}
