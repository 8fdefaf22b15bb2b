//! The files of a new package in a directory.

use crate::init::{ReadmeStyle, package_files};
use crate::pkg::PkgRules;
use crate::task::InitTask;

/// The names and texts of the files of a new package.
pub fn starter_files(name: &str, task: &InitTask, rules: PkgRules) -> [(&'static str, String); 3] {
    let readme = match rules {
        PkgRules::Kiln => ReadmeStyle::Kiln,
        PkgRules::Kpt => ReadmeStyle::KptEscaped,
    };
    package_files(name, task, readme)
}
