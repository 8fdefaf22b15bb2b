//! Finds a module in the layers of an image. Layers come from a registry and are not trusted.

use std::io::{self, Read};

use bytes::Bytes;
use kiln_oci::{LayerFormatError, LayerReader};

use crate::module::MAX_MODULE;

/// Why the layers of an image do not contain a module.
#[derive(Debug, thiserror::Error)]
pub enum ContentsProblem {
    #[error("it has {0} layers; expected one")]
    LayerCount(usize),
    #[error("its layer has no file")]
    Empty,
    #[error("its layer has more than one file")]
    SeveralFiles,
    #[error("{0:?} in its layer is not a regular file")]
    NotAFile(String),
    #[error("it has no file {0:?}, which is its entrypoint")]
    NoFile(String),
    #[error("its layer is larger than {MAX_MODULE} bytes")]
    TooLarge,
    #[error(transparent)]
    Layer(#[from] LayerFormatError),
    #[error("cannot read its layer")]
    Archive(#[from] io::Error),
}

/// More than headers and padding of an archive take.
const ARCHIVE_OVERHEAD: u64 = 1 << 20;

/// The only file of a layer.
pub(super) fn only_file(media_type: &str, layer: &[u8]) -> Result<Bytes, ContentsProblem> {
    let mut found = None;
    visit(media_type, layer, |path, kind, contents| {
        if kind.is_dir() {
            return Ok(());
        }
        if !kind.is_file() {
            return Err(ContentsProblem::NotAFile(path.to_owned()));
        }
        match found.replace(read(contents)?) {
            None => Ok(()),
            Some(_) => Err(ContentsProblem::SeveralFiles),
        }
    })?;
    found.ok_or(ContentsProblem::Empty)
}

/// The file of a layer at a path; `None` if the layer does not have it and does not hide it.
pub(super) fn file_at(
    path: &str,
    media_type: &str,
    layer: &[u8],
) -> Result<Option<Bytes>, ContentsProblem> {
    let wanted = inner(path);
    let mut found = None;
    let mut is_hidden = false;
    visit(media_type, layer, |path, kind, contents| {
        let path = inner(path);
        if path == wanted {
            if !kind.is_file() {
                return Err(ContentsProblem::NotAFile(path.to_owned()));
            }
            found = Some(read(contents)?);
        }
        is_hidden |= hides(path, wanted);
        Ok(())
    })?;
    match (found, is_hidden) {
        (None, true) => Err(ContentsProblem::NoFile(path.to_owned())),
        (found, _) => Ok(found),
    }
}

/// Whether an entry of a layer hides a file of the layers below.
fn hides(entry: &str, file: &str) -> bool {
    let (directory, name) = entry.rsplit_once('/').unwrap_or(("", entry));
    let below = match directory {
        "" => Some(file),
        directory => file
            .strip_prefix(directory)
            .and_then(|rest| rest.strip_prefix('/')),
    };
    let (Some(below), Some(hidden)) = (below, name.strip_prefix(".wh.")) else {
        return false;
    };
    let first = below.split('/').next().unwrap_or(below);
    hidden == ".wh..opq" || hidden == first
}

fn visit(
    media_type: &str,
    layer: &[u8],
    mut see: impl FnMut(&str, tar::EntryType, &mut dyn Read) -> Result<(), ContentsProblem>,
) -> Result<(), ContentsProblem> {
    let unpacked = LayerReader::new(media_type, layer, None)?;
    let mut unpacked = unpacked.take(MAX_MODULE + ARCHIVE_OVERHEAD);
    let seen = (|| {
        let mut archive = tar::Archive::new(&mut unpacked);
        for entry in archive.entries()? {
            let mut entry = entry?;
            let kind = entry.header().entry_type();
            if kind.is_pax_global_extensions() {
                continue;
            }
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            see(&path, kind, &mut entry)?;
        }
        Ok(())
    })();
    // An archive that was cut at the limit looks damaged.
    match unpacked.limit() {
        0 => Err(ContentsProblem::TooLarge),
        _ => seen,
    }
}

fn read(contents: &mut dyn Read) -> Result<Bytes, ContentsProblem> {
    let mut bytes = Vec::new();
    contents.take(MAX_MODULE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_MODULE {
        return Err(ContentsProblem::TooLarge);
    }
    Ok(bytes.into())
}

/// The path relative to the root of the image.
fn inner(path: &str) -> &str {
    let mut path = path.trim_start_matches('/');
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.trim_start_matches('/');
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_oci::{LayerBuilder, media_type::OCI_LAYER};

    fn layer(files: &[&str]) -> Bytes {
        let mut layer = LayerBuilder::default();
        for path in files {
            layer = layer.file(path, 0o644, path.as_bytes()).unwrap();
        }
        layer.finish().unwrap()
    }

    #[test]
    fn a_layer_has_one_file() {
        let one = only_file(OCI_LAYER, &layer(&["dir/a.wasm"])).unwrap();
        assert_eq!(one, "dir/a.wasm");
        let two = only_file(OCI_LAYER, &layer(&["a", "b"])).unwrap_err();
        assert_eq!(two.to_string(), "its layer has more than one file");
        let none = only_file(OCI_LAYER, &layer(&[])).unwrap_err();
        assert_eq!(none.to_string(), "its layer has no file");
        let link = LayerBuilder::default()
            .link("a", "b")
            .unwrap()
            .finish()
            .unwrap();
        let link = only_file(OCI_LAYER, &link).unwrap_err();
        assert_eq!(
            link.to_string(),
            r#""a" in its layer is not a regular file"#
        );
    }

    #[test]
    fn a_file_is_found_by_its_path_unless_it_is_hidden() {
        let found = |files: &[&str]| file_at("/app/fn.wasm", OCI_LAYER, &layer(files));
        assert_eq!(found(&["app/fn.wasm"]).unwrap().unwrap(), "app/fn.wasm");
        assert_eq!(found(&["./app/fn.wasm"]).unwrap().unwrap(), "./app/fn.wasm");
        assert_eq!(found(&["app/other", "app/.wh.gone"]).unwrap(), None);
        for hides in [
            "app/.wh.fn.wasm",
            ".wh.app",
            "app/.wh..wh..opq",
            ".wh..wh..opq",
        ] {
            assert!(found(&[hides]).is_err(), "{hides}");
        }
        // Its own file is not hidden.
        assert!(
            found(&["app/.wh..wh..opq", "app/fn.wasm"])
                .unwrap()
                .is_some()
        );
    }
}
