//! The Terraform files, in the order in which the original writes them.
//!
//! The original uses Go templates. Where a value is missing, the error message is that of the template engine, with
//! the position in the template, which [`Spot`]s hold.

mod folders;
mod iam;
mod log_export;
mod network;
mod projects;
mod readme;
mod variables;
mod versions;

use std::collections::BTreeMap;

use super::ExportTerraformRelease;
use super::graph::{Graph, Id};
use super::hcl::Hcl;
use crate::budget::is_stopped;
use crate::output::Printed;

/// Writes all files that have content. `versions.tf`, `variables.tf` and `README.md` are written only if another file
/// is.
pub(super) fn write(
    graph: &Graph<'_>,
    release: ExportTerraformRelease,
    log: &mut Printed,
) -> Result<BTreeMap<String, String>, TemplateError> {
    let mut files = BTreeMap::new();
    let mut put = |name: &str, content: Option<String>| {
        files.extend(content.map(|content| (name.to_owned(), content)));
    };
    let mut export = Export {
        graph,
        release,
        log,
        hcl: Hcl::default(),
    };
    put("folders.tf", export.file(Export::folders)?);
    put("iam.tf", export.file(Export::iam)?);
    put("projects.tf", export.file(Export::projects)?);
    if release >= ExportTerraformRelease::V0_2_0 {
        put("log-export.tf", export.file(Export::log_export)?);
        put("network.tf", export.file(Export::network)?);
    }
    if !files.is_empty() {
        files.insert("README.md".to_owned(), readme::README.to_owned());
        files.insert("versions.tf".to_owned(), versions::versions());
        let variables = export.file(Export::variables)?;
        files.extend(variables.map(|content| ("variables.tf".to_owned(), content)));
    }
    Ok(files)
}

/// An error in the words of Go's templates.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "template: {file}:{place}: executing \"{file}\" at <{expression}>: error calling {call}: {why}"
)]
pub(super) struct TemplateError {
    file: &'static str,
    place: &'static str,
    expression: &'static str,
    call: &'static str,
    why: String,
}

/// A position in a template where a value may be missing.
#[derive(Clone, Copy)]
struct Spot {
    file: &'static str,
    /// Line and column.
    place: &'static str,
    expression: &'static str,
}

impl Spot {
    fn error(self, call: &'static str, why: String) -> TemplateError {
        let Spot {
            file,
            place,
            expression,
        } = self;
        TemplateError {
            file,
            place,
            expression,
            call,
            why,
        }
    }

    /// The error for a call on a missing value.
    fn nothing(self, call: &'static str) -> TemplateError {
        let why = "runtime error: invalid memory address or nil pointer dereference";
        self.error(call, why.to_owned())
    }
}

struct Export<'g, 'a> {
    graph: &'g Graph<'a>,
    release: ExportTerraformRelease,
    log: &'g mut Printed,
    hcl: Hcl,
}

impl<'g, 'a> Export<'g, 'a> {
    fn file(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), TemplateError>,
    ) -> Result<Option<String>, TemplateError> {
        write(self)?;
        Ok(std::mem::take(&mut self.hcl).finish())
    }

    /// The resources of a kind that the input contains, without those that are only referenced.
    fn created(&self, kind: &str) -> impl Iterator<Item = Id> + use<'g, 'a> {
        let graph = self.graph;
        let ids = graph.of_kind(kind).iter().copied();
        let ids = ids.take_while(|_| !is_stopped());
        ids.filter(|id| graph.entry(*id).object.is_some())
    }

    fn text(&self, id: Id, path: &[&str]) -> &'a str {
        let object = self.graph.entry(id).object;
        let text = object.and_then(|object| object.text(path));
        text.unwrap_or_default()
    }

    fn integer(&self, id: Id, path: &[&str]) -> i64 {
        let object = self.graph.entry(id).object;
        object.map_or(0, |object| object.integer(path))
    }

    fn flag(&self, id: Id, path: &[&str]) -> bool {
        let object = self.graph.entry(id).object;
        object.is_some_and(|object| object.flag(path))
    }

    /// The parent of a resource, on which `call` is evaluated.
    fn parent(&self, id: Id, spot: Spot, call: &'static str) -> Result<Id, TemplateError> {
        let parent = self.graph.entry(id).parent;
        parent.ok_or_else(|| spot.nothing(call))
    }

    /// The expression for the project of a resource.
    fn project(&self, id: Id, spot: Spot) -> Result<String, TemplateError> {
        let parent = self.parent(id, spot, "GetResourceName")?;
        Ok(format!("module.{}.project_id", self.graph.name(parent)))
    }

    /// The organization of a resource: its own, or the first of the input.
    fn organization(&mut self, id: Id, spot: Spot) -> Result<Id, TemplateError> {
        let parent = self.parent(id, spot, "GetOrganization")?;
        if self.graph.entry(parent).kind == "Organization" {
            return Ok(parent);
        }
        let first = self.graph.of_kind("Organization").first().copied();
        first.ok_or_else(|| {
            let entry = self.graph.entry(id);
            let about = format!("{}/{}", entry.kind, entry.name);
            self.log
                .push_str(&format!("Failed to fetch organization for {about}"));
            spot.nothing("GetTerraformId")
        })
    }
}

/// A text in quotes, without escapes.
fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}
