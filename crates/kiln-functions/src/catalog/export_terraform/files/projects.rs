//! `projects.tf`.

use super::{Export, Spot, TemplateError};
use crate::catalog::export_terraform::ExportTerraformRelease;
use crate::catalog::export_terraform::graph::{Id, PROJECT};
use crate::catalog::export_terraform::hcl::layout;

const ORGANIZATION: Spot = Spot {
    file: "projects.tf",
    place: "8:26",
    expression: "$project.GetOrganization.GetTerraformId",
};

const AUTO_CREATE: [&str; 3] = [
    "metadata",
    "annotations",
    "cnrm.cloud.google.com/auto-create-network",
];

impl Export<'_, '_> {
    pub(super) fn projects(&mut self) -> Result<(), TemplateError> {
        for id in self.created("Project") {
            let organization = self.organization(id, ORGANIZATION)?;
            self.project_module(id, organization);
        }
        Ok(())
    }

    fn project_module(&mut self, id: Id, organization: Id) {
        let graph = self.graph;
        let (name, display_name) = (graph.name(id), graph.display_name(id));
        let folder = graph.entry(id).parent;
        let folder = folder.filter(|parent| graph.entry(*parent).kind == "Folder");
        let is_host = self.hosts_networks(id);
        let creates_network = self.creates_network(id);
        let attributes = layout(2, 10);
        let hcl = &mut self.hcl;
        hcl.module(2, &name, ("project-factory/google", "~> 12.0"));
        hcl.text(attributes, "name", display_name);
        if display_name != name {
            hcl.text(attributes, "project_id", &name);
        }
        hcl.attribute(attributes, "org_id", graph.bare_id(organization));
        if let Some(folder) = folder {
            hcl.attribute(attributes, "folder_id", graph.bare_id(folder));
        }
        hcl.blank();
        if is_host {
            hcl.attribute(layout(2, 0), "enable_shared_vpc_host_project", true);
        }
        let account = graph.reference(id, "BillingAccount");
        let account = account.map(|account| graph.bare_id(account));
        let account = account.unwrap_or_else(|| "<no value>".to_owned());
        hcl.attribute(layout(2, 0), "billing_account", account);
        if creates_network {
            hcl.attribute(layout(2, 0), "auto_create_network", true);
        }
        hcl.end();
    }

    /// Whether a project is a shared VPC host project.
    fn hosts_networks(&self, id: Id) -> bool {
        let object = self.graph.entry(id).object;
        let name = object.and_then(|object| object.text(&["metadata", "name"]));
        let hosts = self
            .graph
            .children_of_kind(id, "ComputeSharedVPCHostProject");
        let project = |host: Id| {
            let object = self.graph.entry(host).object?;
            object.text(&["metadata", "annotations", PROJECT])
        };
        name.is_some() && hosts.into_iter().any(|host| project(host) == name)
    }

    fn creates_network(&self, id: Id) -> bool {
        match self.release {
            ExportTerraformRelease::V0_1_0 => {
                let text = self.text(id, &AUTO_CREATE);
                matches!(text, "1" | "t" | "T" | "true" | "True" | "TRUE")
            }
            // Annotations are strings, and this release no longer reads them.
            _ => self.flag(id, &AUTO_CREATE),
        }
    }
}
