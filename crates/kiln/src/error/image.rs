//! Errors of images: of registries, and of the store.

use std::error::Error;
use std::io;
use std::sync::Arc;

use kiln_oci::RegistryError;
use kiln_signature::{PublicKeyError, Rejection};
use kiln_store::{
    ArchiveError, KeyFileError, OpenStoreError, PullError, SignatureError, StoreError,
    UnpackProblem,
};

use super::ErrorClass;
use crate::environment::KILN_STORE;

/// The class and hint of an error of images; `None` for other errors.
pub(super) fn class_and_hint(
    error: &(dyn Error + 'static),
) -> Option<(ErrorClass, Option<String>)> {
    if let Some(error) = error.downcast_ref::<Arc<PullError>>() {
        return Some(pull(error));
    }
    if let Some(error) = error.downcast_ref::<OpenStoreError>() {
        return Some((ErrorClass::Other, Some(open(error))));
    }
    if let Some(error) = error.downcast_ref::<StoreError>() {
        return Some((ErrorClass::Other, store(error)));
    }
    if let Some(error) = error.downcast_ref::<SignatureError>() {
        return Some(signature(error));
    }
    if let Some(error) = error.downcast_ref::<KeyFileError>() {
        return Some((ErrorClass::Input, key_file(error)));
    }
    match error.downcast_ref::<ArchiveError>()? {
        ArchiveError::Store(error) => Some((ErrorClass::Other, store(error))),
        ArchiveError::Write(_) => None,
        ArchiveError::NotStored(_) | ArchiveError::DamagedBlob(_) => {
            let hint = "remove the image from the store and pull it again";
            Some((ErrorClass::Other, Some(hint.to_owned())))
        }
        ArchiveError::MissingFile(_) => {
            let hint = "write an archive with `kiln image export`, `docker save`, `podman save` or \
                        `skopeo copy … oci-archive:FILE`";
            Some((ErrorClass::Input, Some(hint.to_owned())))
        }
        ArchiveError::NoPlatform { .. } => {
            let hint = "choose one of its platforms with --platform";
            Some((ErrorClass::Input, Some(hint.to_owned())))
        }
        ArchiveError::MissingBlob(_)
        | ArchiveError::MissingPath(_)
        | ArchiveError::Read(_)
        | ArchiveError::Invalid { .. }
        | ArchiveError::Digest(_)
        | ArchiveError::Size { .. }
        | ArchiveError::TooLarge(_)
        | ArchiveError::Unpack { .. } => Some((ErrorClass::Input, None)),
    }
}

pub(crate) fn pull(error: &PullError) -> (ErrorClass, Option<String>) {
    match error {
        PullError::NotInStore(reference) => {
            let hint =
                format!("pull it with `kiln image pull {reference}`, or use another pull policy");
            (ErrorClass::Unavailable, Some(hint))
        }
        PullError::OtherPlatform { wanted, source, .. } => {
            let hint = format!("pull or import the image for {wanted}");
            (pull(source).0, Some(hint))
        }
        PullError::Registry(error) => (ErrorClass::Unavailable, registry(error)),
        PullError::Store(error) => (ErrorClass::Other, store(error)),
        PullError::Unpack { source, .. } => match &source.source {
            UnpackProblem::Io(error) if is_full(error) => (ErrorClass::Other, Some(full())),
            _ => (ErrorClass::Input, Some(rebuild())),
        },
        PullError::RuntimeEnded => (ErrorClass::Unavailable, None),
        PullError::LayerFormat { .. } => (ErrorClass::Input, Some(rebuild())),
    }
}

/// For an image that no retry and no setting makes usable.
fn rebuild() -> String {
    "the image is malformed, or exceeds a limit of kiln: rebuild it, or report it to its publisher"
        .to_owned()
}

fn signature(error: &SignatureError) -> (ErrorClass, Option<String>) {
    match error {
        SignatureError::Pull(error) => pull(error),
        SignatureError::NotFound { image, .. } => {
            let hint = format!("sign it with `cosign sign --key KEY {image}`");
            (ErrorClass::Input, Some(hint))
        }
        SignatureError::Rejected { image, rejected } => {
            let has = |matches: fn(&Rejection) -> bool| {
                rejected.iter().any(|rejected| matches(&rejected.reason))
            };
            let hint = if has(|reason| matches!(reason, Rejection::OtherRepository { .. })) {
                Some(
                    "if the image was copied from that repository, add --any-repository".to_owned(),
                )
            } else if has(|reason| matches!(reason, Rejection::Keyless)) {
                Some(format!(
                    "kiln verifies signatures with keys only: sign the image with `cosign sign --key KEY {image}`"
                ))
            } else {
                None
            };
            (ErrorClass::Input, hint)
        }
        SignatureError::TooMany { .. } => (ErrorClass::Input, None),
    }
}

/// How to get a public key from a file that has something else.
fn key_file(error: &KeyFileError) -> Option<String> {
    let KeyFileError::Key { path, source } = error else {
        return None;
    };
    let path = path.display();
    match source {
        PublicKeyError::PrivateKey => Some(format!(
            "write the public key with `cosign public-key --key {path}` or `openssl pkey -in {path} -pubout`"
        )),
        PublicKeyError::Certificate => Some(format!(
            "write the public key with `openssl x509 -in {path} -noout -pubkey`"
        )),
        PublicKeyError::Pkcs1 => Some(format!(
            "convert it with `openssl rsa -RSAPublicKey_in -in {path} -pubout`"
        )),
        _ => None,
    }
}

fn registry(error: &RegistryError) -> Option<String> {
    match error {
        RegistryError::Denied { registry, .. } => Some(format!(
            "check the name of the image, and the credentials for {registry} in Docker's configuration (docker login {registry})"
        )),
        RegistryError::NotFound { .. } => {
            Some("check the name and the tag of the image".to_owned())
        }
        RegistryError::Unreachable { .. } => Some(
            "check the network and the proxy variables, or bring the image here with `kiln image export` and `kiln image import`"
                .to_owned(),
        ),
        RegistryError::Status { status, .. } if status.is_server_error() => {
            Some("the registry has a problem: try again later".to_owned())
        }
        RegistryError::NoPlatform { .. } => {
            Some("use an image that is built for this platform".to_owned())
        }
        RegistryError::TooLarge { .. }
        | RegistryError::Digest { .. }
        | RegistryError::Size { .. }
        | RegistryError::Manifest { .. }
        | RegistryError::Config { .. } => Some(rebuild()),
        _ => None,
    }
}

pub(crate) fn open(error: &OpenStoreError) -> String {
    match error {
        OpenStoreError::Writable { path, .. } => format!(
            "run `chmod go-w {}`, or set {KILN_STORE} to a directory of your own",
            path.display()
        ),
        OpenStoreError::NoExec { .. } => {
            format!("set {KILN_STORE} to a directory on a file system that allows programs")
        }
        OpenStoreError::Owner { .. }
        | OpenStoreError::Create { .. }
        | OpenStoreError::Open { .. } => {
            format!("set {KILN_STORE} to a directory of your own")
        }
    }
}

pub(crate) fn store(error: &StoreError) -> Option<String> {
    match error {
        StoreError::Io { source, .. } if is_full(source) => Some(full()),
        StoreError::Io { source, .. } if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {
            Some(format!(
                "set {KILN_STORE} to a directory that can be written to"
            ))
        }
        StoreError::NotFound(_) => {
            Some("list the images of the store with `kiln image list`".to_owned())
        }
        StoreError::Damaged { .. } => {
            Some("find and remove what is damaged with `kiln image verify --remove`".to_owned())
        }
        StoreError::InUse(_) => Some("try again when no function uses it".to_owned()),
        StoreError::Io { .. } => None,
    }
}

fn full() -> String {
    format!(
        "free space with `kiln image gc --size SIZE`, or set {KILN_STORE} to a directory on another disk"
    )
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}
