//! Kptfiles as of 2021: fields that were added later are errors for functions built then.

use kiln_yaml::NodeRef;

#[derive(Clone, Copy)]
enum KptfileShape {
    Any,
    Struct(&'static Struct),
    List(&'static Struct),
}

struct Struct {
    name: &'static str,
    fields: &'static [(&'static str, KptfileShape)],
}

/// The errors about unknown fields, in go-yaml's words; `None` if all fields are known.
pub(super) fn unknown_fields(kptfile: NodeRef<'_>) -> Option<String> {
    let mut lines = Vec::new();
    let mut open = vec![(kptfile, KptfileShape::Struct(&KPTFILE))];
    while let Some((node, shape)) = open.pop() {
        match shape {
            KptfileShape::Any => {}
            KptfileShape::List(item) => {
                let items: Vec<_> = node.items().collect();
                let items = items.into_iter().rev();
                open.extend(items.map(|node| (node, KptfileShape::Struct(item))));
            }
            KptfileShape::Struct(expected) => {
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
        ("apiVersion", KptfileShape::Any),
        ("kind", KptfileShape::Any),
        ("metadata", KptfileShape::Struct(&METADATA)),
        ("upstream", KptfileShape::Struct(&UPSTREAM)),
        ("upstreamLock", KptfileShape::Struct(&UPSTREAM_LOCK)),
        ("info", KptfileShape::Struct(&INFO)),
        ("pipeline", KptfileShape::Struct(&PIPELINE)),
        ("inventory", KptfileShape::Struct(&INVENTORY)),
    ],
};

static METADATA: Struct = Struct {
    name: "ObjectMeta",
    fields: &[
        ("name", KptfileShape::Any),
        ("namespace", KptfileShape::Any),
        ("labels", KptfileShape::Any),
        ("annotations", KptfileShape::Any),
    ],
};

static UPSTREAM: Struct = Struct {
    name: "Upstream",
    fields: &[
        ("type", KptfileShape::Any),
        ("git", KptfileShape::Struct(&GIT)),
        ("updateStrategy", KptfileShape::Any),
    ],
};

static GIT: Struct = Struct {
    name: "Git",
    fields: &[
        ("repo", KptfileShape::Any),
        ("directory", KptfileShape::Any),
        ("ref", KptfileShape::Any),
    ],
};

static UPSTREAM_LOCK: Struct = Struct {
    name: "UpstreamLock",
    fields: &[
        ("type", KptfileShape::Any),
        ("git", KptfileShape::Struct(&GIT_LOCK)),
    ],
};

static GIT_LOCK: Struct = Struct {
    name: "GitLock",
    fields: &[
        ("repo", KptfileShape::Any),
        ("directory", KptfileShape::Any),
        ("ref", KptfileShape::Any),
        ("commit", KptfileShape::Any),
    ],
};

static INFO: Struct = Struct {
    name: "PackageInfo",
    fields: &[
        ("site", KptfileShape::Any),
        ("emails", KptfileShape::Any),
        ("license", KptfileShape::Any),
        ("licenseFile", KptfileShape::Any),
        ("description", KptfileShape::Any),
        ("keywords", KptfileShape::Any),
        ("man", KptfileShape::Any),
    ],
};

static PIPELINE: Struct = Struct {
    name: "Pipeline",
    fields: &[
        ("mutators", KptfileShape::List(&FUNCTION)),
        ("validators", KptfileShape::List(&FUNCTION)),
    ],
};

static FUNCTION: Struct = Struct {
    name: "Function",
    fields: &[
        ("image", KptfileShape::Any),
        ("configPath", KptfileShape::Any),
        ("configMap", KptfileShape::Any),
    ],
};

static INVENTORY: Struct = Struct {
    name: "Inventory",
    fields: &[
        ("namespace", KptfileShape::Any),
        ("name", KptfileShape::Any),
        ("inventoryID", KptfileShape::Any),
        ("labels", KptfileShape::Any),
        ("annotations", KptfileShape::Any),
    ],
};
