//! Examples of groups of commands. Commands that do something have theirs beside their flags.

use crate::compat::Compat;

/// The examples of a group, which is named without the program; `None` for other commands.
pub(super) fn of_group(compat: Compat, path: &str) -> Option<&'static str> {
    let groups = match compat {
        Compat::Kiln | Compat::Kpt => GROUPS,
        Compat::KptV039 => LEGACY_GROUPS,
    };
    let (_, examples) = groups.iter().find(|(group, _)| *group == path)?;
    Some(examples)
}

const GROUPS: &[(&str, &str)] = &[
    (
        "",
        "  kiln pkg init app\n  kiln fn eval app --image set-labels:v0.2.0 --save -- tier=web\n  kiln fn render app",
    ),
    (
        "fn",
        "  kiln fn render app\n  kiln fn eval app --image set-namespace:v0.4.1 -- namespace=shop",
    ),
    (
        "pkg",
        "  kiln pkg get https://example.com/catalog.git/app@v1 app\n  kiln pkg update app@v2",
    ),
    (
        "rpkg",
        "  kiln rpkg clone blueprints.app.v1 shop --repository deployments\n  kiln rpkg get",
    ),
    (
        "repo",
        "  kiln repo register https://example.com/blueprints.git\n  kiln repo get",
    ),
    (
        "function",
        "  kiln function list\n  kiln function doc set-labels\n  kiln function new check-replicas --language python",
    ),
    (
        "image",
        "  kiln image pull example.com/functions/set-name:v1\n  kiln image list",
    ),
    (
        "wasm",
        "  kiln wasm push set-labels.wasm registry.example.com/functions/set-labels:v1",
    ),
    (
        "push",
        "  kiln fn render app -o objects | \\\n    kiln push artifact registry.example.com/shop:v1 --path -",
    ),
    ("argocd", "  kiln argocd generate app"),
    (
        "helm",
        "  helm template shop ./chart | kiln helm post-render --pipeline Kptfile",
    ),
    ("policy", "  kiln policy check app --policy policy.yaml"),
    ("migrate", "  kiln migrate check packages"),
    (
        "alpha",
        "  kiln alpha wasm pull registry.example.com/functions/set-labels:v1 \\\n    set-labels.wasm",
    ),
    (
        "alpha wasm",
        "  kiln alpha wasm pull registry.example.com/functions/set-labels:v1 \\\n    set-labels.wasm",
    ),
    (
        "serve",
        "  kiln serve\n  kiln serve --port=9000 --tls-self-signed\n  kiln fn render app --runner 127.0.0.1:9445",
    ),
    ("live", "  kiln live init app"),
    ("cache", "  kiln cache dir\n  kiln cache clean"),
];

const LEGACY_GROUPS: &[(&str, &str)] = &[
    ("", "  kiln --compat=kpt-v0.39 fn run app"),
    ("fn", "  kiln --compat=kpt-v0.39 fn run app"),
];
