//! The functions of generated packages, and configurations for them.

use crate::differential::Random;

/// Names of the functions with configurations.
pub(super) const NAMES: [&str; 11] = [
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
];

const REGISTRY: &str = "ghcr.io/kptdev/krm-functions-catalog";

/// A function in one of its versions.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) tag: String,
}

impl Function {
    /// The function whose program has this name: `NAME@TAG`.
    pub(super) fn of_program(program: &str) -> Option<Function> {
        let (name, tag) = program.split_once('@')?;
        let name = NAMES.into_iter().find(|known| *known == name)?;
        let tag = tag.to_owned();
        Some(Function { name, tag })
    }
}

/// A function of a pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) function: Function,
    /// The text after the function's name in the Kptfile.
    config: String,
    /// A file of the package with the configuration.
    pub(super) file: Option<(String, String)>,
}

impl Step {
    pub(super) fn yaml(&self) -> String {
        let Function { name, tag } = &self.function;
        format!("    - image: {REGISTRY}/{name}:{tag}\n{}", self.config)
    }

    /// A function with a matching configuration.
    pub(super) fn random(function: &Function, number: usize, random: &mut Random) -> Step {
        let map = |pairs: &[(&str, &str)]| {
            let lines: String = pairs
                .iter()
                .map(|(key, value)| format!("        {key}: {value}\n"))
                .collect();
            Step {
                function: function.clone(),
                config: format!("      configMap:\n{lines}"),
                file: None,
            }
        };
        let file = |text: String| {
            let path = format!("fn-{number}.yaml");
            Step {
                function: function.clone(),
                config: format!("      configPath: {path}\n"),
                file: Some((path, text)),
            }
        };
        match function.name {
            "set-namespace" => map(&[("namespace", random.pick(&["prod", "\"n-1\"", "staging"]))]),
            "set-labels" => map(&[
                ("tier", random.pick(&["front", "\"1\"", "'yes'"])),
                ("app.kubernetes.io/part-of", "shop"),
            ]),
            "set-annotations" => map(&[
                ("owner", random.pick(&["team-a", "\"a: b\"", "\"true\""])),
                ("example.com/note", "\"two words\""),
            ]),
            "apply-setters" => map(&[
                ("replicas", random.pick(&["\"5\"", "\"3\""])),
                ("image", random.pick(&["nginx", "\"reg.io/n:1\""])),
                ("env", "\"[prod, test]\""),
            ]),
            "create-setters" => map(&[
                ("replicas", "\"3\""),
                ("image", "nginx"),
                ("env", "\"[dev, test]\""),
            ]),
            "search-replace" => match random.below(3) {
                0 => map(&[("by-value", "nginx"), ("put-value", "httpd")]),
                1 => map(&[
                    ("by-path", "spec.replicas"),
                    ("put-value", random.pick(&["\"7\"", "\"null\""])),
                ]),
                _ => map(&[
                    ("by-value-regex", "\"(.*)-web\""),
                    ("put-value", "\"${1}-site\""),
                ]),
            },
            "ensure-name-substring" => map(&[(
                random.pick(&["prepend", "append"]),
                random.pick(&["dev-", "\"-x\""]),
            )]),
            "delete-annotations" => map(&[("annotationKeys", "\"owner,example.com/note\"")]),
            "starlark" => file(starlark(random)),
            "upsert-resource" => file(format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  added: \"1\" # by upsert\n",
                random.pick(&["settings", "brand-new"])
            )),
            _ => file(REPLACEMENTS.to_owned()),
        }
    }
}

fn starlark(random: &mut Random) -> String {
    let body = random.pick(&[
        "for r in ctx.resource_list[\"items\"]:\n    r[\"metadata\"].setdefault(\"annotations\", {})[\"star\"] = \"lark\"",
        "for r in ctx.resource_list[\"items\"]:\n    if r[\"kind\"] == \"Deployment\":\n      r[\"spec\"][\"replicas\"] = 9",
        "for r in ctx.resource_list[\"items\"]:\n    if r[\"kind\"] == \"Service\":\n      r[\"metadata\"][\"annotations\"][\"internal.config.kubernetes.io/path\"] = \"moved.yaml\"\n      r[\"metadata\"][\"annotations\"][\"config.kubernetes.io/path\"] = \"moved.yaml\"",
        "for r in ctx.resource_list[\"items\"]:\n    if r[\"kind\"] == \"Service\":\n      r[\"spec\"][\"ports\"].insert(0, {\"port\": 1, \"name\": \"first\"})",
        "ctx.resource_list[\"items\"] = [r for r in ctx.resource_list[\"items\"] if r[\"kind\"] != \"Service\"]",
    ]);
    format!(
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: run\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\nsource: |-\n  def run():\n    {}\n  run()\n",
        body.replace('\n', "\n  ")
    )
}

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
