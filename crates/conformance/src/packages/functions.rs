//! The functions that packages are rendered with, and configurations for them.

use crate::differential::Random;

/// Names of the functions that there are configurations for.
pub(super) const NAMES: [&str; 13] = [
    "set-namespace",
    "set-labels",
    "set-annotations",
    "apply-setters",
    "search-replace",
    "ensure-name-substring",
    "starlark",
    "apply-replacements",
    "upsert-resource",
    "create-setters",
    "delete-annotations",
    "set-image",
    "remove-local-config-resources",
];

const REGISTRY: &str = "ghcr.io/kptdev/krm-functions-catalog";

/// A function in one of its versions.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct OriginalFunction {
    pub(super) name: &'static str,
    pub(super) tag: String,
}

impl OriginalFunction {
    /// The function whose program has this name: `NAME@TAG`.
    pub(super) fn of_program(program: &str) -> Option<OriginalFunction> {
        let (name, tag) = program.split_once('@')?;
        let name = NAMES.into_iter().find(|known| *known == name)?;
        let tag = tag.to_owned();
        Some(OriginalFunction { name, tag })
    }
}

/// A function of a pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RandomStep {
    pub(super) function: OriginalFunction,
    /// What comes after the function's name, as it is in the Kptfile.
    config: String,
    /// A file of the package with the configuration.
    pub(super) file: Option<(String, String)>,
}

impl RandomStep {
    pub(super) fn yaml(&self) -> String {
        let OriginalFunction { name, tag } = &self.function;
        format!("    - image: {REGISTRY}/{name}:{tag}\n{}", self.config)
    }

    /// A function with a configuration of its kind, for all resources or for some.
    pub(super) fn random(
        function: &OriginalFunction,
        number: usize,
        random: &mut Random,
    ) -> RandomStep {
        let config = config(function.name, random);
        let (mut config, file) = match config {
            Config::None => (String::new(), None),
            Config::Map(pairs) => {
                let lines = pairs
                    .iter()
                    .map(|(key, value)| format!("        {key}: {value}\n"));
                let lines: String = lines.collect();
                (format!("      configMap:\n{lines}"), None)
            }
            Config::File(text) => {
                let path = format!("fn-{number}.yaml");
                let config = format!("      configPath: {path}\n");
                (config, Some((path, text)))
            }
        };
        for field in ["selectors", "exclude"] {
            if random.one_in(8) {
                let selector = random.pick(SELECTORS);
                config.push_str(&format!("      {field}:\n{selector}"));
            }
        }
        RandomStep {
            function: function.clone(),
            config,
            file,
        }
    }
}

enum Config {
    None,
    Map(Vec<(&'static str, &'static str)>),
    File(String),
}

fn config(function: &str, random: &mut Random) -> Config {
    use Config::{File, Map};
    match function {
        "set-namespace" => Map(vec![(
            "namespace",
            random.pick(&["prod", "\"n-1\"", "staging", "old"]),
        )]),
        "set-labels" if random.one_in(3) => File(LABELS.to_owned()),
        "set-labels" => Map(vec![
            ("tier", random.pick(&["front", "\"1\"", "'yes'"])),
            ("app.kubernetes.io/part-of", "shop"),
        ]),
        "set-annotations" => Map(vec![
            ("owner", random.pick(&["team-a", "\"a: b\"", "\"true\""])),
            (
                "example.com/note",
                random.pick(&["\"two words\"", "\"\"", "\"a\\nb\\n\"", "\"# x\""]),
            ),
        ]),
        "apply-setters" => Map(vec![
            ("replicas", random.pick(&["\"5\"", "\"3\""])),
            ("image", random.pick(&["nginx", "\"reg.io/n:1\"", "\"\""])),
            (
                "env",
                random.pick(&["\"[prod, test]\"", "\"[dev, test, prod]\"", "\"[]\""]),
            ),
        ]),
        "create-setters" => Map(vec![
            ("replicas", "\"3\""),
            ("image", "nginx"),
            ("env", "\"[dev, test]\""),
        ]),
        "search-replace" => match random.below(6) {
            0 => Map(vec![("by-value", "nginx"), ("put-value", "httpd")]),
            1 => Map(vec![
                ("by-path", "spec.replicas"),
                ("put-value", random.pick(&["\"7\"", "\"null\""])),
            ]),
            2 => Map(vec![
                ("by-path", "metadata.annotations.owner"),
                ("put-value", random.pick(&["me", "\"yes\""])),
            ]),
            3 => Map(vec![
                ("by-path", "spec.**.name"),
                ("by-value-regex", "\"w.*\""),
                ("put-value", "found"),
            ]),
            4 => Map(vec![
                ("by-value", "nginx"),
                ("put-comment", "\"kpt-set: ${image}\""),
            ]),
            _ => Map(vec![
                ("by-value-regex", "\"(.*)-web\""),
                ("put-value", "\"${1}-site\""),
            ]),
        },
        "ensure-name-substring" => Map(vec![(
            random.pick(&["prepend", "append"]),
            random.pick(&["dev-", "\"-x\""]),
        )]),
        "delete-annotations" => Map(vec![("annotationKeys", "\"owner,example.com/note\"")]),
        "set-image" => Map(vec![
            ("name", random.pick(&["nginx", "busybox"])),
            random
                .pick(&[&("newTag", "\"9\""), &("newName", "reg.io/other")])
                .to_owned(),
        ]),
        "remove-local-config-resources" => Config::None,
        "starlark" => File(starlark(random)),
        "upsert-resource" => File(format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  added: \"1\" # by upsert\n",
            random.pick(&["settings", "brand-new"])
        )),
        _ => File(REPLACEMENTS.to_owned()),
    }
}

