//! `iam.tf`: IAM policies and audit configuration.

use std::collections::BTreeMap;

use kiln_krm::records;

use super::{Export, Spot, TemplateError, quoted};
use crate::catalog::export_terraform::ExportTerraformRelease;
use crate::catalog::export_terraform::graph::Id;
use crate::catalog::export_terraform::hcl::layout;
use crate::catalog::export_terraform::object::RecordList;

const ORGANIZATION: Spot = Spot {
    file: "iam.tf",
    place: "1:41",
    expression: "$ref.HasIAMBindings",
};
const FOLDER: Spot = Spot {
    place: "17:49",
    ..ORGANIZATION
};
const AUDITED: Spot = Spot {
    file: "iam.tf",
    place: "35:19",
    expression: "$ref.Parent.GetTerraformId",
};

records! {
    struct Binding = "terraformgenerator.iamBinding" {
        members: Vec<Option<Member>> = "members",
        role: String = "role",
    }

    struct Member = "terraformgenerator.iamMember" {
        member: String = "member",
    }

    struct AuditLogConfig = "terraformgenerator.iamAuditLogConfig" {
        exempted_members: Vec<String> = "exemptedMembers",
        log_type: String = "logType",
    }
}

/// The members of each role.
type Bindings = BTreeMap<String, Vec<String>>;

impl Export<'_, '_> {
    pub(super) fn iam(&mut self) -> Result<(), TemplateError> {
        for id in self.graph.of_kind("Organization") {
            if let Some(bindings) = self.bindings(*id, ORGANIZATION)? {
                let organization = quoted(&self.graph.entry(*id).name);
                self.module(*id, "organizations", &organization, &bindings);
            }
        }
        for id in self.graph.of_kind("Folder") {
            if let Some(bindings) = self.bindings(*id, FOLDER)? {
                let folder = self.graph.typed_id(*id);
                self.module(*id, "folders", &folder, &bindings);
            }
        }
        if self.release >= ExportTerraformRelease::V0_2_0 {
            for id in self.graph.of_kind("IAMAuditConfig") {
                self.audit(*id)?;
            }
        }
        Ok(())
    }

    fn module(&mut self, id: Id, what: &str, which: &str, bindings: &Bindings) {
        let name = self.graph.name(id);
        let hcl = &mut self.hcl;
        let source = format!("iam/google//modules/{what}_iam");
        hcl.module(2, format_args!("{name}-iam"), (&source, "~> 7.4"));
        hcl.attribute(layout(2, 0), what, format_args!("[{which}]"));
        hcl.line("");
        hcl.line("  bindings = {");
        hcl.line("    ");
        for (role, members) in bindings {
            hcl.line(format_args!("    \"{role}\" = ["));
            for member in members {
                hcl.line(format_args!("      \"{member}\","));
            }
            hcl.line("    ]");
            hcl.line("    ");
        }
        hcl.line("  }");
        hcl.end();
        hcl.blank();
    }

    fn audit(&mut self, id: Id) -> Result<(), TemplateError> {
        let parent = self.parent(id, AUDITED, "GetTerraformId")?;
        let service = self.text(id, &["spec", "service"]);
        let hcl = &mut self.hcl;
        hcl.line("resource \"google_organization_iam_audit_config\" \"org_config\" {");
        hcl.attribute(layout(2, 7), "org_id", self.graph.bare_id(parent));
        hcl.text(layout(2, 7), "service", service);
        hcl.blank();
        for config in self.audit_log_configs(id) {
            let hcl = &mut self.hcl;
            hcl.line("  audit_log_config {");
            hcl.text(layout(6, 0), "log_type", config.log_type);
            if !config.exempted_members.is_empty() {
                hcl.line("      exempted_members = [");
                for member in config.exempted_members {
                    hcl.line(format_args!("      \"{member}\""));
                }
                hcl.line("      ]");
            }
            hcl.line("  }");
        }
        self.hcl.end();
        Ok(())
    }

    fn audit_log_configs(&mut self, id: Id) -> Vec<AuditLogConfig> {
        let entry = self.graph.entry(id);
        let list = entry
            .object
            .map(|object| object.list(&["spec", "auditLogConfigs"]));
        let Some(list) = list else {
            return Vec::new();
        };
        self.note("unable to find auditLogConfigs", &entry.name, &list);
        list.items
    }

    /// The bindings of a resource. The original evaluates them twice: to check that there are some, and to write
    /// them.
    fn bindings(&mut self, id: Id, spot: Spot) -> Result<Option<Bindings>, TemplateError> {
        let bindings = self.collect_bindings(id, spot)?;
        match bindings.is_empty() {
            true => Ok(None),
            false => self.collect_bindings(id, spot).map(Some),
        }
    }

    fn collect_bindings(&mut self, id: Id, spot: Spot) -> Result<Bindings, TemplateError> {
        let mut bindings = Bindings::new();
        let mut bind = |role: &str, member: String| {
            bindings.entry(role.to_owned()).or_default().push(member);
        };
        let entry = self.graph.entry(id);
        for child in &entry.children {
            let child_entry = self.graph.entry(*child);
            match (child_entry.kind.as_str(), child_entry.object) {
                ("IAMPolicyMember", _) => {
                    let member = self.text(*child, &["spec", "member"]);
                    bind(self.text(*child, &["spec", "role"]), member.to_owned());
                }
                ("IAMPartialPolicy" | "IAMPolicy", Some(object)) => {
                    let list: RecordList<Binding> = object.list(&["spec", "bindings"]);
                    if self.note("Failure to find bindings", &entry.name, &list) {
                        continue;
                    }
                    for binding in list.items {
                        for member in binding.members {
                            let missing = || spot.nothing("HasIAMBindings");
                            bind(&binding.role, member.ok_or_else(missing)?.member);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(bindings)
    }

    /// Logs that a list is missing or invalid; returns whether it is.
    pub(super) fn note<V>(&mut self, what: &str, name: &str, list: &RecordList<V>) -> bool {
        let RecordList {
            is_found, error, ..
        } = list;
        let is_fine = *is_found && error.is_none();
        if !is_fine {
            let error = error.as_deref().unwrap_or("%!s(<nil>)");
            let line = format!("{what} in {name} (found = {is_found}): {error}\n");
            self.log.push_str(&line);
        }
        !is_fine
    }
}
