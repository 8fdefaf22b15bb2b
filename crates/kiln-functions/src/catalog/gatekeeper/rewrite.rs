//! Adds calls to policies that charge the values they build.
//!
//! The engine does not limit the memory of a policy. Therefore each element that a comprehension or a rule collects,
//! each value that a rule or function builds, and each result of an operator that can be large is passed through a
//! function of ours. The text is changed at the positions of these expressions in the parsed policy; line numbers
//! stay the same. `print` does nothing, as in the original.

use regorus::Source;
use regorus::unstable::{
    ArithOp, Expr, Lexer, Module, Query, Ref, Rule, RuleHead, Span, TokenKind,
};

use super::limits::MAX_COLUMN;
use super::syntax::{SyntaxNode, head_reference, parts, path, statement_parts};

/// Charges an element of a collection: the element, and the number of parts that its rule can build of it.
pub(super) const ELEMENT: &str = "__kiln_element";

/// Charges a value that a rule or function returns in the same way.
pub(super) const VALUE: &str = "__kiln_value";

/// Charges the result of an operator: a product, or a set.
pub(super) const RESULT: &str = "__kiln_result";

pub(super) fn is_reserved(name: &str) -> bool {
    name.starts_with("__kiln_")
}

/// A call around a part of the text, or text that replaces it.
struct TextChange {
    start: usize,
    end: usize,
    before: String,
    after: String,
    replaces: bool,
}

/// The text of a module with charging calls. `None` if the positions of the module do not match its text.
pub(super) fn rewrite(rego: &str, module: &Module) -> Option<String> {
    let mut rewrite = Rewrite {
        edges: Edges::read(rego)?,
        built: 0,
        has_print: !module.policy.iter().any(|rule| is_named(rule, "print")),
        changes: Vec::new(),
        is_lost: false,
    };
    for rule in &module.policy {
        rewrite.rule(rule);
    }
    match rewrite.is_lost {
        true => None,
        false => apply(rego, rewrite.changes),
    }
}

fn is_named(rule: &Rule, name: &str) -> bool {
    path(head_reference(rule)).is_some_and(|path| path == [Some(name.to_owned())])
}

struct Rewrite {
    edges: Edges,
    /// The number of parts in the literals of the current rule.
    built: usize,
    has_print: bool,
    changes: Vec<TextChange>,
    is_lost: bool,
}

