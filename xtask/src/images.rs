//! `cargo xtask images`: the images, made without Docker.
//!
//! What is in them is in [`content`], as values; building the programs, writing archives and pushing are here and in
//! [`programs`] and [`push`]. The same programs give the same digests.

mod content;
mod programs;
mod push;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use kiln_oci::{Digest, ImageLayout, Platform, add_image, write_archive};

pub use content::{Ingredients, Program, RECIPES, Recipe};
pub use push::Target;

/// What is to be made.
#[derive(clap::Args)]
pub struct ImagesArgs {
    /// The profile the programs are built with
    #[arg(long, default_value = "release")]
    profile: String,
    /// Only these images; all if none is named
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Where the archives go; `target/images` if not given
    #[arg(long, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// The tag
    #[arg(long, default_value = "latest")]
    tag: String,
    /// The certificate authorities that the function runner trusts, as it talks to registries
    #[arg(long, default_value = "/etc/ssl/certs/ca-certificates.crt")]
    certificates: PathBuf,
    #[command(flatten)]
    target: Target,
}

/// Builds, writes, and pushes if told to. Says what was made, one line an image: name, digest, archive.
pub fn run(root: &Path, args: &ImagesArgs) -> Result<()> {
    let target_directory = std::env::var_os("CARGO_TARGET_DIR");
    let target_directory = target_directory.map_or_else(|| root.join("target"), PathBuf::from);
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
        functions: content::function_names(&fs::read_to_string(root.join("docs/catalog.md"))?),
        certificates: match fs::read(&args.certificates) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let path = args.certificates.display();
                let mut err = io::stderr();
                let _ = writeln!(
                    err,
                    "images: {path} is not there: the runner will trust no public registry"
                );
                None
            }
            Err(error) => return Err(error.into()),
        },
    };
    let directory = match &args.output {
        Some(directory) => directory.clone(),
        None => target_directory.join("images"),
    };
    fs::create_dir_all(&directory)?;
    let mut made = Vec::new();
    for recipe in recipes {
        let (layout, digest) = lay_out(&recipe, &ingredients, &args.tag)?;
        let path = directory.join(format!("{}.tar", recipe.name));
        write(&layout, &path).with_context(|| format!("cannot write {}", path.display()))?;
        writeln!(io::stdout(), "{} {digest} {}", recipe.name, path.display())?;
        made.push((recipe.name, layout));
    }
    push::push(&args.target, &made, &args.tag)
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

/// A layout with one image, named as Docker's and containerd's importers want it.
fn lay_out(recipe: &Recipe, ingredients: &Ingredients, tag: &str) -> Result<(ImageLayout, Digest)> {
    let mut layout = ImageLayout::default();
    let mut root = add_image(&mut layout, recipe.make(ingredients)?)?;
    let digest = root.digest.clone();
    let name = format!("{}:{tag}", recipe.name);
    let containerd = "io.containerd.image.name".to_owned();
    root.annotations.insert(containerd, name.clone());
    layout.add_root(root, &name);
    Ok((layout, digest))
}

/// Beside and renamed in, so that nobody ever sees half of one.
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
