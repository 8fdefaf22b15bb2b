//! Media types of OCI and Docker.

pub const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub const OCI_LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
pub const OCI_LAYER_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
pub const OCI_LAYER_ZSTD: &str = "application/vnd.oci.image.layer.v1.tar+zstd";
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
pub const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
pub const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
/// The payload of one of cosign's classic signatures.
pub const COSIGN_PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// A sigstore bundle, version 0.3.
pub const SIGSTORE_BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// The `Accept` header of manifest requests, preferred type first.
pub(crate) fn accepted_manifests() -> String {
    [OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST].join(", ")
}

/// Whether it describes one image, in the form of OCI or of Docker.
pub fn is_manifest(media_type: &str) -> bool {
    matches!(media_type, OCI_MANIFEST | DOCKER_MANIFEST)
}

/// Whether it lists the manifests of several platforms.
pub fn is_index(media_type: &str) -> bool {
    matches!(media_type, OCI_INDEX | DOCKER_LIST)
}

/// Whether a config describes an image with files, and not an artifact.
pub fn is_image_config(media_type: &str) -> bool {
    [OCI_CONFIG, DOCKER_CONFIG].contains(&media_type)
}

/// Whether a blob is a tar archive, compressed or not. Non-distributable layers and the layers of other artifacts have more
/// media types than those above.
pub fn is_layer(media_type: &str) -> bool {
    const SUFFIXES: [&str; 5] = [".tar", ".tar+gzip", ".tar+zstd", ".tar.gzip", ".tar.zstd"];
    SUFFIXES.iter().any(|suffix| media_type.ends_with(suffix))
}
