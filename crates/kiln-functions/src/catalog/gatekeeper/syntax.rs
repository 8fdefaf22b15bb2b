//! The parts of Rego's syntax trees, for walks that treat most of them alike.
//!
//! Walks call themselves. [`super::scan`] has bounded how deep the trees are.

use regorus::unstable::{Expr, Literal, LiteralStmt, Query, Ref};

/// A part of an expression or statement.
pub(super) enum Part<'a> {
    Expr(&'a Ref<Expr>),
    /// The statements of a comprehension or of `every`.
    Query(&'a Query),
}

/// The parts that an expression is made of. Those of comprehensions include what they collect.
pub(super) fn parts(expr: &Expr) -> Vec<Part<'_>> {
    match expr {
        Expr::String { .. }
        | Expr::RawString { .. }
        | Expr::Number { .. }
        | Expr::Bool { .. }
        | Expr::Null { .. }
        | Expr::Var { .. } => Vec::new(),
        Expr::Array { items, .. } | Expr::Set { items, .. } => {
            items.iter().map(Part::Expr).collect()
        }
        Expr::Object { fields, .. } => {
            let fields = fields.iter();
            fields
                .flat_map(|(_, name, value)| [Part::Expr(name), Part::Expr(value)])
                .collect()
        }
        Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
            vec![Part::Query(query), Part::Expr(term)]
        }
        Expr::ObjectCompr {
            key, value, query, ..
        } => vec![Part::Query(query), Part::Expr(key), Part::Expr(value)],
        Expr::Call { fcn, params, .. } => {
            let params = params.iter().map(Part::Expr);
            std::iter::once(Part::Expr(fcn)).chain(params).collect()
        }
        Expr::UnaryExpr { expr, .. } => vec![Part::Expr(expr)],
        Expr::RefDot { refr, .. } => vec![Part::Expr(refr)],
        Expr::RefBrack { refr, index, .. } => vec![Part::Expr(refr), Part::Expr(index)],
        Expr::BinExpr { lhs, rhs, .. }
        | Expr::BoolExpr { lhs, rhs, .. }
        | Expr::ArithExpr { lhs, rhs, .. }
        | Expr::AssignExpr { lhs, rhs, .. } => vec![Part::Expr(lhs), Part::Expr(rhs)],
        Expr::Membership {
            key,
            value,
            collection,
            ..
        } => {
            let key = key.iter().map(Part::Expr);
            key.chain([Part::Expr(value), Part::Expr(collection)])
                .collect()
        }
    }
}

/// The parts that a statement is made of.
pub(super) fn statement_parts(statement: &LiteralStmt) -> Vec<Part<'_>> {
    let mut parts = match &statement.literal {
        Literal::SomeVars { .. } => Vec::new(),
        Literal::SomeIn {
            key,
            value,
            collection,
            ..
        } => {
            let key = key.iter().map(Part::Expr);
            key.chain([Part::Expr(value), Part::Expr(collection)])
                .collect()
        }
        Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => vec![Part::Expr(expr)],
        Literal::Every { domain, query, .. } => vec![Part::Expr(domain), Part::Query(query)],
    };
    parts.extend(
        statement
            .with_mods
            .iter()
            .map(|with| Part::Expr(&with.r#as)),
    );
    parts
}

/// A reference: its root and what follows, where parts that only evaluation knows are missing.
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

/// The variables of a pattern.
pub(super) fn variables(pattern: &Expr, names: &mut Vec<String>) {
    if let Expr::Var { span, .. } = pattern {
        names.push(span.text().to_owned());
    }
    if let Expr::Array { .. } | Expr::Object { .. } | Expr::Set { .. } = pattern {
        for part in parts(pattern) {
            if let Part::Expr(part) = part {
                variables(part, names);
            }
        }
    }
}
