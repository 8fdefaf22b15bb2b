//! Small inputs on trees: exported resources, unchanged resources, and messages about missing fields.

use kiln_krm::Resource;
use kiln_runtime::RunContext;

use crate::function::{Context, Ending, FunctionList, NoFiles};
use crate::registry::Registry;

const FOLDER: &str = "\
apiVersion: resourcemanager.cnrm.cloud.google.com/v1beta1
kind: Folder
metadata: {name: team.a} # mine
spec:
  displayName: Team A
  organizationRef: {external: '42'}
";

fn resource(text: &str) -> Resource {
    Resource::new(kiln_yaml::parse(text).unwrap().unwrap())
}

fn run_version(version: &str, items: &[&str]) -> FunctionList {
    let mut list = FunctionList {
        items: items.iter().map(|text| resource(text)).collect(),
        ..FunctionList::default()
    };
    let ctx = Context {
        environment: &[],
        run: &RunContext::default(),
        files: &NoFiles,
    };
    let info = Registry::builtin().function("export-terraform").unwrap();
    let version = info.version(version).unwrap();
    let ending = version.function.run(&mut list, &ctx);
    assert_eq!(ending, Ending::Success);
    list
}

fn run(items: &[&str]) -> FunctionList {
    run_version("latest", items)
}

fn file<'a>(list: &'a FunctionList, name: &str) -> Option<&'a str> {
    let exported = list.items.last()?.root().get("data")?.get(name)?;
    Some(exported.value())
}

#[test]
fn a_folder_becomes_a_resource_of_its_organization() {
    let list = run(&[FOLDER]);
    let expected = "\
resource \"google_folder\" \"team-a\" {
  display_name = \"Team A\"
  parent       = \"organizations/${var.org_id}\"
}
";
    assert_eq!(file(&list, "folders.tf"), Some(expected));
    let variables = file(&list, "variables.tf").unwrap();
    assert!(variables.contains("default     = \"42\""), "{variables}");
    assert_eq!(file(&list, "network.tf"), None);
    assert!(list.items[0].document().is_unchanged());
    assert_eq!(list.unsettled, [1]);
}

#[test]
fn without_anything_to_export_the_config_map_is_empty() {
    let ignored = FOLDER.replace(
        "{name: team.a}",
        "{name: a, annotations: {cnrm.cloud.google.com/ignore-clusterless: 'true'}}",
    );
    let list = run(&["apiVersion: v1\nkind: Folder\n", &ignored]);
    assert_eq!(list.items.len(), 3);
    assert_eq!(list.items[2].name(), "terraform");
    assert!(list.items[2].root().get("data").is_none());
}

#[test]
fn an_earlier_export_is_left_as_it_is() {
    let earlier = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: terraform}\n";
    let list = run(&[earlier, FOLDER]);
    assert_eq!(list.items.len(), 2);
    assert!(list.items[0].document().is_unchanged());
}

#[test]
fn what_is_missing_is_a_result() {
    let list = run(&[&FOLDER.replace("organizationRef", "other")]);
    let messages: Vec<&str> = list.results.iter().map(|it| &*it.message).collect();
    let expected = "template: folders.tf:4:27: executing \"folders.tf\" at <$folder.Parent.GetTerraformId>: error \
                    calling GetTerraformId: runtime error: invalid memory address or nil pointer dereference";
    assert_eq!(messages, [expected]);
    assert_eq!(list.items.len(), 1);
}

#[test]
fn what_cannot_be_read_is_said_and_passed_over() {
    let policy = |bindings: &str| {
        format!(
            "apiVersion: iam.cnrm.cloud.google.com/v1beta1\nkind: IAMPolicy\nmetadata: {{name: p}}\n\
             spec: {{resourceRef: {{kind: Folder, external: '7'}}, bindings: {bindings}}}\n"
        )
    };
    let list = run(&[&policy("x"), FOLDER]);
    assert_eq!(
        &*list.stderr,
        "Failure to find bindings in 7 (found = true): unable to get fields [spec bindings] as \
         *[]terraformgenerator.iamBinding with error: incorrect type, was *fnsdk.scalarVariant\n"
    );
    assert_eq!(file(&list, "iam.tf"), None);
    let list = run(&[&policy("[{role: r, members: [{member: m}]}]")]);
    assert!(file(&list, "iam.tf").is_some_and(|iam| iam.contains("\"r\" = [\n      \"m\",\n")));
}

#[test]
fn later_versions_export_more() {
    let network = "apiVersion: compute.cnrm.cloud.google.com/v1beta1\nkind: ComputeNetwork\n\
                   metadata: {name: n, annotations: {cnrm.cloud.google.com/project-id: p}}\n";
    let route = "apiVersion: compute.cnrm.cloud.google.com/v1beta1\nkind: ComputeRoute\n\
                 metadata: {name: r}\nspec: {networkRef: {name: n}, tags: [a, b]}\n";
    let has_routes = |version: &str| {
        let list = run_version(version, &[network, route]);
        file(&list, "network.tf").map(|network| network.contains("routes = ["))
    };
    assert_eq!(has_routes("v0.1.0"), None);
    assert_eq!(has_routes("v0.2.0"), Some(false));
    assert_eq!(has_routes("v0.3.0"), Some(true));
}
