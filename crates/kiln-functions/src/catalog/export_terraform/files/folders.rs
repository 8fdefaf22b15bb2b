//! `folders.tf`.

use super::{Export, Spot, TemplateError};
use crate::catalog::export_terraform::hcl::layout;

const PARENT: Spot = Spot {
    file: "folders.tf",
    place: "4:27",
    expression: "$folder.Parent.GetTerraformId",
};

impl Export<'_, '_> {
    pub(super) fn folders(&mut self) -> Result<(), TemplateError> {
        let attributes = layout(2, 12);
        for id in self.created("Folder") {
            let name = self.graph.name(id);
            let parent = self.parent(id, PARENT, "GetTerraformId")?;
            let display_name = self.graph.display_name(id);
            let hcl = &mut self.hcl;
            hcl.line(format_args!("resource \"google_folder\" \"{name}\" {{"));
            hcl.text(attributes, "display_name", display_name);
            hcl.attribute(attributes, "parent", self.graph.typed_id(parent));
            hcl.end();
        }
        Ok(())
    }
}
