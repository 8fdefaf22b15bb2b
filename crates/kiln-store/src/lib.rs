//! A content-addressed store of unpacked images.
//!
//! [`Store::pull`] brings an image into the store, [`Store::find`] finds it there without a network, and a
//! [`StoredImage`] is the guard of one unpacked image: while it exists, no process removes the image.
//!
//! The directory of a store:
//!
//! | path | content |
//! |---|---|
//! | `lock` | locked shared by processes that add images, exclusively while unused blobs are removed |
//! | `blobs/ALGORITHM/HEX` | manifests, configs and packed layers, as the registry has them |
//! | `roots/ALGORITHM-HEX.VERSION/` | one image, by the digest of its manifest: `root/`, `files`, `.use`, `meta.json` |
//! | `refs/HEX.json` | the image that a reference resolved to for a platform |
//! | `signatures/HEX.json` | the blobs that are signatures of an image or index in a repository |
//! | `results/` | answers of functions, see [`ResultCache`] |
//! | `locks/NAME` | locks of images that are being added |
//! | `partial/ALGORITHM-HEX` | blobs that are not complete yet |
//! | `tmp/PID-N/` | work in progress |
//!
//! A root that has `meta.json` is complete: that file is written last, and the directory is renamed into place after that.
//! Registry content is hostile; `unpack` has the rules. Nothing here is written outside of the store's directory.
//!
//! Deliberately absent: how images run, and the environment; programs pass in the directory and a registry client.

#![allow(
    missing_docs,
    reason = "a field or variant whose name is clear has no comment"
)]

mod add;
mod archive;
mod blobs;
mod cancel;
mod collect;
mod decompress;
mod error;
mod find;
mod image;
pub mod in_root;
mod list;
mod lock;
mod meta;
mod program;
mod pull;
mod record;
mod references;
mod remove_tree;
mod results;
mod signatures;
mod store;
mod unpack;
mod verify;
mod work;

pub use archive::{ArchiveError, ImportedImage};
pub use collect::{CollectLimits, Collected};
pub use error::StoreError;
pub use image::StoredImage;
pub use kiln_oci::PullPolicy;
pub use list::{Removed, StoredImageInfo};
pub use meta::{
    ArtifactLayer, ImageKind, ImageMeta, ImageSizes, SkippedEntry, SkippedKind, UNPACK_VERSION,
};
pub use program::{ExecutableFormat, ImageProgram, find_program};
pub use pull::{PullError, PullEvent, PullOrigin, PullProgress, PullRequest, PulledImage};
pub use results::{KeyHasher, OpenResultsError, ResultCache, ResultKey, ResultKind, ResultLimits};
pub use signatures::{
    KeyFileError, RejectedSignature, RepositoryCheck, RequiredSignatures, SignatureError,
    SignatureRequest, SignatureRequirement, SignatureSource, VerifiedImage, pull_signatures,
    read_public_key, verify_required, verify_signatures,
};
pub use store::{Durability, OpenStoreError, Store, StoreOptions};
pub use unpack::{UnpackError, UnpackLimits, UnpackProblem, UnpackStep, Unpacker};
pub use verify::{Damage, RemovedDamages, VerifyReport};
