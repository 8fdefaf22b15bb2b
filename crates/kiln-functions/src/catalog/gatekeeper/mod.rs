//! `gatekeeper`: checks resources against the policies in the same list.
//!
//! A ConstraintTemplate contains a policy in Rego; a constraint selects resources and gives parameters. Every item of
//! the list is reviewed, including templates and constraints, and all items together are the inventory that policies
//! can read. The constraint framework is implemented here; regorus evaluates Rego, in the dialect of OPA before 1.0.
//!
//! Errors about invalid Rego are not OPA's word for word: position and code have OPA's format, the reason comes from
//! the engine.

mod bounded;
mod builtins;
mod constraint;
mod graph;
mod limits;
mod matching;
mod opa;
mod openapi;
mod pattern;
mod policy;
mod references;
mod release;
mod report;
mod rewrite;
mod rules;
mod scan;
mod sprintf;
mod stack;
mod syntax;
mod template;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kiln_krm::results::ResultItem;
use regorus::Value;

use crate::function::{Context, Ending, Function, FunctionList, Stopped};
use crate::port::go_json::{Json, JsonRef, Scalars, read};
use crate::port::kyaml::failure;
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

use constraint::Constraint;
use limits::{MAX_RESULT_BYTES, MAX_TOKENS, Meter};
use matching::Review;
use policy::Policy;
use release::GatekeeperRelease;
use report::Finding;
use template::Template;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "gatekeeper",
    former_names: &["enforce-gatekeeper"],
    summary: "Checks resources against policies written in Rego",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(&["v0.2.1"], SDK, &Gatekeeper(GatekeeperRelease::V0_2_1))
            .with_behaviour(2),
        FunctionVersion::new(
            &["v0.2.2", "unstable", "latest"],
            SDK,
            &Gatekeeper(GatekeeperRelease::V0_2_2),
        )
        .with_behaviour(2),
    ],
};

const SDK: Sdk = Sdk::Kyaml(ResultsForm::Object(""), ErrorsPrinted::Once);

const TARGET: &str = "admission.k8s.gatekeeper.sh";

struct Gatekeeper(GatekeeperRelease);

/// Why there are no results.
enum Halt {
    /// The input is invalid.
    Fault(String),
    /// The call was cancelled, or is past its deadline.
    Stopped(Stopped),
}

impl From<String> for Halt {
    fn from(fault: String) -> Halt {
        Halt::Fault(fault)
    }
}

impl Function for Gatekeeper {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let release = self.0;
        let objects = match objects(list, release) {
            Ok(objects) => objects,
            Err(error) => return Ending::Error(format!("{error}\n")),
        };
        let meter = Arc::new(Meter::new(ctx.run));
        let results = stack::run(&meter, move |meter| results(&objects, release, meter));
        let results = match results {
            Ok(results) => results,
            Err(Halt::Fault(fault)) => vec![failure(fault)],
            Err(Halt::Stopped(stopped)) => return stopped.into(),
        };
        list.is_random = meter.is_random();
        list.results = results.into();
        match list.results.iter().any(|item| item.severity == "error") {
            true => Ending::Error(format!("{}\n", report::text(&list.results))),
            false => Ending::Success,
        }
    }
}

/// The items as the decoders of Kubernetes read them.
fn objects(list: &FunctionList, release: GatekeeperRelease) -> Result<Vec<Json>, String> {
    let mut objects = Vec::with_capacity(list.items.len());
    for item in &list.items {
        let json = read(item.root(), Scalars::Yaml11)
            .map_err(|error| format!("error converting YAML to JSON: {error}"))?;
        let text = json.root().to_text().ok_or_else(|| {
            "a resource is nested too deeply for policies to look at it".to_owned()
        })?;
        if let Some(fault) = release.metadata_fault(json.root()) {
            return Err(fault);
        }
        if let (GatekeeperRelease::V0_2_1, Some(fault)) =
            (release, template::decoding_fault(json.root()))
        {
            return Err(fault);
        }
        let kind = json.root().get("kind").and_then(JsonRef::as_str);
        if kind.is_none_or(str::is_empty) {
            return Err(format!(
                "error unmarshaling JSON: while decoding JSON: Object 'Kind' is missing in '{text}'"
            ));
        }
        objects.push(json);
    }
    Ok(objects)
}

fn results(
    objects: &[Json],
    release: GatekeeperRelease,
    meter: &Arc<Meter>,
) -> Result<Vec<ResultItem>, Halt> {
    Ok(report::results(validate(objects, release, meter)?)?)
}