impl Rewrite {
    fn rule(&mut self, rule: &Rule) {
        let (head, bodies) = match rule {
            Rule::Spec { head, bodies, .. } => (head, bodies),
            Rule::Default { value, .. } => {
                // A default must not be a call, but its comprehensions can collect results of calls.
                self.built = built(value);
                self.expr(value);
                return;
            }
        };
        let mut outputs: Vec<(&'static str, &Ref<Expr>)> = Vec::new();
        match head {
            RuleHead::Set { key, .. } => outputs.extend(key.iter().map(|key| (ELEMENT, key))),
            RuleHead::Func { assign, .. } => {
                outputs.extend(assign.iter().map(|assign| (VALUE, &assign.value)));
            }
            RuleHead::Compr { refr, assign, .. } => {
                let is_element = matches!(refr.as_ref(), Expr::RefBrack { .. });
                let charge = if is_element { ELEMENT } else { VALUE };
                outputs.extend(assign.iter().map(|assign| (charge, &assign.value)));
            }
        }
        let of_bodies = bodies.iter().filter_map(|body| body.assign.as_ref());
        outputs.extend(of_bodies.map(|assign| (VALUE, &assign.value)));
        self.built = outputs.iter().map(|(_, output)| built(output)).sum();
        self.built += bodies
            .iter()
            .map(|body| built_by(&body.query))
            .sum::<usize>();
        for body in bodies {
            self.query(&body.query);
        }
        for (charge, output) in outputs {
            self.output(charge, output);
            self.expr(output);
        }
    }

    fn query(&mut self, query: &Query) {
        for statement in &query.stmts {
            for part in statement_parts(statement) {
                self.part(part);
            }
        }
    }

    fn part(&mut self, part: SyntaxNode<'_>) {
        match part {
            SyntaxNode::Expr(expr) => self.expr(expr),
            SyntaxNode::Query(query) => self.query(query),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::ArrayCompr { term, .. } | Expr::SetCompr { term, .. } => {
                self.output(ELEMENT, term);
            }
            Expr::ObjectCompr { key, value, .. } => {
                self.output(VALUE, key);
                self.output(ELEMENT, value);
            }
            Expr::ArithExpr {
                op: ArithOp::Mul, ..
            }
            | Expr::BinExpr { .. } => self.wrap(expr, RESULT, String::new()),
            Expr::ArithExpr {
                op: ArithOp::Sub,
                lhs,
                rhs,
                ..
            } if !is_number(lhs) && !is_number(rhs) => self.wrap(expr, RESULT, String::new()),
            Expr::Call { fcn, span, .. } if self.has_print && is_print(fcn) => {
                let lines = span.text().matches('\n').count();
                self.change(
                    expr,
                    format!("true{}", "\n".repeat(lines)),
                    String::new(),
                    true,
                );
                return;
            }
            _ => {}
        }
        for part in parts(expr) {
            self.part(part);
        }
    }

    fn output(&mut self, charge: &str, expr: &Expr) {
        let is_scalar = matches!(
            expr,
            Expr::Null { .. }
                | Expr::Bool { .. }
                | Expr::Number { .. }
                | Expr::String { .. }
                | Expr::RawString { .. }
        );
        let is_empty_set = matches!(expr, Expr::Set { items, .. } if items.is_empty());
        // A value that was not built takes no memory; an element always takes some.
        let is_free = is_scalar || is_empty_set || self.built == 0;
        if charge == VALUE && is_free {
            return;
        }
        if is_empty_set {
            // Its position is not known, and every collected element is the same value.
            return;
        }
        self.wrap(expr, charge, format!(", {}", self.built));
    }

    fn wrap(&mut self, expr: &Expr, function: &str, argument: String) {
        self.change(expr, format!("{function}("), format!("{argument})"), false);
    }

    fn change(&mut self, expr: &Expr, before: String, after: String, replaces: bool) {
        match self.edges.of(expr) {
            Some((start, end)) => self.changes.push(TextChange {
                start,
                end,
                before,
                after,
                replaces,
            }),
            None => self.is_lost = true,
        }
    }
}

/// Whether a difference with this operand is one of numbers, not of sets.
fn is_number(expr: &Expr) -> bool {
    matches!(expr, Expr::Number { .. })
}

fn is_print(function: &Expr) -> bool {
    matches!(function, Expr::Var { span, .. } if span.text() == "print")
}

/// The number of parts in the literals of an expression, including its statements.
fn built(expr: &Expr) -> usize {
    let own = match expr {
        Expr::Array { items, .. } | Expr::Set { items, .. } => 1 + items.len(),
        Expr::Object { fields, .. } => 1 + 2 * fields.len(),
        Expr::ArrayCompr { .. } | Expr::SetCompr { .. } | Expr::ObjectCompr { .. } => 1,
        _ => 0,
    };
    let of_parts = parts(expr).into_iter().map(|part| match part {
        SyntaxNode::Expr(expr) => built(expr),
        SyntaxNode::Query(query) => built_by(query),
    });
    own + of_parts.sum::<usize>()
}

fn built_by(query: &Query) -> usize {
    let parts = query.stmts.iter().flat_map(statement_parts);
    let built = parts.map(|part| match part {
        SyntaxNode::Expr(expr) => built(expr),
        SyntaxNode::Query(query) => built_by(query),
    });
    built.sum()
}

/// Where tokens begin and end. The engine's positions of strings exclude the quotes, and those of objects begin with
/// the last field.
struct Edges {
    tokens: Vec<(Span, TokenKind)>,
}

impl Edges {
    fn read(rego: &str) -> Option<Edges> {
        let source = Source::from_contents(String::new(), rego.to_owned()).ok()?;
        let mut lexer = Lexer::new(&source);
        lexer.set_max_col(MAX_COLUMN);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next_token().ok()?;
            if token.0 == TokenKind::Eof {
                return Some(Edges { tokens });
            }
            tokens.push((token.1, token.0));
        }
    }

