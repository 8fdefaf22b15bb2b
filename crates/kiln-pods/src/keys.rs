//! The labels and annotations by which pods and services say what they are for.
//!
//! The first four are Porch's. The others are ours: pods of Porch lack them, and are therefore nobody's that we know of.

/// Label of a pod, and selector of its service: the pod's name.
pub const IMAGE_LABEL: &str = "fn.kpt.dev/image";

/// Annotation of a pod: the version of the template it was made of.
pub const TEMPLATE_VERSION: &str = "fn.kpt.dev/template-version";

/// Annotation of a pod: when it may be collected unless it is used, in Unix seconds.
pub const RECLAIM_AFTER: &str = "fn.kpt.dev/reclaim-after";

/// Label of a service: its own name.
pub const SERVICE_NAME_LABEL: &str = "app.kubernetes.io/name";

/// Label of pods and services: the replica they belong to.
pub const REPLICA_LABEL: &str = "fn.kpt.dev/replica";

/// Annotation of a pod: the image as callers ask for it. The container's own image is a digest.
pub const FUNCTION_ANNOTATION: &str = "fn.kpt.dev/function";

/// Annotation of a pod: the digest that the image stood for.
pub const DIGEST_ANNOTATION: &str = "fn.kpt.dev/digest";

/// Annotation of a pod: a fingerprint of everything besides template and image that it was made of.
pub const SETTINGS_VERSION: &str = "fn.kpt.dev/settings-version";

/// Label of leases: they say which replicas live.
pub const LEASE_LABEL: &str = "fn.kpt.dev/lease";

/// Label of a secret: a replica has made it, and may delete it.
pub const MADE_BY_LABEL: &str = "app.kubernetes.io/managed-by";

/// The field manager under which changes are recorded.
pub const FIELD_MANAGER: &str = "krm-function-runner";

/// The port on which wrappers listen.
pub const WRAPPER_PORT: u16 = 9446;
