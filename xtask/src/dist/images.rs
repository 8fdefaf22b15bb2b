//! The images of a release: every program, for all platforms of the release in one archive.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use kiln_oci::ImageLayout;

use super::files::PackedFiles;
use super::target::ReleaseTarget;
use crate::images::{ImageProgram, Ingredients, RECIPES, Recipe, function_names, lay_out};

/// The images by name.
pub(super) fn images(
    root: &Path,
    built: &[(ReleaseTarget, PackedFiles)],
    certificates: Option<&[u8]>,
    tag: &str,
) -> Result<Vec<(&'static str, ImageLayout)>> {
    let catalog = std::fs::read_to_string(root.join("docs/catalog.md"))?;
    let functions = function_names(&catalog);
    let mut ingredients = Vec::new();
    for (target, programs) in built {
        ingredients.push(Ingredients {
            platform: target.platform(),
            programs: image_programs(programs)?,
            functions: functions.clone(),
            certificates: certificates.map(<[u8]>::to_vec),
        });
    }
    let released = RECIPES.iter().filter(|recipe| !recipe.is_for_tests());
    let image = |recipe: &Recipe| {
        let (layout, _) = lay_out(recipe, &ingredients, tag)?;
        Ok((recipe.name, layout))
    };
    released.map(image).collect()
}

fn image_programs(programs: &PackedFiles) -> Result<BTreeMap<ImageProgram, Vec<u8>>> {
    let names = [
        (ImageProgram::Kiln, "kiln"),
        (ImageProgram::Runner, "function-runner"),
        (ImageProgram::Wrapper, "wrapper-server"),
    ];
    let mut found = BTreeMap::new();
    for (program, name) in names {
        let file = programs.iter().find(|(path, _)| *path == name);
        let (_, file) = file.with_context(|| format!("the release has no {name}"))?;
        found.insert(program, file.bytes.clone());
    }
    Ok(found)
}
