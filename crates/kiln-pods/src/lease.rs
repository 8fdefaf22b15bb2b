//! Our own lease: the sign by which other replicas know that we live.

use std::time::Duration;

use serde_json::{Value, json};

use crate::api::{Api, ApiError, Collection};
use crate::keys::{LEASE_LABEL, REPLICA_LABEL};
use crate::options::Options;

/// Our lease, and what is needed to keep it.
pub(crate) struct Lease {
    api: Api,
    leases: Collection,
    namespace: String,
    name: String,
    me: String,
    holder: String,
    period: Duration,
}

impl Lease {
    pub(crate) fn new(api: Api, options: &Options, me: &str) -> Lease {
        Lease {
            api,
            leases: Collection::leases(&options.namespace),
            namespace: options.namespace.clone(),
            name: format!("fn-{}", me.to_ascii_lowercase().replace('_', "-")),
            me: me.to_owned(),
            holder: options.replica.clone(),
            period: options.lease_period,
        }
    }

    /// What it is called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Renews it for ever, three times a period, and says how that went each time.
    pub(crate) async fn keep(self, tell: impl Fn(Result<(), ApiError>) -> bool) {
        let mut every = tokio::time::interval(self.period / 3);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            if !tell(self.renew().await) {
                return;
            }
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
                        "labels": {REPLICA_LABEL: self.me, LEASE_LABEL: "true"},
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