fn validate<'a>(
    objects: &'a [Json],
    release: GatekeeperRelease,
    meter: &Arc<Meter>,
) -> Result<Vec<Finding<'a>>, Halt> {
    let mut policies = policies(objects, release, meter)?;
    let constraints = constraints(objects, &policies, release)?;
    let reviews = reviews(objects, release)?;
    let inventory = inventory(&reviews);
    for policy in policies.values_mut() {
        policy.set_inventory(inventory.clone())?;
    }
    let namespaces: BTreeMap<&str, JsonRef<'_>> = reviews
        .values()
        .filter(|review| review.is_namespace() && review.version == "v1")
        .map(|review| (review.name, review.object))
        .collect();
    let mut findings = Vec::new();
    let mut bytes = 0;
    for review in reviews.values() {
        let mut input = None;
        for constraint in constraints.values() {
            meter.stopped().map_err(Halt::Stopped)?;
            if !constraint.matches(review, &namespaces) {
                continue;
            }
            let Some(policy) = policies.get_mut(&constraint.kind.to_lowercase()) else {
                continue;
            };
            let input = input.get_or_insert_with(|| review.value());
            let violations = policy.violations(input.clone(), constraint.parameters(), meter)?;
            for message in violations {
                let finding = Finding {
                    message,
                    constraint: constraint.name,
                    action: constraint.action,
                    object: review.object,
                };
                bytes += finding.size();
                if bytes > MAX_RESULT_BYTES {
                    let limit = MAX_RESULT_BYTES / (1024 * 1024);
                    return Err(Halt::Fault(limits::unsupported(&format!(
                        "results of policies take more than {limit} MiB"
                    ))));
                }
                findings.push(finding);
            }
        }
    }
    Ok(findings)
}

/// By kind in lower case, which is the name of the template.
fn policies(
    objects: &[Json],
    release: GatekeeperRelease,
    meter: &Arc<Meter>,
) -> Result<BTreeMap<String, Policy>, Halt> {
    let mut policies = BTreeMap::new();
    let mut tokens = MAX_TOKENS;
    for object in objects {
        let Some(template) = Template::read(object.root(), release)? else {
            continue;
        };
        let name = template.name.to_owned();
        meter.stopped().map_err(Halt::Stopped)?;
        policies.insert(name, Policy::new(template, release, meter, &mut tokens)?);
    }
    Ok(policies)
}

/// By kind and name, as in the original.
fn constraints<'a>(
    objects: &'a [Json],
    policies: &BTreeMap<String, Policy>,
    release: GatekeeperRelease,
) -> Result<BTreeMap<(&'a str, &'a str), Constraint<'a>>, String> {
    let mut constraints = BTreeMap::new();
    for object in objects {
        if let Some(constraint) = Constraint::read(object.root(), policies, release)? {
            constraints.insert((constraint.kind, constraint.name), constraint);
        }
    }
    Ok(constraints)
}

/// The reviews by inventory path. Of several resources with the same name the last is kept.
fn reviews(
    objects: &[Json],
    release: GatekeeperRelease,
) -> Result<BTreeMap<[&str; 4], Review<'_>>, String> {
    let mut reviews = BTreeMap::new();
    for object in objects {
        // v0.2.1 decodes templates into types that its target does not review.
        if release == GatekeeperRelease::V0_2_1 && template::is_template(object.root()) {
            continue;
        }
        let review = Review::new(object.root(), release)?;
        // In the original a resource without a name replaces all others of its kind, where no policy finds it.
        if !review.name.is_empty() {
            reviews.insert(review.place(), review);
        }
    }
    Ok(reviews)
}

/// `data.inventory`
fn inventory(reviews: &BTreeMap<[&str; 4], Review<'_>>) -> Value {
    type Kinds<'a> = BTreeMap<&'a str, BTreeMap<&'a str, BTreeMap<&'a str, Value>>>;
    let mut namespaces: BTreeMap<&str, Kinds<'_>> = BTreeMap::new();
    for review in reviews.values() {
        let kinds = namespaces.entry(review.namespace).or_default();
        let names = kinds.entry(review.api_version).or_default();
        let names = names.entry(review.kind).or_default();
        names.insert(review.name, policy::value(review.object));
    }
    let of_kinds = |kinds: Kinds<'_>| {
        policy::object(kinds.into_iter().map(|(api_version, kinds)| {
            let kinds = kinds.into_iter();
            let kinds = kinds.map(|(kind, names)| (kind, policy::object(names)));
            (api_version, policy::object(kinds))
        }))
    };
    // Cluster-scoped resources have their own section.
    let cluster = namespaces.remove("").map(of_kinds);
    let cluster = cluster.map(|cluster| ("cluster", cluster));
    let namespaced = (!namespaces.is_empty()).then(|| {
        let namespaces = namespaces.into_iter();
        let namespaces = namespaces.map(|(name, kinds)| (name, of_kinds(kinds)));
        ("namespace", policy::object(namespaces))
    });
    policy::object(cluster.into_iter().chain(namespaced))
}

/// Removes duplicate messages.
fn unique(messages: impl Iterator<Item = (String, Value)>) -> Vec<String> {
    let messages: BTreeSet<(String, Value)> = messages.collect();
    messages.into_iter().map(|(message, _)| message).collect()
}
