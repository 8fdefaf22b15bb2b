//! `kiln rpkg update`

use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;
use kiln_krm::kptfile::Condition;
use kiln_task::PackageMetadata;

use super::print_status;
use crate::complete;
use crate::error::bail_usage;
use crate::rpkg::flags::WriteFlags;
use crate::rpkg::render_flags::RenderFlags;
use crate::ui::Ui;

/// Change labels, annotations, readiness gates and conditions of a draft
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 kiln rpkg update blueprints.app.v1 --label team=web\n\
    \x20 kiln rpkg update blueprints.app.v1 --condition checked=True")]
pub(super) struct UpdateArgs {
    /// Draft to change (required)
    #[arg(value_name = "PACKAGE", add = ArgValueCompleter::new(complete::revisions))]
    name: Option<String>,
    /// Set a label, or remove it with KEY-
    #[arg(long = "label", value_name = "KEY=VALUE|KEY-")]
    labels: Vec<String>,
    /// Set an annotation, or remove it with KEY-
    #[arg(long = "annotation", value_name = "KEY=VALUE|KEY-")]
    annotations: Vec<String>,
    /// Require a condition to be true before the revision is proposed or approved, or no longer require it with TYPE-
    #[arg(long = "readiness-gate", value_name = "TYPE|TYPE-")]
    readiness_gates: Vec<String>,
    /// Set a condition to True, False or Unknown, or remove it with TYPE-
    #[arg(
        long = "condition",
        value_name = "TYPE=STATUS[,REASON[,MESSAGE]]|TYPE-"
    )]
    conditions: Vec<String>,
    #[command(flatten)]
    write: WriteFlags,
    #[command(flatten)]
    render: RenderFlags,
}

pub(super) fn cmd_update(ui: &Ui, args: &UpdateArgs) -> Result<()> {
    let Some(name) = &args.name else {
        bail_usage!("PACKAGE is a required positional argument");
    };
    let session = args.write.open(&args.render.ui(ui))?;
    let located = session.find(name)?;
    let kptfile = located.revision.kptfile();
    let mut metadata = PackageMetadata::default();
    if !args.labels.is_empty() {
        metadata.labels = Some(changed_map(kptfile.metadata.labels, &args.labels, "label")?);
    }
    if !args.annotations.is_empty() {
        let present = kptfile.metadata.annotations;
        metadata.annotations = Some(changed_map(present, &args.annotations, "annotation")?);
    }
    if !args.readiness_gates.is_empty() {
        let present = kptfile.info.unwrap_or_default().readiness_gates;
        let mut gates: Vec<String> = present
            .into_iter()
            .map(|gate| gate.condition_type)
            .collect();
        for change in &args.readiness_gates {
            if matches!(change.as_str(), "" | "-") {
                bail_usage!("--readiness-gate must be TYPE or TYPE-, not {change:?}");
            }
            match change.strip_suffix('-') {
                Some(gone) => gates.retain(|gate| gate != gone),
                None if gates.contains(change) => {}
                None => gates.push(change.clone()),
            }
        }
        metadata.readiness_gates = Some(gates);
    }
    if !args.conditions.is_empty() {
        let present = kptfile.status.unwrap_or_default().conditions;
        metadata.conditions = Some(changed_conditions(present, &args.conditions)?);
    }
    let setup = args.render.check(ui)?;
    let log = args.render.log(ui);
    session.engine(&setup, &log).update(&located, &metadata)?;
    print_status(ui, name, "updated")
}

fn changed_map(
    present: BTreeMap<String, String>,
    changes: &[String],
    what: &str,
) -> Result<Vec<(String, String)>> {
    let mut map = present;
    for change in changes {
        match (change.split_once('='), change.strip_suffix('-')) {
            (Some((key, value)), _) if !key.is_empty() => {
                map.insert(key.to_owned(), value.to_owned());
            }
            (None, Some(key)) if !key.is_empty() => {
                map.remove(key);
            }
            _ => bail_usage!("--{what} must be KEY=VALUE or KEY-, not {change:?}"),
        }
    }
    Ok(map.into_iter().collect())
}

fn changed_conditions(present: Vec<Condition>, changes: &[String]) -> Result<Vec<Condition>> {
    let mut conditions = present;
    for change in changes {
        match (change.split_once('='), change.strip_suffix('-')) {
            (Some((kind, rest)), _) if !kind.is_empty() => {
                let mut parts = rest.splitn(3, ',').map(str::to_owned);
                let mut next = || parts.next().unwrap_or_default();
                let new = Condition {
                    kind: kind.to_owned(),
                    status: next(),
                    reason: next(),
                    message: next(),
                };
                match conditions.iter_mut().find(|one| one.kind == kind) {
                    Some(same) => *same = new,
                    None => conditions.push(new),
                }
            }
            (None, Some(kind)) if !kind.is_empty() => conditions.retain(|one| one.kind != kind),
            _ => {
                bail_usage!(
                    "--condition must be TYPE=STATUS[,REASON[,MESSAGE]] or TYPE-, not {change:?}"
                )
            }
        }
    }
    Ok(conditions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_set_and_unset() {
        let present = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
        let run = |changes: &[&str]| {
            let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
            changed_map(present.clone(), &changes, "label").ok()
        };
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            run(&["b=x=y"]),
            Some(vec![pair("a", "1"), pair("b", "x=y")])
        );
        assert_eq!(run(&["a-", "c="]), Some(vec![pair("c", "")]));
        assert_eq!(run(&["a"]), None);
        assert_eq!(run(&["=x"]), None);
    }

    #[test]
    fn conditions_are_set_and_unset() {
        let changes = ["a=True,R,m, n", "b=False", "c=Unknown", "b-"].map(str::to_owned);
        let conditions = changed_conditions(Vec::new(), &changes).expect("conditions");
        let kinds: Vec<&str> = conditions.iter().map(|one| one.kind.as_str()).collect();
        assert_eq!(kinds, ["a", "c"]);
        assert_eq!(conditions[0].message, "m, n");
    }
}
