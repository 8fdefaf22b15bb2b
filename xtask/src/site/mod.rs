//! `cargo xtask site`: the documentation as web pages with a search, made by mdBook.
//!
//! mdBook takes one directory and a table of contents. [`sources`] makes both from `docs/` and its index, so that nothing is written
//! twice: the README becomes the first page, links between documents become links between pages, and links to other files of the
//! repository become text.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::markdown::{file_links, resolve};

/// Documents outside of `docs/` that are pages too.
const ROOT_PAGES: [&str; 5] = [
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
];

const INDEX: &str = "docs/README.md";

const BOOK: &str = "[book]
title = \"kiln\"
language = \"en\"

[output.html]
no-section-label = true

[output.html.search]
limit-results = 20
";

/// Writes the pages below `target/site`, if mdBook is installed.
pub fn run(root: &Path) -> Result<()> {
    let directory = crate::target_directory(root).join("site");
    match fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    for (path, bytes) in sources(root)? {
        let path = directory.join("src").join(path);
        fs::create_dir_all(path.parent().unwrap_or(&directory))?;
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    fs::write(directory.join("book.toml"), BOOK)?;
    let status = Command::new("mdbook").arg("build").arg(&directory).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("mdbook failed: {status}"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("mdbook is not installed: cargo install --locked mdbook")
        }
        Err(error) => Err(error).context("cannot run mdbook"),
    }
}

/// The files for mdBook by path, `SUMMARY.md` included.
pub fn sources(root: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut documents = BTreeMap::new();
    for name in ROOT_PAGES {
        documents.insert(name.to_owned(), fs::read_to_string(root.join(name))?);
    }
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(root.join("docs"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".md") {
            documents.insert(format!("docs/{name}"), fs::read_to_string(&path)?);
        }
    }
    for entry in fs::read_dir(root.join("docs/images"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        files.insert(format!("images/{name}"), fs::read(&path)?);
    }
    let index = documents
        .remove(INDEX)
        .context("docs/README.md is missing")?;
    let summary = summary(&index, &documents)?;
    files.insert("SUMMARY.md".to_owned(), summary.into_bytes());
    for (path, text) in &documents {
        let page = page(path, text, &documents);
        files.insert(page_name(path).to_owned(), page.into_bytes());
    }
    Ok(files)
}

/// The name of a document's page: all pages are in one directory.
fn page_name(path: &str) -> &str {
    path.strip_prefix("docs/").unwrap_or(path)
}

/// The table of contents: the pages in the order of the index, below its headings, then the rest of the root's.
fn summary(index: &str, documents: &BTreeMap<String, String>) -> Result<String> {
    let title = |path: &str| -> Result<&str> {
        let text = documents.get(path);
        let text = text.with_context(|| format!("{INDEX}: {path} does not exist"))?;
        let heading = text.lines().find_map(|line| line.strip_prefix("# "));
        heading.with_context(|| format!("{path} has no heading"))
    };
    let mut summary = format!(
        "# Summary\n\n[{}](README.md)\n\n# Guide\n\n",
        title("README.md")?
    );
    for line in index.lines() {
        if let Some(heading) = line.strip_suffix(':') {
            summary.push_str(&format!("\n# {heading}\n\n"));
        } else if line.starts_with('|') {
            for link in file_links(line) {
                let title = title(&format!("docs/{}", link.path))?;
                summary.push_str(&format!("- [{title}]({})\n", link.path));
            }
        }
    }
    summary.push_str("\n# Project\n\n");
    for path in &ROOT_PAGES[1..] {
        summary.push_str(&format!("- [{}]({path})\n", title(path)?));
    }
    Ok(summary)
}

/// A document as a page.
fn page(path: &str, text: &str, documents: &BTreeMap<String, String>) -> String {
    let mut page = String::new();
    let mut end = 0;
    for link in file_links(text) {
        let target = resolve(path, link.path).unwrap_or_default();
        let label = link.label;
        let replacement = if target == INDEX {
            format!("[{label}](README.md)")
        } else if documents.contains_key(&target) {
            format!("[{label}]({}{})", page_name(&target), link.fragment)
        } else if target.starts_with("docs/images/") {
            format!("[{label}]({})", page_name(&target))
        } else {
            label.to_owned()
        };
        page.push_str(&text[end..link.range.start]);
        page.push_str(&replacement);
        end = link.range.end;
    }
    page.push_str(&text[end..]);
    // Pictures for bright and dark screens are HTML.
    page.replace("\"docs/images/", "\"images/")
}

#[cfg(test)]
mod tests;
