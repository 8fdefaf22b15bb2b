//! The flags of the pod runtime.

use std::num::NonZeroUsize;
use std::time::Duration;

use kiln_goflag::{FlagSet, GoDuration, Key, Parsed};
use kiln_runtime::go_duration;

use super::{given, lenient, not_negative};
use crate::config::{AddressMode, Pods};
use crate::environment::{Environment, WRAPPER_SERVER_IMAGE};

const CACHE_CONFIG: &str = "/pod-cache-config/pod-cache-config.yaml";

const SCAN_INTERVAL: u32 = 60;

const MAX_WAITLIST: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// Leases that are renewed more often are no use to anybody but the API server's bill.
const SHORTEST_LEASE: Duration = Duration::from_secs(3);

pub(super) struct PodFlags {
    kubeconfig: Key<String>,
    cache_config: Key<String>,
    warm_up: Key<bool>,
    namespace: Key<String>,
    ttl: Key<GoDuration>,
    scan_interval: Key<GoDuration>,
    template: Key<String>,
    max_waitlist_length: Key<i64>,
    max_parallel_pods: Key<i64>,
    private_registries: Key<bool>,
    registry_auth_path: Key<String>,
    registry_auth_name: Key<String>,
    private_registries_tls: Key<bool>,
    tls_secret_path: Key<String>,
    address_mode: Key<String>,
    lease_period: Key<GoDuration>,
}

impl PodFlags {
    pub(super) fn new(set: &mut FlagSet) -> PodFlags {
        PodFlags {
            kubeconfig: set.text(
                "kubeconfig",
                "",
                "The `file` with the address and credentials of the cluster; needed outside of a cluster only",
            ),
            cache_config: set.text(
                "pod-cache-config",
                CACHE_CONFIG,
                "The `file` with settings of pods by image",
            ),
            warm_up: set.add(
                "warm-up-pod-cache",
                true,
                "Start pods before they are needed",
            ),
            namespace: set.text("pod-namespace", "porch-fn-system", "The namespace of pods"),
            ttl: set.add(
                "pod-ttl",
                GoDuration::from_seconds(30 * 60),
                "How long a pod stays without work",
            ),
            scan_interval: set.add(
                "scan-interval",
                GoDuration::from_seconds(SCAN_INTERVAL),
                "How often to look for pods to end",
            ),
            template: set.text(
                "function-pod-template",
                "",
                "The name of the ConfigMap with the template of pods",
            ),
            max_waitlist_length: set.add(
                "max-waitlist-length",
                2,
                "How many calls wait for a pod before another is started",
            ),
            max_parallel_pods: set.add(
                "max-parallel-pods-per-function",
                1,
                "How many pods a function may have",
            ),
            private_registries: set.add(
                "enable-private-registries",
                false,
                "Use credentials for registries",
            ),
            registry_auth_path: set.text(
                "registry-auth-secret-path",
                "/var/tmp/config-secret/.dockerconfigjson",
                "The `file` with credentials for registries",
            ),
            registry_auth_name: set.text(
                "registry-auth-secret-name",
                "auth-secret",
                "The name of the secret with credentials for registries",
            ),
            private_registries_tls: set.add(
                "enable-private-registries-tls",
                false,
                "Trust certificates of one's own for registries",
            ),
            tls_secret_path: set.text(
                "tls-secret-path",
                "/var/tmp/tls-secret/",
                "The `directory` with these certificates",
            ),
            address_mode: set.text(
                "pod-address-mode",
                "dns",
                "How pods are called: dns (the name of their service), clusterip (its address) or podip (their own)",
            ),
            lease_period: set.add(
                "pod-lease-period",
                GoDuration::from_seconds(15),
                "After how long without a sign of life a runner's pods go to others",
            ),
        }
    }

    pub(super) fn config(
        &self,
        parsed: &Parsed,
        environment: &Environment,
        warnings: &mut Vec<String>,
    ) -> Result<Pods, String> {
        // What is not positive means the default, as it does to Porch.
        let at_least_one = |value: i64, otherwise: NonZeroUsize| {
            let value = usize::try_from(value).ok();
            value.and_then(NonZeroUsize::new).unwrap_or(otherwise)
        };
        let lease_period = not_negative("pod-lease-period", parsed.get(self.lease_period))?;
        if lease_period < SHORTEST_LEASE {
            let shortest = go_duration(SHORTEST_LEASE);
            return Err(format!("--pod-lease-period must be at least {shortest}"));
        }
        let default = Duration::from_secs(SCAN_INTERVAL.into());
        let scan_interval =
            lenient::scan_interval(parsed.get(self.scan_interval), default, warnings);
        let address_mode = match parsed.get(self.address_mode).as_str() {
            "dns" => AddressMode::Dns,
            "clusterip" => AddressMode::ClusterIp,
            "podip" => AddressMode::PodIp,
            other => {
                return Err(format!(
                    "--pod-address-mode: {other:?} is not a way to address pods; it is \"dns\", \"clusterip\" or \"podip\""
                ));
            }
        };
        let image = environment.get(WRAPPER_SERVER_IMAGE);
        Ok(Pods {
            kubeconfig: given(parsed.get(self.kubeconfig)),
            cache_config: parsed.get(self.cache_config).into(),
            warm_up: parsed.get(self.warm_up),
            namespace: parsed.get(self.namespace),
            ttl: lenient::pod_ttl(parsed.get(self.ttl), warnings),
            scan_interval,
            template: Some(parsed.get(self.template)).filter(|name| !name.is_empty()),
            max_waitlist_length: at_least_one(parsed.get(self.max_waitlist_length), MAX_WAITLIST),
            max_parallel_pods: at_least_one(parsed.get(self.max_parallel_pods), NonZeroUsize::MIN),
            private_registries: parsed.get(self.private_registries),
            registry_auth_path: parsed.get(self.registry_auth_path).into(),
            registry_auth_name: parsed.get(self.registry_auth_name),
            private_registries_tls: parsed.get(self.private_registries_tls),
            tls_secret_path: parsed.get(self.tls_secret_path).into(),
            address_mode,
            lease_period,
            wrapper_server_image: image.map(|image| image.to_string_lossy().into_owned()),
        })
    }
}
