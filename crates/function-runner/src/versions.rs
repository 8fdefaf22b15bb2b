//! The functions that are built in, for `version`.

use kiln_functions::registry::Registry;
use kiln_telemetry::BuiltIn;

/// The listed functions and the newest version of each.
pub fn newest_functions() -> Vec<BuiltIn> {
    let functions = Registry::builtin().functions();
    let newest = functions.filter_map(|info| Some((info.name, info.version_tags().last()?)));
    newest.collect()
}
