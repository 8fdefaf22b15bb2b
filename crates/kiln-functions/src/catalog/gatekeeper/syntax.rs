//! Access to the parts of Rego's syntax trees, for walks that treat most of them alike.
//!
//! Walks recurse. [`super::scan`] has limited the depth of the trees.

use regorus::unstable::{Expr, Literal, LiteralStmt, Query, Ref, Rule, RuleHead};

/// A part of an expression or statement.
pub(super) enum SyntaxNode<'a> {
    Expr(&'a Ref<Expr>),
    /// The statements of a comprehension or of `every`.
    Query(&'a Query),
}

/// The parts of an expression. Those of comprehensions include the collected value.
pub(super) fn parts(expr: &Expr) -> Vec<SyntaxNode<'_>> {
    match expr {
        Expr::String { .. }
        | Expr::RawString { .. }
        | Expr::Number { .. }
        | Expr::Bool { .. }
        | Expr::Null { .. }
        | Expr::Var { .. } => Vec::new(),
        Expr::Array { items, .. } | Expr::Set { items, .. } => {
            items.iter().map(SyntaxNode::Expr).collect()
        }
        Expr::Object { fields, .. } => {
            let fields = fields.iter();
            fields
                .flat_map(|(_, name, value)| [SyntaxNode::Expr(name), SyntaxNode::Expr(value)])
                .collect()
        }
        Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
            vec![SyntaxNode::Query(query), SyntaxNode::Expr(term)]
        }
        Expr::ObjectCompr {
            key, value, query, ..
        } => vec![
            SyntaxNode::Query(query),
            SyntaxNode::Expr(key),
            SyntaxNode::Expr(value),
        ],
        Expr::Call { fcn, params, .. } => {
            let params = params.iter().map(SyntaxNode::Expr);
            std::iter::once(SyntaxNode::Expr(fcn))
                .chain(params)
                .collect()
        }
        Expr::UnaryExpr { expr, .. } => vec![SyntaxNode::Expr(expr)],
        Expr::RefDot { refr, .. } => vec![SyntaxNode::Expr(refr)],
        Expr::RefBrack { refr, index, .. } => vec![SyntaxNode::Expr(refr), SyntaxNode::Expr(index)],
        Expr::BinExpr { lhs, rhs, .. }
        | Expr::BoolExpr { lhs, rhs, .. }
        | Expr::ArithExpr { lhs, rhs, .. }
        | Expr::AssignExpr { lhs, rhs, .. } => vec![SyntaxNode::Expr(lhs), SyntaxNode::Expr(rhs)],
        Expr::Membership {
            key,
            value,
            collection,
            ..
        } => {
            let key = key.iter().map(SyntaxNode::Expr);
            key.chain([SyntaxNode::Expr(value), SyntaxNode::Expr(collection)])
                .collect()
        }
    }
}

/// The name in the head of a rule.
pub(super) fn head_reference(rule: &Rule) -> &Expr {
    match rule {
        Rule::Spec { head, .. } => match head {
            RuleHead::Compr { refr, .. }
            | RuleHead::Set { refr, .. }
            | RuleHead::Func { refr, .. } => refr,
        },
        Rule::Default { refr, .. } => refr,
    }
}

pub(super) fn statement_parts(statement: &LiteralStmt) -> Vec<SyntaxNode<'_>> {
    let mut parts = match &statement.literal {
        Literal::SomeVars { .. } => Vec::new(),
        Literal::SomeIn {
            key,
            value,
            collection,
            ..
        } => {
            let key = key.iter().map(SyntaxNode::Expr);
            key.chain([SyntaxNode::Expr(value), SyntaxNode::Expr(collection)])
                .collect()
        }
        Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => vec![SyntaxNode::Expr(expr)],
        Literal::Every { domain, query, .. } => {
            vec![SyntaxNode::Expr(domain), SyntaxNode::Query(query)]
        }
    };
    parts.extend(
        statement
            .with_mods
            .iter()
            .map(|with| SyntaxNode::Expr(&with.r#as)),
    );
    parts
}

/// A reference: its root and its parts, with `None` for parts that only evaluation knows.
pub(super) fn path(expr: &Expr) -> Option<Vec<Option<String>>> {
    let mut path = Vec::new();
    let mut expr = expr;
    loop {
        match expr {
            Expr::Var { span, .. } => {
                path.push(Some(span.text().to_owned()));
                path.reverse();
                return Some(path);
            }
            Expr::RefDot { refr, field, .. } => {
                path.push(Some(field.0.text().to_owned()));
                expr = refr;
            }
            Expr::RefBrack { refr, index, .. } => {
                path.push(match index.as_ref() {
                    Expr::String { value, .. } | Expr::RawString { value, .. } => {
                        value.as_string().ok().map(|text| text.to_string())
                    }
                    _ => None,
                });
                expr = refr;
            }
            _ => return None,
        }
    }
}

/// The names that statements declare: what `some`, `every` and `:=` bind.
pub(super) fn declared(query: &Query) -> Vec<String> {
    let mut names = Vec::new();
    for statement in &query.stmts {
        match &statement.literal {
            Literal::SomeVars { vars, .. } => {
                names.extend(vars.iter().map(|var| var.text().to_owned()));
            }
            Literal::SomeIn { key, value, .. } => {
                key.iter().for_each(|key| variables(key, &mut names));
                variables(value, &mut names);
            }
            Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => {
                if let Expr::AssignExpr {
                    op: regorus::unstable::AssignOp::ColEq,
                    lhs,
                    ..
                } = expr.as_ref()
                {
                    variables(lhs, &mut names);
                }
            }
            Literal::Every { .. } => {}
        }
    }
    names
}

pub(super) fn variables(pattern: &Expr, names: &mut Vec<String>) {
    if let Expr::Var { span, .. } = pattern {
        names.push(span.text().to_owned());
    }
    if let Expr::Array { .. } | Expr::Object { .. } | Expr::Set { .. } = pattern {
        for part in parts(pattern) {
            if let SyntaxNode::Expr(part) = part {
                variables(part, names);
            }
        }
    }
}
