//! Setters, and what a cluster does not get.

use kiln_krm::package::MemoryFiles;
use kiln_krm::read::read_loose_file;

use super::*;

const KPTFILE: &str = "apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
pipeline:
  mutators:
    - image: gcr.io/kpt-fn/set-namespace:v0.4.1
      configMap:
        namespace: default
    - image: gcr.io/kpt-fn/apply-setters:v0.2.0
      configMap:
        replicas: \"3\"
        image: nginx # the server
";

const INNER: &str = "apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: inner
pipeline:
  mutators:
    - image: apply-setters:v0.2.0
      configPath: setters.yaml
";

const SETTERS: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: setters
data:
  replicas: \"1\"
  region: north
";

fn package() -> MemoryFiles {
    let files = [
        ("Kptfile", KPTFILE),
        ("inner/Kptfile", INNER),
        ("inner/setters.yaml", SETTERS),
    ];
    files.into_iter().collect()
}

#[test]
fn setters_come_from_all_pipelines() {
    let found = setters(&package()).expect("setters");
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|setter| (setter.name.as_str(), setter.value.as_str()))
        .collect();
    assert_eq!(
        found,
        [("image", "nginx"), ("region", "north"), ("replicas", "3")]
    );
}

#[test]
fn other_values_replace_those_of_the_package() {
    let package = package();
    let values = [("replicas", "5"), ("image", "1.2"), ("unknown", "x")];
    let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let replaced = override_setters(&package, &values.into()).expect("files");
    let files = OverlayFiles {
        base: &package,
        replaced,
    };
    let read = |path: &str| String::from_utf8(files.read(path).expect("a file")).expect("text");
    assert_eq!(
        read("Kptfile"),
        KPTFILE
            .replace("replicas: \"3\"", "replicas: \"5\"")
            .replace("image: nginx # the server", "image: \"1.2\"")
    );
    assert_eq!(
        read("inner/setters.yaml"),
        SETTERS.replace("replicas: \"1\"", "replicas: \"5\"")
    );
    assert_eq!(read("inner/Kptfile"), INNER);
    assert_eq!(
        override_setters(&package, &[].into()).expect("none").len(),
        0
    );
}

#[test]
fn a_cluster_gets_neither_configuration_nor_annotations_of_tools() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kept\n  annotations:\n    config.k8s.io/id: '1'\n    \
        config.kubernetes.io/local-config: \"false\"\n    internal.config.kubernetes.io/path: a.yaml\n---\n\
        apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: local\n  annotations:\n    \
        config.kubernetes.io/local-config: \"true\"\n---\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n---\n\
        apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\n  annotations:\n    \
        internal.config.kubernetes.io/path: inner/setters.yaml\n---\n\
        apiVersion: kpt.dev/v1alpha1\nkind: ResourceGroup\nmetadata:\n  name: inventory\n---\n\
        apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: unused\n---\n\
        apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata:\n  name: app\n---\n\
        apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: flux\n";
    let resources = read_loose_file(text.as_bytes().to_vec(), Dialect::Current).expect("resources");
    let paths = config_paths(&kptfiles(&package()));
    assert_eq!(paths, BTreeSet::from(["inner/setters.yaml".to_owned()]));
    let objects = objects_for_cluster(resources, &paths);
    let names: Vec<&str> = objects.iter().map(Resource::name).collect();
    assert_eq!(names, ["kept", "flux"]);
}

#[test]
fn a_cluster_gets_no_annotations_of_tools() {
    let text = "# The first.\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a   # kept\n  annotations:\n    \
        config.kubernetes.io/path: a.yaml\n    config.kubernetes.io/index: '0'\n    config.k8s.io/id: '1'\n    \
        internal.config.kubernetes.io/path: a.yaml\n    internal.config.kubernetes.io/index: '0'\n    \
        internal.config.kubernetes.io/seqindent: wide\n    internal.config.kubernetes.io/id: '1'\n\
        data: {a: \"1\",\n  b: c}\n---\n\
        apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n  annotations:\n    \
        note: internal.config.kubernetes.io/path\n    internal.config.kubernetes.io/path: a.yaml\n\n\
        data:\n  a:\n  - 1\n";
    let expected = "# The first.\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a   # kept\n\
        data: {a: \"1\",\n  b: c}\n---\n\
        apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n  annotations:\n    \
        note: internal.config.kubernetes.io/path\n\n\
        data:\n  a:\n  - 1\n";
    let cleaned = without_tool_annotations(text.as_bytes().to_vec()).expect("documents");
    assert_eq!(String::from_utf8(cleaned).expect("text"), expected);
    let cleaned = without_tool_annotations(expected.as_bytes().to_vec()).expect("documents");
    assert_eq!(String::from_utf8(cleaned).expect("text"), expected);
}
