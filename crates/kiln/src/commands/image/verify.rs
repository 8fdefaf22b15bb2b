//! `kiln image verify`: of the store's files, or of the signatures of an image.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use kiln_oci::{Digest, ImageReference, Platform, PullPolicy};
use kiln_signature::PublicKey;
use kiln_store::{
    Damage, KeyFileError, RepositoryCheck, SignatureRequest, SignatureSource, Store, VerifiedImage,
    read_public_key, verify_signatures,
};

use crate::error::CommandError;
use crate::functions::evaluators::pull_policy;
use crate::image_store::{StoreArgs, async_runtime, human_size, registry_client};
use crate::ui::Ui;

/// Verify the signatures of an image, or compare the store with its digests
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kiln image verify\n  kiln image verify example.com/functions/set-name:v1 --key team.pub"
)]
pub(super) struct VerifyArgs {
    /// Image whose signatures to verify
    #[arg(value_name = "IMAGE", requires = "key", conflicts_with = "remove")]
    image: Option<ImageReference>,
    /// File with a public key in PEM form; one of several keys must have signed the image
    #[arg(long, value_name = "FILE", requires = "image")]
    key: Vec<PathBuf>,
    /// Accept signatures that name another repository, for images that were copied
    #[arg(long, requires = "key")]
    any_repository: bool,
    /// When to ask the registry: Always, IfNotPresent (default) or Never
    #[arg(long, value_name = "POLICY", requires = "key", value_parser = pull_policy)]
    image_pull_policy: Option<PullPolicy>,
    /// Platform of the image: OS/ARCHITECTURE[/VARIANT] [default: this machine's]
    #[arg(long, value_name = "PLATFORM", requires = "key")]
    platform: Option<Platform>,
    /// Remove what is damaged, so that it is pulled again
    #[arg(long)]
    remove: bool,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn cmd_verify(ui: &Ui, args: &VerifyArgs) -> Result<()> {
    match &args.image {
        Some(image) => verify_image(ui, args, image),
        None => verify_store(ui, args),
    }
}

/// Verifies the signatures of an image.
fn verify_image(ui: &Ui, args: &VerifyArgs, reference: &ImageReference) -> Result<()> {
    let keys = args.key.iter().map(|path| read_public_key(path));
    let keys = keys.collect::<Result<Vec<PublicKey>, KeyFileError>>()?;
    let platform = args.platform.clone();
    let platform = platform.unwrap_or_else(Platform::this_machine);
    let store = args.store.open()?;
    let registry = registry_client(reference)?;
    let request = SignatureRequest {
        reference,
        platform: &platform,
        policy: args.image_pull_policy.unwrap_or(PullPolicy::IfNotPresent),
        keys: &keys,
        repository: match args.any_repository {
            true => RepositoryCheck::Any,
            false => RepositoryCheck::Same,
        },
    };
    let verified = verify_signatures(&registry, Some(&store), &request);
    let verified = async_runtime()?.block_on(verified)?;
    ui.write_data(verified_text(reference, &platform, &verified).as_bytes())?;
    Ok(())
}

fn verified_text(
    reference: &ImageReference,
    platform: &Platform,
    verified: &VerifiedImage,
) -> String {
    let VerifiedImage {
        signed_digest,
        manifest_digest,
        key,
        key_type,
        format,
        source,
    } = verified;
    let signed = reference.with_digest(signed_digest.clone());
    let source = match source {
        SignatureSource::Registry => "from the registry",
        SignatureSource::Store => "from the store",
    };
    let mut text = format!("{signed}: {format} signature {source} by {key} ({key_type})\n");
    if manifest_digest != signed_digest {
        text.push_str(&format!("it contains {manifest_digest} for {platform}\n"));
    }
    text
}

/// Compares all files of the store with their digests.
fn verify_store(ui: &Ui, args: &VerifyArgs) -> Result<()> {
    let store = args.store.open()?;
    let report = store.verify()?;
    for damage in &report.damages {
        let line = match damage {
            Damage::Image {
                manifest_digest,
                problem,
            } => format!("image {manifest_digest}: {problem}\n"),
            Damage::Blob { digest } => format!("blob {digest}: other content than its digest\n"),
        };
        ui.write_data(line.as_bytes())?;
    }
    let total = format!(
        "{} image(s), {} blob(s), {} checked\n",
        report.images,
        report.blobs,
        human_size(report.bytes)
    );
    ui.write_data(total.as_bytes())?;
    match (report.damages.len(), args.remove) {
        (0, _) => Ok(()),
        (_, true) => remove(ui, &store, &report.damages),
        (count, false) => Err(CommandError {
            hint: Some(
                "remove what is damaged with --remove; it is pulled again when it is needed"
                    .to_owned(),
            ),
            ..CommandError::new(format!(
                "error: {count} part(s) of the image store are damaged"
            ))
        }
        .into()),
    }
}

/// Removes what is damaged. Images in use stay, which is an error after all others are removed.
fn remove(ui: &Ui, store: &Store, damages: &[Damage]) -> Result<()> {
    let removed = store.remove_damaged(damages)?;
    let images = removed.images.iter();
    let images = images.map(|digest| format!("removed image {digest}\n"));
    let blobs = removed.blobs.iter();
    let blobs = blobs.map(|digest| format!("removed blob {digest}\n"));
    ui.write_data(images.chain(blobs).collect::<String>().as_bytes())?;
    if removed.in_use.is_empty() {
        return Ok(());
    }
    let in_use: Vec<&str> = removed.in_use.iter().map(Digest::as_str).collect();
    Err(CommandError {
        hint: Some("repeat it when no function of these images runs".to_owned()),
        ..CommandError::new(format!(
            "error: damaged images are in use: {}",
            in_use.join(", ")
        ))
    }
    .into())
}
