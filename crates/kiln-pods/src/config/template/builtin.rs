//! The built-in templates.
//!
//! The pod has minimal permissions: an unprivileged user, no token, and a temporary directory as the only writable
//! path. A cluster operator can provide a template for functions that need more.

use serde_json::{Map, Value, json};

use crate::config::template::{FUNCTION_CONTAINER, WRAPPER_CONTAINER};
use crate::kube::names::WRAPPER_PORT;

/// The version of the built-in templates. Raise it with every change, so that pods are replaced.
pub(crate) const VERSION: &str = "inline-v2";

/// The directory that the wrapper server is copied to.
const TOOLS: &str = "/wrapper-server-tools";

/// The user "nobody" in most images.
const NOBODY: u32 = 65534;

pub(crate) fn pod() -> Map<String, Value> {
    let tools_mount = json!({"name": "wrapper-server-tools", "mountPath": TOOLS});
    let rights = json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    });
    object(json!({
        "metadata": {
            "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"},
        },
        "spec": {
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": NOBODY,
                "runAsGroup": NOBODY,
                "fsGroup": NOBODY,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "initContainers": [{
                "name": WRAPPER_CONTAINER,
                "command": ["cp", "-a", "/home/nonroot/wrapper-server/.", TOOLS],
                "securityContext": rights,
                "resources": {
                    "requests": {"cpu": "10m", "memory": "16Mi"},
                    "limits": {"cpu": "1", "memory": "128Mi"},
                },
                "volumeMounts": [tools_mount],
            }],
            "containers": [{
                "name": FUNCTION_CONTAINER,
                "command": [format!("{TOOLS}/wrapper-server")],
                // Many programs need a writable home, and the root file system is read-only.
                "env": [{"name": "HOME", "value": "/tmp"}],
                "securityContext": rights,
                "resources": {
                    "requests": {"cpu": "10m", "memory": "32Mi"},
                    "limits": {"cpu": "2", "memory": "1Gi"},
                },
                "readinessProbe": {
                    "exec": {
                        "command": [
                            format!("{TOOLS}/grpc-health-probe"),
                            "-addr",
                            format!("localhost:{WRAPPER_PORT}"),
                        ],
                    },
                },
                "volumeMounts": [tools_mount, {"name": "tmp", "mountPath": "/tmp"}],
            }],
            "volumes": [
                {"name": "wrapper-server-tools", "emptyDir": {}},
                {"name": "tmp", "emptyDir": {"sizeLimit": "256Mi"}},
            ],
        },
    }))
}

pub(crate) fn service() -> Map<String, Value> {
    object(json!({
        "metadata": {},
        "spec": {
            "type": "ClusterIP",
            "ports": [{
                "port": WRAPPER_PORT,
                "protocol": "TCP",
                "targetPort": WRAPPER_PORT,
            }],
        },
    }))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
