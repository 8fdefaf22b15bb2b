//! remove-local-config-resources: removes resources that are not meant for a cluster.

use kiln_krm::Resource;
use kiln_krm::annotations::LOCAL_CONFIG;
use kiln_krm::results::{ResultItem, Severity};

use crate::function::{Context, Ending, Function, FunctionList};
use crate::output::Results;
use crate::port::kyaml::{item, place_path};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "remove-local-config-resources",
    former_names: &[],
    summary: "Removes the resources that are only local configuration",
    doc: "\
Removes all resources with the annotation `config.kubernetes.io/local-config: \"true\"`, such as function configurations,
so that the others can be applied to a cluster. It takes no configuration.

Note that `fn eval` in place removes them from the package; to filter a stream use it after `fn render -o unwrap`.
",
    versions: &[FunctionVersion::new(&["v0.1.0", "v0.1.1", "unstable", "latest"], Sdk::Kyaml(ResultsForm::Object("remove-local-config-resources"), ErrorsPrinted::Twice), &RemoveLocalConfigResources)],
};

struct RemoveLocalConfigResources;

impl Function for RemoveLocalConfigResources {
    fn run(&self, list: &mut FunctionList, _: &Context<'_>) -> Ending {
        let mut removed = Results::default();
        list.items.retain(|resource| {
            let root = resource.root();
            let is_nothing = root.is_null() || !root.is_scalar() && root.is_empty();
            let is_local = is_local(resource);
            if is_local && !is_nothing {
                let message = format!("Resource name: [{}]", resource.name());
                removed.push(info(item(message, "", place_path(resource))));
            }
            !is_local && !is_nothing
        });
        if removed.is_empty() {
            let message = "Found no resources to prune with the local config annotation";
            list.results.clear();
            list.report(Severity::Warning, message);
        } else {
            let message = format!("Number of resources pruned: {}", removed.len());
            removed.push_first(info(item(message, "", "")));
            list.results = removed;
        }
        Ending::Success
    }
}

fn is_local(resource: &Resource) -> bool {
    let value = resource.annotation(LOCAL_CONFIG).unwrap_or_default();
    value.eq_ignore_ascii_case("true")
}

fn info(result: ResultItem) -> ResultItem {
    let severity = Severity::Info.as_str().to_owned();
    ResultItem { severity, ..result }
}
