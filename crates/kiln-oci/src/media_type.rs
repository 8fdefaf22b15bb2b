//! The media types of images, OCI's and Docker's.

/// An image for one platform.
pub const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// A list of images by platform.
pub const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// What runs an image needs to know.
pub const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// A layer as a tar archive.
pub const OCI_LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
/// The same, packed with gzip.
pub const OCI_LAYER_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
/// The same, packed with zstd.
pub const OCI_LAYER_ZSTD: &str = "application/vnd.oci.image.layer.v1.tar+zstd";
/// Docker's [`OCI_MANIFEST`].
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
/// Docker's [`OCI_INDEX`].
pub const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

/// What a registry is asked for when a manifest is wanted, the most wanted first.
pub(crate) fn accepted() -> String {
    [OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST].join(", ")
}

pub(crate) fn is_manifest(media_type: &str) -> bool {
    matches!(media_type, OCI_MANIFEST | DOCKER_MANIFEST)
}

pub(crate) fn is_index(media_type: &str) -> bool {
    matches!(media_type, OCI_INDEX | DOCKER_LIST)
}

/// Whether it is a tar archive of files, packed or not. There are more names for that than those above: of layers that are not
/// to be handed on, and of what is no image but kept as images are.
pub(crate) fn is_layer(media_type: &str) -> bool {
    const ENDS: [&str; 5] = [".tar", ".tar+gzip", ".tar+zstd", ".tar.gzip", ".tar.zstd"];
    ENDS.iter().any(|end| media_type.ends_with(end))
}