    fn of(&self, expr: &Expr) -> Option<(usize, usize)> {
        let span = expr.span();
        let quote = |kind: &TokenKind| match kind {
            TokenKind::String | TokenKind::RawString => 1,
            _ => 0,
        };
        let first = match expr {
            Expr::Object { .. } => {
                let place = (span.line, span.col);
                self.tokens
                    .binary_search_by_key(&place, |(token, _)| (token.line, token.col))
            }
            _ => self
                .tokens
                .binary_search_by_key(&span.start, |(token, _)| token.start),
        };
        let last = self
            .tokens
            .binary_search_by_key(&span.end, |(token, _)| token.end);
        let (first, kind) = self.tokens.get(first.ok()?)?;
        let start = first.start as usize - quote(kind);
        let (last, kind) = self.tokens.get(last.ok()?)?;
        let end = last.end as usize + quote(kind);
        (start < end).then_some((start, end))
    }
}

/// Text that is inserted into a policy. At one position, closing text comes first, inner before outer; then opening
/// text, outer before inner.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Insertion<'a> {
    place: usize,
    begins: bool,
    order: (usize, usize),
    text: &'a str,
    /// Where the remaining text of the policy begins.
    next: usize,
}

fn apply(rego: &str, changes: Vec<TextChange>) -> Option<String> {
    let mut insertions: Vec<Insertion<'_>> = Vec::with_capacity(2 * changes.len());
    for (number, change) in changes.iter().enumerate() {
        insertions.push(Insertion {
            place: change.start,
            begins: true,
            order: (usize::MAX - change.end, number),
            text: &change.before,
            next: if change.replaces {
                change.end
            } else {
                change.start
            },
        });
        insertions.push(Insertion {
            place: change.end,
            begins: false,
            order: (usize::MAX - change.start, usize::MAX - number),
            text: &change.after,
            next: change.end,
        });
    }
    insertions.sort_unstable();
    let mut text = String::with_capacity(rego.len() + insertions.len() * 20);
    let mut at = 0;
    for insertion in insertions {
        text.push_str(rego.get(at..insertion.place)?);
        text.push_str(insertion.text);
        at = insertion.next;
    }
    text.push_str(rego.get(at..)?);
    Some(text)
}

#[cfg(test)]
mod tests {
    use regorus::Source;
    use regorus::unstable::Parser;

    use super::rewrite;

    fn rewritten(rego: &str) -> String {
        let source = Source::from_contents(String::new(), rego.to_owned()).unwrap();
        let module = Parser::new(&source).unwrap().parse().unwrap();
        let text = rewrite(rego, &module).unwrap();
        let source = Source::from_contents(String::new(), text.clone()).unwrap();
        Parser::new(&source).unwrap().parse().unwrap();
        text.replace("__kiln_", "_")
    }

    #[test]
    fn what_is_collected_built_or_multiplied_is_charged() {
        for (rego, expect) in [
            (
                "package a\nv[{\"msg\": \"é\", \"x\": x}] { x := 1 }",
                "package a\nv[_element({\"msg\": \"é\", \"x\": x}, 5)] { x := 1 }",
            ),
            (
                "package a\nf(x) = y { y := [x | x := \"b\" * (3) * `c`] }",
                "package a\nf(x) = _value(y, 1) { y := [_element(x, 1) | x := \
                 _result(_result(\"b\" * (3)) * `c`)] }",
            ),
            (
                "package a\nf(x) = true { x }\nr = {k: (v * 2) | v := x[k]; print(\"a\",\n v * 3)\n v }",
                "package a\nf(x) = true { x }\nr = _value({_value(k, 1): (_element(_result(v * 2), 1)) | v := x[k]; \
                 true\n\n v }, 1)",
            ),
            (
                "package a\np[x] = set() { x := {1, \"b\"} }\nq = \"a\" { true } else = [1] { false }",
                "package a\np[x] = set() { x := {1, \"b\"} }\nq = \"a\" { true } else = _value([1], 2) { false }",
            ),
            (
                "package a\nr { {x | x := a[_]} - {y | y := b[_]}; set() | (c - d) & {1}; e - 1; f -2; 3 - g }",
                "package a\nr { _result({_element(x, 5) | x := a[_]} - {_element(y, 5) | y := b[_]}); _result(set() | \
                 _result((_result(c - d)) & {1})); e - 1; f -2; 3 - g }",
            ),
            (
                "package a\ndefault r = [[x] | x := a[_] * 2]",
                "package a\ndefault r = [_element([x], 3) | x := _result(a[_] * 2)]",
            ),
        ] {
            assert_eq!(rewritten(rego), expect);
        }
    }
}
