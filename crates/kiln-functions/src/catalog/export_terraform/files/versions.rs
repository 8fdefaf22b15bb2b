//! `versions.tf`: required versions of Terraform and its providers.

use crate::catalog::export_terraform::hcl::{Hcl, layout};

/// The module name that the files contain.
const MODULE_NAME: &str = "blueprints/terraform/exported-krm/v0.1.0";

pub(super) fn versions() -> String {
    let mut hcl = Hcl::default();
    hcl.line("terraform {");
    hcl.text(layout(2, 0), "required_version", ">=0.13");
    hcl.line("");
    hcl.line("  required_providers {");
    hcl.line("    google = {");
    hcl.text(layout(6, 7), "source", "hashicorp/google");
    hcl.text(layout(6, 7), "version", ">= 4.0.0");
    hcl.line("    }");
    hcl.line("  }");
    hcl.line("  provider_meta \"google\" {");
    hcl.text(layout(4, 0), "module_name", MODULE_NAME);
    hcl.line("  }");
    hcl.end();
    hcl.finish().unwrap_or_default()
}
