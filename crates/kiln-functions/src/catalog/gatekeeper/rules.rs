//! The rules of a policy: their paths, their references, and their evaluation depth without references.

use std::collections::BTreeSet;

use regorus::unstable::{Expr, Literal, Module, Query, Ref, Rule, RuleAssign, RuleBody, RuleHead};

use super::syntax::{
    SyntaxNode, declared, head_reference, parts, path, statement_parts, variables,
};

pub(super) struct RuleInfo {
    /// Its path below `data`, up to the first part that only evaluation knows.
    pub(super) path: Vec<String>,
    /// Its name in messages.
    pub(super) name: String,
    pub(super) module: usize,
    pub(super) line: u32,
    /// The evaluation depth of its own statements and expressions.
    pub(super) levels: u32,
    /// Its references below `data`. `None` stands for any part.
    pub(super) references: Vec<Vec<Option<String>>>,
}

/// A call of a function that is not a rule of the policy's packages.
pub(super) struct OtherCall {
    pub(super) name: String,
    pub(super) module: usize,
    pub(super) line: u32,
}

#[derive(Default)]
pub(super) struct Rules {
    pub(super) rules: Vec<RuleInfo>,
    pub(super) other_calls: Vec<OtherCall>,
    /// Targets of `with` other than `input` and `data`: lines by module.
    pub(super) mocks: Vec<(usize, u32)>,
}

impl Rules {
    pub(super) fn read(modules: &[Module]) -> Rules {
        let mut rules = Rules::default();
        let mut prefixes = BTreeSet::new();
        for module in modules {
            let package = package(module);
            for rule in &module.policy {
                let path = [package.clone(), rule_path(rule)].concat();
                prefixes.extend((1..=path.len()).map(|length| path[..length].to_vec()));
            }
        }
        for (number, module) in modules.iter().enumerate() {
            let mut reader = RuleReader {
                rules: &mut rules,
                prefixes: &prefixes,
                module: number,
                package: package(module),
                imports: imports(module),
                locals: Vec::new(),
                references: Vec::new(),
                loops: 0,
            };
            for rule in &module.policy {
                reader.rule(rule);
            }
        }
        rules
    }
}

fn package(module: &Module) -> Vec<String> {
    let path = path(&module.package.refr).unwrap_or_default();
    path.into_iter().flatten().collect()
}

/// Imported names and their paths below `data`; imports of `input` have an empty path.
fn imports(module: &Module) -> Vec<(String, Vec<Option<String>>)> {
    let mut imports = Vec::new();
    for import in &module.imports {
        let Some(path) = path(&import.refr) else {
            continue;
        };
        let name = match &import.r#as {
            Some(name) => Some(name.text().to_owned()),
            None => path.last().cloned().flatten(),
        };
        let is_data = path
            .first()
            .is_some_and(|root| root.as_deref() == Some("data"));
        let target = path.into_iter().skip(1).collect();
        imports.extend(name.map(|name| (name, if is_data { target } else { Vec::new() })));
    }
    imports
}

/// The part of a rule's path that is written in its head.
fn rule_path(rule: &Rule) -> Vec<String> {
    let path = path(head_reference(rule)).unwrap_or_default();
    path.into_iter().map_while(|part| part).collect()
}

struct RuleReader<'a> {
    rules: &'a mut Rules,
    /// The paths of all rules, and their prefixes.
    prefixes: &'a BTreeSet<Vec<String>>,
    module: usize,
    package: Vec<String>,
    imports: Vec<(String, Vec<Option<String>>)>,
    /// The local names of the rule and of the statements around.
    locals: Vec<Vec<String>>,
    references: Vec<Vec<Option<String>>>,
    /// Loops of the current statement.
    loops: u32,
}

