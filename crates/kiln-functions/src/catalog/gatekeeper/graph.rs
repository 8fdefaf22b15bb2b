//! The call graph of rules and functions: recursion and long chains are errors.
//!
//! OPA rejects recursion when it compiles. The engine does not, and its stack grows with every rule that another one
//! evaluates. A policy that passes needs a stack of at most [`MAX_LEVELS`] levels.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::limits::{MAX_EDGES, MAX_LEVELS, unsupported};
use super::rules::{RuleInfo, Rules, overlaps};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum GraphError {
    Recursive(Vec<Recursion>),
    TooDeep(String),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Recursion {
    pub(super) module: usize,
    pub(super) line: u32,
    /// The reason that OPA reports.
    pub(super) reason: String,
}

/// OPA's limit of reported recursive rules.
const MAX_REPORTED: usize = 10;

/// Rules by path, and the paths that they use.
struct Graph<'a> {
    rules: &'a [RuleInfo],
    /// The rules of each path.
    members: Vec<Vec<usize>>,
    /// The path of each rule.
    group: Vec<usize>,
    /// The paths that each rule uses.
    uses: Vec<Vec<usize>>,
}

pub(super) fn check(rules: &Rules) -> Result<(), GraphError> {
    let graph = Graph::new(&rules.rules).map_err(GraphError::TooDeep)?;
    let rest = graph.check_levels().map_err(GraphError::TooDeep)?;
    match rest.is_empty() {
        true => Ok(()),
        false => Err(GraphError::Recursive(graph.recursions(&rest))),
    }
}

impl<'a> Graph<'a> {
    fn new(rules: &'a [RuleInfo]) -> Result<Graph<'a>, String> {
        let mut paths: BTreeMap<&[String], usize> = BTreeMap::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        let mut group = Vec::with_capacity(rules.len());
        for (number, rule) in rules.iter().enumerate() {
            let at = *paths.entry(&rule.path).or_insert_with(|| {
                members.push(Vec::new());
                members.len() - 1
            });
            members[at].push(number);
            group.push(at);
        }
        let mut found: BTreeMap<&[Option<String>], Vec<usize>> = BTreeMap::new();
        let mut uses = Vec::with_capacity(rules.len());
        let mut edges = 0;
        for rule in rules {
            let mut used = BTreeSet::new();
            for reference in &rule.references {
                let targets = found
                    .entry(reference)
                    .or_insert_with(|| targets(&paths, reference));
                used.extend(targets.iter().copied());
            }
            edges += used.len();
            if edges > MAX_EDGES {
                return Err(unsupported("rules refer to each other too often"));
            }
            uses.push(used.into_iter().collect());
        }
        Ok(Graph {
            rules,
            members,
            group,
            uses,
        })
    }

    /// Checks the depth of chains of rules, starting with the rules that use no other. Returns the remaining paths,
    /// which are recursive or use recursive rules.
    fn check_levels(&self) -> Result<BTreeSet<usize>, String> {
        let count = self.members.len();
        let mut missing = vec![0_usize; count];
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut levels = vec![0_u32; count];
        for group in 0..count {
            let mut used = BTreeSet::new();
            for &rule in &self.members[group] {
                used.extend(self.uses[rule].iter().copied());
                levels[group] = levels[group].max(self.rules[rule].levels);
            }
            missing[group] = used.len();
            used.into_iter()
                .for_each(|target| users[target].push(group));
        }
        let own = levels.clone();
        let mut ready: Vec<usize> = (0..count).filter(|group| missing[*group] == 0).collect();
        let mut rest: BTreeSet<usize> = (0..count).collect();
        while let Some(group) = ready.pop() {
            rest.remove(&group);
            if levels[group] > MAX_LEVELS {
                let name = &self.rules[self.members[group][0]].name;
                return Err(unsupported(&format!(
                    "rule {name}, with the rules and functions that it uses, is nested too deeply"
                )));
            }
            for &user in &users[group] {
                levels[user] = levels[user].max(own[user].saturating_add(levels[group]));
                missing[user] -= 1;
                if missing[user] == 0 {
                    ready.push(user);
                }
            }
        }
        Ok(rest)
    }

    fn recursions(&self, rest: &BTreeSet<usize>) -> Vec<Recursion> {
        let mut recursions = Vec::new();
        for (number, rule) in self.rules.iter().enumerate() {
            if recursions.len() == MAX_REPORTED {
                break;
            }
            if !rest.contains(&self.group[number]) {
                continue;
            }
            let Some(path) = self.path_to_itself(number, rest) else {
                continue;
            };
            let names: Vec<&str> = path
                .iter()
                .map(|rule| self.rules[*rule].name.as_str())
                .collect();
            recursions.push(Recursion {
                module: rule.module,
                line: rule.line,
                reason: format!("rule {} is recursive: {}", rule.name, names.join(" -> ")),
            });
        }
        recursions
    }

    /// The shortest path from a rule to itself, including both ends.
    fn path_to_itself(&self, start: usize, rest: &BTreeSet<usize>) -> Option<Vec<usize>> {
        let mut before: BTreeMap<usize, usize> = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(rule) = queue.pop_front() {
            for group in self.uses[rule].iter().filter(|group| rest.contains(group)) {
                if *group == self.group[start] {
                    let mut path = vec![start, rule];
                    while let Some(rule) = path.last().and_then(|rule| before.get(rule)) {
                        path.push(*rule);
                    }
                    // A rule that uses itself directly is a path of its own.
                    path.reverse();
                    return Some(path);
                }
                for &member in &self.members[*group] {
                    if member != start && !before.contains_key(&member) {
                        before.insert(member, rule);
                        queue.push_back(member);
                    }
                }
            }
        }
        None
    }
}

/// The paths that a reference may mean.
fn targets(paths: &BTreeMap<&[String], usize>, reference: &[Option<String>]) -> Vec<usize> {
    let fixed: Vec<String> = reference.iter().map_while(Clone::clone).collect();
    let above = (0..fixed.len()).filter_map(|length| paths.get(&fixed[..length]));
    let below = paths
        .range(fixed.as_slice()..)
        .take_while(|(path, _)| path.starts_with(&fixed))
        .filter(|(path, _)| overlaps(reference, path));
    above
        .copied()
        .chain(below.map(|(_, group)| *group))
        .collect()
}
