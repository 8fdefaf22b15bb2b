//! `cargo xtask images`: builds the images, without Docker.
//!
//! [`content`] describes the images as values; this module, [`programs`] and [`push`] build the programs, write archives and
//! push. The same programs give the same digests.

mod content;
mod programs;
mod push;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use kiln_oci::media_type::OCI_INDEX;
use kiln_oci::{Digest, ImageIndex, ImageLayout, Platform, add_image, write_archive};

pub(crate) use content::function_names;
pub use content::{ImageProgram, Ingredients, RECIPES, Recipe};
pub use push::Target;
pub(crate) use push::push;

/// Options of `cargo xtask images`.
#[derive(clap::Args)]
pub struct ImagesArgs {
    /// Cargo profile of the programs
    #[arg(long, default_value = "release")]
    profile: String,
    /// Build only these images
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Directory for the archives [default: target/images]
    #[arg(long, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Tag of the images
    #[arg(long, default_value = "latest")]
    tag: String,
    #[command(flatten)]
    certificates: CertificateArgs,
    #[command(flatten)]
    target: Target,
}

/// The option for the certificates in images.
#[derive(clap::Args)]
pub struct CertificateArgs {
    /// CA certificates that the programs in images trust for registries
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/etc/ssl/certs/ca-certificates.crt"
    )]
    certificates: PathBuf,
}

impl CertificateArgs {
    /// The certificates. Their absence is reported by a task of this name.
    pub(crate) fn read(&self, task: &str) -> Result<Option<Vec<u8>>> {
        match fs::read(&self.certificates) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let path = self.certificates.display();
                let mut err = io::stderr();
                let _ = writeln!(
                    err,
                    "{task}: {path} does not exist: the images will not trust public registries"
                );
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Builds and writes the images, and pushes them on request. Prints one line per image: name, digest, archive.
pub fn run(root: &Path, args: &ImagesArgs) -> Result<()> {
    let target_directory = crate::target_directory(root);
    let recipes = chosen(&args.only)?;
    let mut programs = BTreeMap::new();
    for program in content::needs(&recipes) {
        let path = programs::build(program, root, &target_directory, &args.profile)?;
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        programs.insert(program, bytes);
    }
    let ingredients = Ingredients {
        platform: Platform::this_machine(),
        programs,
        functions: function_names(&fs::read_to_string(root.join("docs/catalog.md"))?),
        certificates: args.certificates.read("images")?,
    };
    let directory = match &args.output {
        Some(directory) => directory.clone(),
        None => target_directory.join("images"),
    };
    fs::create_dir_all(&directory)?;
    let mut made = Vec::new();
    for recipe in recipes {
        let ingredients = std::slice::from_ref(&ingredients);
        let (layout, digest) = lay_out(&recipe, ingredients, &args.tag)?;
        let path = directory.join(format!("{}.tar", recipe.name));
        write(&layout, &path).with_context(|| format!("cannot write {}", path.display()))?;
        writeln!(io::stdout(), "{} {digest} {}", recipe.name, path.display())?;
        made.push((recipe.name, layout));
    }
    push(&args.target, &made, &args.tag)
}

fn chosen(only: &[String]) -> Result<Vec<Recipe>> {
    let is_known = |name: &&String| RECIPES.iter().any(|recipe| recipe.name == name.as_str());
    if let Some(unknown) = only.iter().find(|name| !is_known(name)) {
        let known: Vec<&str> = RECIPES.iter().map(|recipe| recipe.name).collect();
        bail!(
            "there is no image {unknown:?}; there are {}",
            known.join(", ")
        );
    }
    let wanted = |recipe: &&Recipe| only.is_empty() || only.iter().any(|name| name == recipe.name);
    Ok(RECIPES.iter().filter(wanted).copied().collect())
}

/// A layout with one image, or with an index of the images for several platforms, under the names that the importers of Docker
/// and containerd expect.
pub(crate) fn lay_out(
    recipe: &Recipe,
    platforms: &[Ingredients],
    tag: &str,
) -> Result<(ImageLayout, Digest)> {
    let mut layout = ImageLayout::default();
    let mut images = Vec::new();
    for ingredients in platforms {
        images.push(add_image(&mut layout, recipe.make(ingredients)?)?);
    }
    let mut root = match images.as_slice() {
        [image] => image.clone(),
        _ => {
            let index = ImageIndex {
                schema_version: 2,
                media_type: Some(OCI_INDEX.to_owned()),
                manifests: images,
            };
            layout.add_blob(OCI_INDEX, serde_json::to_vec(&index)?.into())
        }
    };
    let digest = root.digest.clone();
    let name = format!("{}:{tag}", recipe.name);
    let containerd = "io.containerd.image.name".to_owned();
    root.annotations.insert(containerd, name.clone());
    layout.add_root(root, &name);
    Ok((layout, digest))
}

/// Writes to a temporary file and renames it, so that no archive is ever incomplete.
fn write(layout: &ImageLayout, path: &Path) -> Result<()> {
    let beside = path.with_extension("tar.part");
    let mut file = BufWriter::new(File::create(&beside)?);
    write_archive(layout, &mut file)?;
    file.flush()?;
    fs::rename(&beside, path)?;
    Ok(())
}

#[cfg(test)]
mod tests;
