//! Functions: parameters, defaults and bodies.

use super::{Resolved, Resolver, refuse};
use crate::syntax::Position;
use crate::syntax::ast::{FunctionBody, FunctionId, IdentId, Param};

impl Resolver<'_> {
    pub(super) fn function(&mut self, id: FunctionId) -> Resolved {
        let ast = self.ast;
        let function = ast.function(id);
        // Defaults belong to the enclosing block.
        for param in &function.params {
            if let Param::Optional { default, .. } = param {
                self.expr(*default)?;
            }
        }
        let block = self.push_block(Some(id));
        let loops = std::mem::take(&mut self.loops);
        self.params(id, &function.params)?;
        match &function.body {
            FunctionBody::Statements(body) => self.statements(body)?,
            FunctionBody::Expression(body) => self.expr(*body)?,
        }
        self.resolve_local_uses(block);
        self.pop_block();
        self.loops = loops;
        Ok(())
    }

    fn params(&mut self, id: FunctionId, params: &[Param]) -> Resolved {
        let ast = self.ast;
        let mut optional = false;
        let mut star: Option<(Position, Option<IdentId>)> = None;
        let mut star_star: Option<IdentId> = None;
        let mut keyword_only = 0;
        for param in params {
            let behind = star_star.map(|name| ast.ident(name).name.as_str());
            match param {
                Param::Required(name) => {
                    let position = ast.ident(*name).position;
                    if let Some(behind) = behind {
                        let message = format!("required parameter may not follow **{behind}");
                        return refuse(position, message);
                    }
                    if star.is_some() {
                        keyword_only += 1;
                    } else if optional {
                        let message = "required parameter may not follow optional";
                        return refuse(position, message);
                    }
                    self.param(*name, position)?;
                }
                Param::Optional { name, equals, .. } => {
                    if let Some(behind) = behind {
                        let message = format!("optional parameter may not follow **{behind}");
                        return refuse(*equals, message);
                    }
                    if star.is_some() {
                        keyword_only += 1;
                    }
                    self.param(*name, *equals)?;
                    optional = true;
                }
                Param::Star { position, name } => {
                    if let Some(behind) = behind {
                        let message = format!("* parameter may not follow **{behind}");
                        return refuse(*position, message);
                    }
                    if star.is_some() {
                        return refuse(*position, "multiple * parameters not allowed");
                    }
                    star = Some((*position, *name));
                }
                Param::StarStar { position, name } => {
                    if star_star.is_some() {
                        return refuse(*position, "multiple ** parameters not allowed");
                    }
                    star_star = Some(*name);
                }
            }
        }
        // These two come last, so that the others have the slots before them without a gap.
        if let Some((position, name)) = star {
            if let Some(name) = name {
                self.param(name, ast.ident(name).position)?;
                self.out.functions[id.0 as usize].has_varargs = true;
            } else if keyword_only == 0 {
                let message = "bare * must be followed by keyword-only parameters";
                return refuse(position, message);
            }
        }
        if let Some(name) = star_star {
            self.param(name, ast.ident(name).position)?;
            self.out.functions[id.0 as usize].has_kwargs = true;
        }
        self.out.functions[id.0 as usize].keyword_only = keyword_only;
        Ok(())
    }

    fn param(&mut self, name: IdentId, blame: Position) -> Resolved {
        if self.bind(name)? {
            let name = &self.ast.ident(name).name;
            return refuse(blame, format!("duplicate parameter: {name}"));
        }
        Ok(())
    }
}
