//! The templates that are built in.
//!
//! The pod has as few rights as a function can do with: no user that owns anything, no token, nothing to write to but
//! its own temporary directory. A function that needs more gets it through a template of the cluster's owner.

use serde_json::{Map, Value, json};

use crate::keys::WRAPPER_PORT;
use crate::template::{FUNCTION_CONTAINER, WRAPPER_CONTAINER};

/// The version of what is built in; to be raised when it changes, so that pods are replaced.
pub(crate) const VERSION: &str = "inline-v2";

/// Where the wrapper is put.
const TOOLS: &str = "/wrapper-server-tools";

/// The user "nobody" of nearly every image.
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
                // Many programs want to keep something at home, and the root directory cannot be written to.
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
