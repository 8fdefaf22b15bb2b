//! Prints the files of a package one after another: resources formatted, other files as they are.

use std::str::FromStr;

use kiln_functions::{FormatResourceError, format_resource};
use kiln_go::quote;
use kiln_krm::annotations::{INDEX, LEGACY_INDEX, LEGACY_PATH, PATH, SEQINDENT};
use kiln_krm::package::{EntryKind, FileError, FileSource, PACKAGE_FILE};
use kiln_krm::read::{FileOptions, ReadError, TrailingText, read_file};
use kiln_krm::{Dialect, Resource};
use kiln_yaml::{Document, EditError, Encoder, SequenceStyle, Slot, Style};

use super::PkgRules;

/// What is printed, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CatOptions {
    /// Whether fields are put into their canonical order.
    pub format: bool,
    /// Whether resources keep the annotations about their files.
    pub annotate: bool,
    pub strip_comments: bool,
    /// Whether sub-packages are printed as well.
    pub recurse: bool,
    pub styles: Vec<CatStyle>,
    pub rules: PkgRules,
}

/// A style of YAML for whole documents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CatStyle {
    Tagged,
    DoubleQuoted,
    SingleQuoted,
    Literal,
    Folded,
    Flow,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "unknown style {}; must be one of: TaggedStyle, DoubleQuotedStyle, SingleQuotedStyle, LiteralStyle, FoldedStyle, FlowStyle",
    quote(.0)
)]
pub struct UnknownStyle(String);

impl FromStr for CatStyle {
    type Err = UnknownStyle;

    fn from_str(text: &str) -> Result<CatStyle, UnknownStyle> {
        Ok(match text {
            "TaggedStyle" => CatStyle::Tagged,
            "DoubleQuotedStyle" => CatStyle::DoubleQuoted,
            "SingleQuotedStyle" => CatStyle::SingleQuoted,
            "LiteralStyle" => CatStyle::Literal,
            "FoldedStyle" => CatStyle::Folded,
            "FlowStyle" => CatStyle::Flow,
            other => return Err(UnknownStyle(other.to_owned())),
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CatError {
    #[error(transparent)]
    File(#[from] FileError),
    /// A file does not contain resources.
    #[error("{path}: {error}")]
    Read {
        /// Relative to the source.
        path: String,
        /// Relative to the package that contains the file.
        inner_path: String,
        error: Box<ReadError>,
    },
    /// A document is a sequence, which kpt refuses.
    #[error(
        "{path}: wrong node kind: expected MappingNode but got SequenceNode: node contents:\n{text}"
    )]
    Sequence {
        path: String,
        inner_path: String,
        text: String,
    },
    #[error("{path}: {error}")]
    Format {
        path: String,
        error: FormatResourceError,
    },
    #[error("{path}: {error}")]
    Edit { path: String, error: EditError },
    /// In flow style, comments would hide what follows them.
    #[error("{path}: a document with comments cannot be printed in FlowStyle")]
    CommentsInFlow { path: String },
}

/// The text of one file, if one is named, or of all files of a package and its sub-packages.
pub fn cat(
    source: &dyn FileSource,
    file: Option<&str>,
    options: &CatOptions,
) -> Result<String, CatError> {
    let packages = match file {
        Some(_) => vec![String::new()],
        None => packages(source, options)?,
    };
    let mut out = String::new();
    for (number, package) in packages.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let files = match file {
            Some(file) => vec![file.to_owned()],
            None => files_of(source, package)?,
        };
        let mut parts = Vec::new();
        for path in files {
            let text = file_text(source, package, &path, options)?;
            parts.extend(text.filter(|text| !text.is_empty()));
        }
        let text = parts.join("---\n");
        out.push_str(&text);
        if !text.is_empty() {
            out.push_str("---");
        }
    }
    let text = out.strip_suffix("---\n").unwrap_or(&out);
    Ok(text.strip_suffix("---").unwrap_or(text).to_owned())
}

/// The directories of packages, the top first.
fn packages(source: &dyn FileSource, options: &CatOptions) -> Result<Vec<String>, FileError> {
    let mut found = vec![String::new()];
    let mut pending = match options.recurse {
        true => directories(source, "")?,
        false => Vec::new(),
    };
    while let Some(directory) = pending.pop() {
        if is_package(source, &directory)? {
            found.push(directory.clone());
        }
        pending.extend(directories(source, &directory)?);
    }
    Ok(found)
}

fn is_package(source: &dyn FileSource, directory: &str) -> Result<bool, FileError> {
    let entries = source.list(directory)?;
    Ok(entries.iter().any(|entry| entry.name == PACKAGE_FILE))
}

/// The directories in a directory, in reverse order.
fn directories(source: &dyn FileSource, directory: &str) -> Result<Vec<String>, FileError> {
    let entries = source.list(directory)?.into_iter();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.kind == EntryKind::Directory)
        .map(|entry| join(directory, &entry.name))
        .collect();
    names.sort_by(|one, other| other.cmp(one));
    Ok(names)
}

/// The files of a package without its sub-packages and links, in the byte order of names.
fn files_of(source: &dyn FileSource, package: &str) -> Result<Vec<String>, FileError> {
    let mut files = Vec::new();
    // What is left to visit, the next one last.
    let mut pending = sorted_entries(source, package)?;
    while let Some((path, kind)) = pending.pop() {
        match kind {
            EntryKind::File => files.push(path),
            EntryKind::Directory if !is_package(source, &path)? => {
                pending.extend(sorted_entries(source, &path)?);
            }
            _ => {}
        }
    }
    Ok(files)
}

fn sorted_entries(
    source: &dyn FileSource,
    directory: &str,
) -> Result<Vec<(String, EntryKind)>, FileError> {
    let entries = source.list(directory)?.into_iter();
    let mut entries: Vec<_> = entries
        .map(|entry| (join(directory, &entry.name), entry.kind))
        .collect();
    entries.sort_by(|(one, _), (other, _)| other.cmp(one));
    Ok(entries)
}

fn join(directory: &str, name: &str) -> String {
    match directory {
        "" => name.to_owned(),
        directory => format!("{directory}/{name}"),
    }
}

/// How a file is printed.
enum CatForm {
    Resources,
    /// kpt prints nothing for these.
    Nothing,
    Text,
}

fn form_of(name: &str, rules: PkgRules) -> CatForm {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match (extension, rules) {
        _ if name == PACKAGE_FILE => CatForm::Resources,
        ("yaml" | "yml", _) => CatForm::Resources,
        ("json", PkgRules::Kiln) => CatForm::Resources,
        (extension, rules) => {
            let is_listed = ["yaml", "yml", "json"]
                .iter()
                .any(|known| extension.eq_ignore_ascii_case(known));
            match is_listed && rules == PkgRules::Kpt {
                true => CatForm::Nothing,
                false => CatForm::Text,
            }
        }
    }
}

/// The text of a file; `None` if it is not printed.
fn file_text(
    source: &dyn FileSource,
    package: &str,
    path: &str,
    options: &CatOptions,
) -> Result<Option<String>, CatError> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match form_of(name, options.rules) {
        CatForm::Nothing => Ok(None),
        CatForm::Text => {
            // Files that are not text are not printed.
            let text = String::from_utf8(source.read(path)?).ok();
            Ok(text.map(|text| match text.ends_with('\n') {
                true => text,
                false => format!("{text}\n"),
            }))
        }
        CatForm::Resources => {
            let below = path.strip_prefix(package).unwrap_or(path);
            let inner_path = below.trim_start_matches('/').to_owned();
            let read_options = FileOptions {
                dialect: Dialect::Current,
                package_path: None,
                trailing_text: TrailingText::Ignored,
            };
            let resources = read_file(name, source.read(path)?, &read_options);
            let resources = resources.map_err(|error| CatError::Read {
                path: path.to_owned(),
                inner_path: inner_path.clone(),
                error: Box::new(error),
            })?;
            let mut encoder = Encoder::new();
            for resource in resources {
                let document = document(resource, path, &inner_path, options)?;
                encoder.document(&document, SequenceStyle::Compact);
            }
            Ok(Some(encoder.finish()))
        }
    }
}

