//! `variables.tf`: values that the input contains exactly once.

use super::{Export, TemplateError};
use crate::catalog::export_terraform::graph::VARIABLES;
use crate::catalog::export_terraform::hcl::layout;

impl Export<'_, '_> {
    pub(super) fn variables(&mut self) -> Result<(), TemplateError> {
        let attributes = layout(2, 11);
        for variable in &VARIABLES {
            let [only] = self.graph.of_kind(variable.kind) else {
                continue;
            };
            let hcl = &mut self.hcl;
            hcl.line(format_args!("variable \"{}\" {{", variable.name));
            hcl.text(attributes, "description", variable.description);
            hcl.attribute(attributes, "type", "string");
            hcl.text(attributes, "default", &self.graph.entry(*only).name);
            hcl.end();
        }
        Ok(())
    }
}