impl RuleReader<'_> {
    fn rule(&mut self, rule: &Ref<Rule>) {
        self.references.clear();
        let mut levels = 8;
        match rule.as_ref() {
            Rule::Default { value, .. } => levels += self.expr(value),
            Rule::Spec { head, bodies, .. } => {
                let (arguments, outputs): (&[Ref<Expr>], Vec<&Ref<Expr>>) = match head {
                    RuleHead::Compr { refr, assign, .. } => {
                        let outputs = indices(refr).into_iter().chain(value(assign));
                        (&[], outputs.collect())
                    }
                    RuleHead::Set { key, .. } => (&[], key.iter().collect()),
                    RuleHead::Func { args, assign, .. } => {
                        (args, value(assign).into_iter().collect())
                    }
                };
                let mut names = Vec::new();
                arguments
                    .iter()
                    .for_each(|argument| variables(argument, &mut names));
                self.locals.push(names);
                let deepest = bodies.iter().map(|body| self.body(body, &outputs)).max();
                let own = deepest.unwrap_or_else(|| self.outputs(&outputs));
                levels += own + arguments.len() as u32;
                self.locals.pop();
            }
        }
        let path = rule_path(rule);
        let name = path.join(".");
        let references = std::mem::take(&mut self.references);
        self.rules.rules.push(RuleInfo {
            path: [self.package.clone(), path].concat(),
            name,
            module: self.module,
            line: rule.span().line,
            levels,
            references,
        });
    }

    fn body(&mut self, body: &RuleBody, outputs: &[&Ref<Expr>]) -> u32 {
        self.locals.push(declared(&body.query));
        let own_output = body.assign.as_ref().map(|assign| &assign.value);
        let outputs: Vec<&Ref<Expr>> = outputs.iter().copied().chain(own_output).collect();
        let statements = self.statements(&body.query);
        let levels = statements.saturating_add(self.outputs(&outputs));
        self.locals.pop();
        levels
    }

    fn outputs(&mut self, outputs: &[&Ref<Expr>]) -> u32 {
        self.loops = 0;
        let depth = outputs.iter().map(|output| self.expr(output)).max();
        self.loops.saturating_add(depth.unwrap_or(0))
    }

    /// Statements nest in the loops of the statements before them.
    fn statements(&mut self, query: &Query) -> u32 {
        let mut nested: u32 = 2;
        let mut deepest = 0;
        for statement in &query.stmts {
            let around = std::mem::take(&mut self.loops);
            if let Literal::Every { key, value, .. } = &statement.literal {
                let names = key.iter().chain([value]);
                self.locals
                    .push(names.map(|name| name.text().to_owned()).collect());
            }
            for with in &statement.with_mods {
                self.with(&with.refr, with.span.line);
            }
            let depths = statement_parts(statement).into_iter();
            let depth = depths.map(|part| self.part(part)).max().unwrap_or(0);
            deepest = deepest.max(depth);
            let with = statement.with_mods.iter();
            let with: usize = with
                .map(|with| path(&with.refr).map_or(1, |path| path.len()))
                .sum();
            match &statement.literal {
                Literal::Every { .. } => _ = self.locals.pop(),
                Literal::SomeIn { .. } => self.loops += 1,
                _ => {}
            }
            nested = nested.saturating_add(1 + self.loops + with as u32);
            self.loops = around;
        }
        nested.saturating_add(deepest)
    }

    fn with(&mut self, target: &Expr, line: u32) {
        let root = path(target).and_then(|path| path.into_iter().next().flatten());
        if !matches!(root.as_deref(), Some("input" | "data")) {
            self.rules.mocks.push((self.module, line));
        }
    }

    fn part(&mut self, part: SyntaxNode<'_>) -> u32 {
        match part {
            SyntaxNode::Expr(expr) => self.expr(expr),
            SyntaxNode::Query(query) => {
                self.locals.push(declared(query));
                let levels = self.statements(query);
                self.locals.pop();
                levels
            }
        }
    }

    /// Records the references of an expression, and returns its depth.
    fn expr(&mut self, expr: &Expr) -> u32 {
        match expr {
            Expr::Var { .. } | Expr::RefDot { .. } | Expr::RefBrack { .. } => {
                if let Some(path) = path(expr) {
                    self.reference(&path);
                    return 1 + self.indices(expr);
                }
            }
            Expr::Call { fcn, params, .. } => {
                if let Some(path) = path(fcn) {
                    self.call(&path, fcn.span().line);
                    let params = params.iter().map(|param| self.expr(param)).max();
                    return 2 + params.unwrap_or(0);
                }
            }
            Expr::ArrayCompr { query, .. }
            | Expr::SetCompr { query, .. }
            | Expr::ObjectCompr { query, .. } => {
                // The collected value is evaluated inside of the statements.
                let around = std::mem::take(&mut self.loops);
                self.locals.push(declared(query));
                let statements = self.statements(query);
                let outputs = parts(expr).into_iter().filter_map(|part| match part {
                    SyntaxNode::Expr(expr) => Some(expr),
                    SyntaxNode::Query(_) => None,
                });
                let outputs: Vec<&Ref<Expr>> = outputs.collect();
                let levels = statements.saturating_add(self.outputs(&outputs));
                self.locals.pop();
                self.loops = around;
                return levels.saturating_add(2);
            }
            _ => {}
        }
        let depths = parts(expr).into_iter().map(|part| self.part(part)).max();
        1 + depths.unwrap_or(0)
    }

    /// The indices of a reference, each of which can be a loop.
    fn indices(&mut self, expr: &Expr) -> u32 {
        let mut deepest = 0;
        let mut expr = expr;
        loop {
            match expr {
                Expr::RefDot { refr, .. } => expr = refr,
                Expr::RefBrack { refr, index, .. } => {
                    if !matches!(index.as_ref(), Expr::String { .. } | Expr::Number { .. }) {
                        self.loops += 1;
                        deepest = deepest.max(self.expr(index));
                    }
                    expr = refr;
                }
                _ => return deepest,
            }
        }
    }

    fn is_local(&self, name: &str) -> bool {
        self.locals.iter().flatten().any(|local| local == name)
    }

    /// A reference as a path below `data`; `None` if it refers to something else.
    fn resolve(&self, path: &[Option<String>]) -> Option<Vec<Option<String>>> {
        let (root, rest) = path.split_first()?;
        let root = root.as_deref()?;
        if root == "input" || self.is_local(root) {
            return None;
        }
        if root == "data" {
            return Some(rest.to_vec());
        }
        let own = [self.package.as_slice(), &[root.to_owned()]].concat();
        if self.prefixes.contains(&own) {
            return Some(
                own.into_iter()
                    .map(Some)
                    .chain(rest.iter().cloned())
                    .collect(),
            );
        }
        let import = self.imports.iter().find(|(name, _)| name == root);
        let (_, target) = import.filter(|(_, target)| !target.is_empty())?;
        Some([target.as_slice(), rest].concat())
    }

    fn reference(&mut self, path: &[Option<String>]) {
        self.references.extend(self.resolve(path));
    }

    fn call(&mut self, path: &[Option<String>], line: u32) {
        if path
            .first()
            .is_some_and(|root| root.as_deref() == Some("walk"))
        {
            self.loops += 1;
        }
        let target = self.resolve(path);
        let target = target.filter(|target| {
            let path: Option<Vec<String>> = target.iter().cloned().collect();
            path.is_some_and(|path| self.prefixes.contains(&path))
        });
        match target {
            Some(target) => self.references.push(target),
            None => {
                let name: Vec<String> = path.iter().flatten().cloned().collect();
                self.rules.other_calls.push(OtherCall {
                    name: name.join("."),
                    module: self.module,
                    line,
                });
            }
        }
    }
}

fn value(assign: &Option<RuleAssign>) -> Option<&Ref<Expr>> {
    assign.as_ref().map(|assign| &assign.value)
}

/// The expressions in the brackets of a rule's head.
fn indices(mut refr: &Ref<Expr>) -> Vec<&Ref<Expr>> {
    let mut indices = Vec::new();
    loop {
        match refr.as_ref() {
            Expr::RefDot { refr: inner, .. } => refr = inner,
            Expr::RefBrack {
                refr: inner, index, ..
            } => {
                indices.push(index);
                refr = inner;
            }
            _ => return indices,
        }
    }
}

/// Whether a reference means a rule, a part of it, or an object that contains it.
pub(super) fn overlaps(reference: &[Option<String>], rule: &[String]) -> bool {
    let mut pairs = reference.iter().zip(rule);
    pairs.all(|(part, name)| part.as_ref().is_none_or(|part| part == name))
}