/// A script; each body is the loop of a function over all items.
fn starlark(random: &mut Random) -> String {
    let body = random.pick(SCRIPTS).replace('\n', "\n    ");
    format!(
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: run\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\nsource: |-\n  def run(items):\n    {body}\n  run(ctx.resource_list[\"items\"])\n",
    )
}

/// Bodies of `run(items)`: changes in place, then resources that come, go and move.
const SCRIPTS: &[&str] = &[
    "for r in items:\n  r[\"metadata\"].setdefault(\"annotations\", {})[\"star\"] = \"lark\"",
    "for r in items:\n  if r[\"kind\"] == \"Deployment\":\n    r[\"spec\"][\"replicas\"] = 9",
    "for r in items:\n  if r[\"kind\"] == \"Service\":\n    r[\"spec\"][\"ports\"].insert(0, {\"port\": 1, \"name\": \"first\"})",
    "for r in items:\n  if r[\"kind\"] == \"Service\":\n    r[\"spec\"][\"ports\"].pop(0)",
    "for r in items:\n  if r[\"kind\"] == \"Service\":\n    r[\"spec\"][\"ports\"].append({\"port\": 9, \"extra\": [1, 2.5, True, None, \"3\"]})",
    "for r in items:\n  if r[\"kind\"] == \"ConfigMap\" and r.get(\"data\"):\n    r[\"data\"] = {k: v for k, v in reversed(r[\"data\"].items())}",
    "for r in items:\n  if r[\"kind\"] == \"ConfigMap\" and r.get(\"data\"):\n    r[\"data\"].pop(sorted(r[\"data\"])[0])",
    "for r in items:\n  if r[\"kind\"] == \"ConfigMap\":\n    r[\"data\"] = {\"text\": \"a\\nb\\n\", \"long\": \"word \" * 30, \"yes\": \"no\", \"n\": \"1\"}",
    "for r in items:\n  r[\"metadata\"].pop(\"labels\", None)",
    "for r in items:\n  if r[\"kind\"] == \"Service\":\n    r[\"metadata\"][\"annotations\"][\"internal.config.kubernetes.io/path\"] = \"moved.yaml\"\n    r[\"metadata\"][\"annotations\"][\"config.kubernetes.io/path\"] = \"moved.yaml\"",
    "for r in items:\n  if r[\"kind\"] == \"ConfigMap\":\n    r[\"metadata\"][\"name\"] += \"-new\"",
    "for r in items:\n  if r[\"kind\"] == \"Service\":\n    r[\"kind\"] = \"Servant\"\n    r[\"metadata\"][\"name\"] = \"changed\"",
    "ctx.resource_list[\"items\"] = [r for r in items if r[\"kind\"] != \"Service\"]",
    "ctx.resource_list[\"items\"] = [r for r in items if r[\"kind\"] == \"Kptfile\" or r[\"metadata\"][\"name\"] != \"web\"]",
    "items.append({\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"added\"}, \"data\": {\"a\": \"1\"}})",
    "items.insert(0, {\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"added\", \"annotations\": {\"internal.config.kubernetes.io/path\": \"new/added.yaml\", \"config.kubernetes.io/path\": \"new/added.yaml\"}}})",
    "items.append({\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"metadata\": {\"name\": \"added\", \"namespace\": \"old\", \"annotations\": {\"internal.config.kubernetes.io/path\": \"file-0.yaml\", \"config.kubernetes.io/path\": \"file-0.yaml\"}}})",
    "ctx.resource_list[\"items\"] = reversed(items)",
];

/// A selector in a list of one, as it is in the Kptfile.
const SELECTORS: &[&str] = &[
    "      - kind: ConfigMap\n",
    "      - kind: Deployment\n      - kind: Service\n",
    "      - name: my-web\n",
    "      - namespace: old\n",
    "      - labels:\n          app: web\n",
    "      - annotations:\n          owner: someone\n",
    "      - apiVersion: v1\n        kind: Service\n",
];

const LABELS: &str = "\
apiVersion: fn.kpt.dev/v1alpha1
kind: SetLabels
metadata:
  name: labels # of all
labels:
  tier: front
  # why
  version: \"1\"
";

const REPLACEMENTS: &str = "\
apiVersion: fn.kpt.dev/v1alpha1
kind: ApplyReplacements
metadata:
  name: replace
  annotations:
    config.kubernetes.io/local-config: \"true\"
replacements:
- source:
    kind: ConfigMap
    name: settings
    fieldPath: data.mode
  targets:
  - select:
      kind: Deployment
    fieldPaths:
    - metadata.annotations.mode
    options:
      create: true
";
