//! Ports of the libraries that the originals use, as far as the catalog needs them. Each module is named after its
//! library, and has the same results and messages.

pub(crate) mod go_json;
pub(crate) mod go_regexp;
pub mod go_sdk;
pub(crate) mod go_yaml;
pub(crate) mod jsonschema;
pub(crate) mod kustomize;
pub(crate) mod kyaml;
pub(crate) mod typescript_sdk;
