//! `set-image`: names, tags and digests of container images.

mod config;
#[cfg(test)]
mod tests;
mod v0_1_0;
mod v0_1_2;
mod v0_1_3;

use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::Sdk;
use v0_1_0::SetImageRelease;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "set-image",
    former_names: &[],
    summary: "Sets names, tags and digests of container images",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(
            &["v0.1.0"],
            Sdk::SilentGo,
            &v0_1_0::SetImageV0_1_0(SetImageRelease::V0_1_0),
        ),
        FunctionVersion::new(
            &["v0.1.1"],
            Sdk::SilentGo,
            &v0_1_0::SetImageV0_1_0(SetImageRelease::V0_1_1),
        ),
        FunctionVersion::new(&["v0.1.2", "unstable"], Sdk::Go, &v0_1_2::SetImageV0_1_2),
        FunctionVersion::new(
            &["v0.1.3", "v0.1.4", "latest"],
            Sdk::Go,
            &v0_1_3::SetImageV0_1_3,
        ),
    ],
};
