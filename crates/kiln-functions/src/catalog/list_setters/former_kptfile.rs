//! Kptfiles as they were in 2021: what has been added since is an error to who knows them from then.

use kiln_yaml::NodeRef;

/// What a value may be.
#[derive(Clone, Copy)]
enum Shape {
    Any,
    Struct(&'static Struct),
    List(&'static Struct),
}

struct Struct {
    name: &'static str,
    fields: &'static [(&'static str, Shape)],
}

/// The fields that were not known, in the words of go-yaml; none if all were.
pub(super) fn unknown_fields(kptfile: NodeRef<'_>) -> Option<String> {
    let mut lines = Vec::new();
    let mut open = vec![(kptfile, Shape::Struct(&KPTFILE))];
    while let Some((node, shape)) = open.pop() {
        match shape {
            Shape::Any => {}
            Shape::List(item) => {
                let items: Vec<_> = node.items().collect();
                let items = items.into_iter().rev();
                open.extend(items.map(|node| (node, Shape::Struct(item))));
            }
            Shape::Struct(expected) => {
                let mut inner = Vec::new();
                for (key, value) in node.entries() {
                    let known = expected
                        .fields
                        .iter()
                        .find(|(name, _)| *name == key.value());
                    if let Some((_, shape)) = known {
                        inner.push((value, *shape));
                        continue;
                    }
                    let line = key.position().map_or(1, |position| position.line);
                    let (field, name) = (key.value(), expected.name);
                    let text = format!("  line {line}: field {field} not found in type v1.{name}");
                    lines.push((line, text));
                }
                open.extend(inner.into_iter().rev());
            }
        }
    }
    lines.sort();
    let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    (!lines.is_empty()).then(|| format!("yaml: unmarshal errors:\n{}", lines.join("\n")))
}

static KPTFILE: Struct = Struct {
    name: "KptFile",
    fields: &[
        ("apiVersion", Shape::Any),
        ("kind", Shape::Any),
        ("metadata", Shape::Struct(&METADATA)),
        ("upstream", Shape::Struct(&UPSTREAM)),
        ("upstreamLock", Shape::Struct(&UPSTREAM_LOCK)),
        ("info", Shape::Struct(&INFO)),
        ("pipeline", Shape::Struct(&PIPELINE)),
        ("inventory", Shape::Struct(&INVENTORY)),
    ],
};

static METADATA: Struct = Struct {
    name: "ObjectMeta",
    fields: &[
        ("name", Shape::Any),
        ("namespace", Shape::Any),
        ("labels", Shape::Any),
        ("annotations", Shape::Any),
    ],
};

static UPSTREAM: Struct = Struct {
    name: "Upstream",
    fields: &[
        ("type", Shape::Any),
        ("git", Shape::Struct(&GIT)),
        ("updateStrategy", Shape::Any),
    ],
};

static GIT: Struct = Struct {
    name: "Git",
    fields: &[
        ("repo", Shape::Any),
        ("directory", Shape::Any),
        ("ref", Shape::Any),
    ],
};

static UPSTREAM_LOCK: Struct = Struct {
    name: "UpstreamLock",
    fields: &[("type", Shape::Any), ("git", Shape::Struct(&GIT_LOCK))],
};

static GIT_LOCK: Struct = Struct {
    name: "GitLock",
    fields: &[
        ("repo", Shape::Any),
        ("directory", Shape::Any),
        ("ref", Shape::Any),
        ("commit", Shape::Any),
    ],
};

static INFO: Struct = Struct {
    name: "PackageInfo",
    fields: &[
        ("site", Shape::Any),
        ("emails", Shape::Any),
        ("license", Shape::Any),
        ("licenseFile", Shape::Any),
        ("description", Shape::Any),
        ("keywords", Shape::Any),
        ("man", Shape::Any),
    ],
};

static PIPELINE: Struct = Struct {
    name: "Pipeline",
    fields: &[
        ("mutators", Shape::List(&FUNCTION)),
        ("validators", Shape::List(&FUNCTION)),
    ],
};

static FUNCTION: Struct = Struct {
    name: "Function",
    fields: &[
        ("image", Shape::Any),
        ("configPath", Shape::Any),
        ("configMap", Shape::Any),
    ],
};

static INVENTORY: Struct = Struct {
    name: "Inventory",
    fields: &[
        ("namespace", Shape::Any),
        ("name", Shape::Any),
        ("inventoryID", Shape::Any),
        ("labels", Shape::Any),
        ("annotations", Shape::Any),
    ],
};
