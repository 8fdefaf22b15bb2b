//! `kiln image list`

use anyhow::Result;
use clap::Args;
use jiff::Timestamp;
use kiln_store::{ImageKind, ImageMeta, StoredImageInfo};
use serde_json::{Value, json};

use crate::image_store::{StoreArgs, human_size};
use crate::rpkg::output::OutputArgs;
use crate::rpkg::table::table;
use crate::ui::Ui;

/// List the images in the store
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln image list")]
pub(super) struct ListArgs {
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    store: StoreArgs,
}

const HEADER: [&str; 5] = ["IMAGE", "DIGEST", "PLATFORM", "SIZE", "LAST USED"];

/// How much of a digest a table has.
const SHORT_DIGEST: usize = "sha256:".len() + 12;

pub(super) fn cmd_list(ui: &Ui, args: &ListArgs) -> Result<()> {
    let images = args.store.open()?.list()?;
    if let Some(format) = args.output.format() {
        let objects = images.iter().map(object).collect();
        return args.output.print(ui, format, objects, true);
    }
    if images.is_empty() {
        ui.print_message("The store has no images.");
        return Ok(());
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    if args.output.has_headers() {
        rows.push(HEADER.map(str::to_owned).to_vec());
    }
    for image in &images {
        let digest = image.meta.manifest_digest.as_str();
        let references = match image.references.as_slice() {
            [] => vec!["<none>".to_owned()],
            references => references.to_vec(),
        };
        for reference in references {
            rows.push(vec![
                reference,
                digest.get(..SHORT_DIGEST).unwrap_or(digest).to_owned(),
                image.meta.platform.to_string(),
                human_size(size(&image.meta)),
                last_used(image),
            ]);
        }
    }
    ui.write_data(table(&rows).as_bytes())
}

/// Of the files; of the layers of an artifact, which are not unpacked.
fn size(meta: &ImageMeta) -> u64 {
    match meta.kind {
        ImageKind::Image => meta.sizes.unpacked,
        ImageKind::Artifact => meta.sizes.packed,
    }
}

/// The time of the last use, to the second.
fn last_used(image: &StoredImageInfo) -> String {
    let time = Timestamp::try_from(image.last_used);
    time.map_or_else(|_| "unknown".to_owned(), |time| format!("{time:.0}"))
}

fn object(image: &StoredImageInfo) -> Value {
    json!({
        "metadata": {"name": image.meta.manifest_digest},
        "references": image.references,
        "indexDigests": image.index_digests,
        "lastUsed": last_used(image),
        "image": image.meta,
    })
}
