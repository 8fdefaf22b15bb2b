//! Generated packages: always the same files, with a given pipeline.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use crate::generate;

const RESOURCES_PER_SUBPACKAGE: usize = 10;
const FILES_PER_DIRECTORY: usize = 100;

/// The content of a package.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// A number of resources, and the maximum per file.
    Flat { resources: usize, per_file: usize },
    /// A number of sub-packages, each with ten resources in one file and its own pipeline.
    Tree { subpackages: usize },
}

impl Shape {
    pub(crate) fn resources(self) -> usize {
        match self {
            Shape::Flat { resources, .. } => resources,
            Shape::Tree { subpackages } => subpackages * RESOURCES_PER_SUBPACKAGE,
        }
    }

    pub(crate) fn layout(self) -> String {
        match self {
            Shape::Flat { per_file: 1, .. } => "one a file".to_owned(),
            Shape::Flat { per_file, .. } => format!("{per_file} a file"),
            Shape::Tree { subpackages } => format!("{subpackages} packages"),
        }
    }

    /// Writes the package into an empty directory. `pipeline` is the list of mutators as text of the Kptfile.
    pub(crate) fn write(self, root: &Path, pipeline: &str) -> io::Result<()> {
        write_kptfile(root, pipeline)?;
        match self {
            Shape::Flat {
                resources,
                per_file,
            } => write_resources(root, 0, resources, per_file),
            Shape::Tree { subpackages } => {
                for number in 0..subpackages {
                    let directory = root.join(format!("package-{number}"));
                    fs::create_dir(&directory)?;
                    write_kptfile(&directory, pipeline)?;
                    let count = RESOURCES_PER_SUBPACKAGE;
                    write_resources(&directory, number * count, count, count)?;
                }
                Ok(())
            }
        }
    }
}

/// Writes a number of resources, one in each file, into an empty directory, with a `kustomization.yaml` that lists the files
/// and ends with `transformers`.
pub(crate) fn write_kustomization(
    root: &Path,
    resources: usize,
    transformers: &str,
) -> io::Result<()> {
    write_resources(root, 0, resources, 1)?;
    let mut text =
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n".to_owned();
    for file in 0..resources {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {}/{}", directory_name(file), file_name(file));
    }
    text.push_str(transformers);
    fs::write(root.join("kustomization.yaml"), text)
}

fn write_kptfile(directory: &Path, pipeline: &str) -> io::Result<()> {
    let name = directory.file_name().unwrap_or_default().display();
    let text = format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n\
         pipeline:\n  mutators:\n{pipeline}"
    );
    fs::write(directory.join("Kptfile"), text)
}

fn write_resources(root: &Path, first: usize, count: usize, per_file: usize) -> io::Result<()> {
    let numbers: Vec<usize> = (first..first + count).collect();
    for (file, numbers) in numbers.chunks(per_file).enumerate() {
        let directory = root.join(directory_name(file));
        fs::create_dir_all(&directory)?;
        let resources: Vec<String> = numbers.iter().copied().map(generate::resource).collect();
        let path = directory.join(file_name(file));
        fs::write(path, resources.join("---\n"))?;
    }
    Ok(())
}

fn directory_name(file: usize) -> String {
    format!("dir-{}", file / FILES_PER_DIRECTORY)
}

fn file_name(file: usize) -> String {
    format!("file-{file}.yaml")
}