/// The key under which the reader keeps a sequence that is a whole document.
const WRAPPED_SEQUENCE: &str = "bareSeqNodeWrappingKey";

fn document(
    mut resource: Resource,
    path: &str,
    inner_path: &str,
    options: &CatOptions,
) -> Result<Document, CatError> {
    if let Some(sequence) = resource.root().get(WRAPPED_SEQUENCE) {
        let document = Document::from_node(sequence);
        return match options.rules {
            PkgRules::Kiln => Ok(document),
            PkgRules::Kpt => Err(CatError::Sequence {
                path: path.to_owned(),
                inner_path: inner_path.to_owned(),
                text: kiln_yaml::to_string(&document, SequenceStyle::Compact),
            }),
        };
    }
    let cleared: &[&str] = match options.annotate {
        true => &[SEQINDENT],
        false => &[INDEX, LEGACY_INDEX, SEQINDENT, PATH, LEGACY_PATH],
    };
    let edit_error = |error| CatError::Edit {
        path: path.to_owned(),
        error,
    };
    resource.clear_annotations(cleared).map_err(edit_error)?;
    let mut document = resource.into_document();
    if options.format {
        format_resource(&mut document).map_err(|error| CatError::Format {
            path: path.to_owned(),
            error,
        })?;
    }
    if options.strip_comments {
        strip_comments(&mut document);
    }
    set_styles(&mut document, path, options)?;
    Ok(document)
}

fn strip_comments(document: &mut Document) {
    for slot in Slot::ALL {
        document.set_document_comment(slot, "");
    }
    let mut pending = vec![document.root().id()];
    while let Some(node) = pending.pop() {
        for slot in Slot::ALL {
            if !document.node(node).comment(slot).is_empty() {
                document.set_comment(node, slot, "");
            }
        }
        pending.extend(document.child_ids(node));
    }
}

fn set_styles(document: &mut Document, path: &str, options: &CatOptions) -> Result<(), CatError> {
    let mut styles = options.styles.iter().map(|style| match style {
        CatStyle::Tagged => Style::TAGGED,
        CatStyle::DoubleQuoted => Style::DOUBLE_QUOTED,
        CatStyle::SingleQuoted => Style::SINGLE_QUOTED,
        CatStyle::Literal => Style::LITERAL,
        CatStyle::Folded => Style::FOLDED,
        CatStyle::Flow => Style::FLOW,
    });
    let Some(first) = styles.next() else {
        return Ok(());
    };
    let style = styles.fold(first, Style::with);
    if style.contains(Style::FLOW) && options.rules == PkgRules::Kiln && has_comments(document) {
        return Err(CatError::CommentsInFlow {
            path: path.to_owned(),
        });
    }
    let root = document.root().id();
    document.set_style(root, style);
    Ok(())
}

fn has_comments(document: &Document) -> bool {
    let mut pending = vec![document.root()];
    while let Some(node) = pending.pop() {
        if Slot::ALL
            .into_iter()
            .any(|slot| !node.comment(slot).is_empty())
        {
            return true;
        }
        pending.extend(node.children());
    }
    Slot::ALL
        .into_iter()
        .any(|slot| !document.comment(slot).is_empty())
}

#[cfg(test)]
mod tests;
