//! Names, blocks, and resolving uses of names.

use super::{Binding, BindingId, Block, FILE, NameScope, Resolved, Resolver, lacks, refuse};
use crate::spell;
use crate::syntax::ast::{FunctionId, IdentId};

impl Resolver<'_> {
    pub(super) fn push_block(&mut self, function: Option<FunctionId>) -> usize {
        let block = self.blocks.len();
        self.blocks[self.current].children.push(block);
        self.blocks.push(Block {
            parent: Some(self.current),
            function,
            ..Block::default()
        });
        self.current = block;
        block
    }

    pub(super) fn pop_block(&mut self) {
        self.current = self.blocks[self.current].parent.unwrap_or(FILE);
    }

    /// The block of the enclosing function, or of the file.
    fn container(&self) -> usize {
        let mut block = self.current;
        loop {
            match self.blocks[block].parent {
                Some(parent) if self.blocks[block].function.is_none() => block = parent,
                _ => return block,
            }
        }
    }

    pub(super) fn current_function(&self) -> Option<FunctionId> {
        self.blocks[self.container()].function
    }

    fn add_binding(&mut self, scope: NameScope, index: usize, first: IdentId) -> BindingId {
        let id = BindingId(self.out.bindings.len());
        self.out.bindings.push(Binding {
            scope,
            index,
            first,
        });
        id
    }

    /// Binds a name in the current block; returns whether it was bound before.
    pub(super) fn bind(&mut self, ident: IdentId) -> Resolved<bool> {
        if self.current != FILE {
            return Ok(self.bind_local(ident));
        }
        let node = self.ast.ident(ident);
        let before = self.blocks[FILE].bindings.get(&node.name);
        let before = before.or_else(|| self.globals.get(&node.name)).copied();
        let id = match before {
            Some(id) => id,
            None => {
                let index = self.out.module_globals.len();
                let id = self.add_binding(NameScope::Global, index, ident);
                self.globals.insert(node.name.clone(), id);
                self.out.module_globals.push(id);
                id
            }
        };
        if before.is_some() && !self.dialect.global_reassign {
            let binding = self.out.binding(id);
            let scope = if binding.scope == NameScope::Global {
                "global"
            } else {
                "local"
            };
            let first = self.ast.ident(binding.first).position;
            let place = format!("{}:{first}", self.program);
            let name = &node.name;
            let message = format!("cannot reassign {scope} {name} declared at {place}");
            return refuse(node.position, message);
        }
        self.out.idents[ident.0 as usize] = Some(id);
        Ok(before.is_some())
    }

    /// Binds a name as a local of the current block; returns whether it was bound before.
    pub(super) fn bind_local(&mut self, ident: IdentId) -> bool {
        let name = &self.ast.ident(ident).name;
        let before = self.blocks[self.current].bindings.get(name).copied();
        let id = match before {
            Some(id) => id,
            None => {
                let function = self.current_function();
                let index = self.locals(function).len();
                let id = self.add_binding(NameScope::Local, index, ident);
                self.locals(function).push(id);
                self.blocks[self.current].bindings.insert(name.clone(), id);
                id
            }
        };
        self.out.idents[ident.0 as usize] = Some(id);
        before.is_some()
    }

    fn locals(&mut self, function: Option<FunctionId>) -> &mut Vec<BindingId> {
        match function {
            Some(function) => &mut self.out.functions[function.0 as usize].locals,
            None => &mut self.out.module_locals,
        }
    }

    pub(super) fn use_name(&mut self, ident: IdentId) -> Resolved {
        // With reassignment, a global name has its meaning up to this position.
        if self.dialect.global_reassign && self.current == FILE {
            let id = self.use_at_top(ident, FILE)?;
            self.out.idents[ident.0 as usize] = Some(id);
            return Ok(());
        }
        let container = self.container();
        self.blocks[container].uses.push((ident, self.current));
        Ok(())
    }

    /// The binding of a name that only the block of the file can have.
    fn use_at_top(&mut self, ident: IdentId, block: usize) -> Resolved<BindingId> {
        let node = self.ast.ident(ident);
        let name = &node.name;
        let known = self.blocks[FILE].bindings.get(name);
        let known = known.or_else(|| self.globals.get(name));
        if let Some(id) = known.or_else(|| self.predeclared.get(name)) {
            return Ok(*id);
        }
        let scope = if (self.is_predeclared)(name) {
            NameScope::Predeclared
        } else if (self.is_universal)(name) {
            let missing = match name.as_str() {
                "set" if !self.dialect.sets => Some("sets"),
                "float" if !self.dialect.floats => Some("floating point"),
                _ => None,
            };
            if let Some(missing) = missing {
                return refuse(node.position, lacks(missing));
            }
            NameScope::Universal
        } else {
            let hint = self.similar_name(name, block);
            return refuse(node.position, format!("undefined: {name}{hint}"));
        };
        let id = self.add_binding(scope, 0, ident);
        self.predeclared.insert(name.clone(), id);
        Ok(id)
    }

    fn similar_name(&self, name: &str, block: usize) -> String {
        let mut names: Vec<&str> = Vec::new();
        let mut next = Some(block);
        while let Some(block) = next {
            names.extend(self.blocks[block].bindings.keys().map(String::as_str));
            next = self.blocks[block].parent;
        }
        let globals = self.out.module_globals.iter();
        let globals = globals.map(|id| self.ast.ident(self.out.binding(*id).first));
        names.extend(globals.map(|ident| ident.name.as_str()));
        names.sort_unstable();
        match spell::nearest(name, names) {
            Some(name) => format!(" (did you mean {name}?)"),
            None => String::new(),
        }
    }

    /// Resolves the uses of a container that its own blocks bind; the others are kept.
    pub(super) fn resolve_local_uses(&mut self, container: usize) {
        let uses = std::mem::take(&mut self.blocks[container].uses);
        let mut others = Vec::new();
        for (ident, block) in uses {
            match self.lookup_local(ident, block) {
                Some(id) => self.out.idents[ident.0 as usize] = Some(id),
                None => others.push((ident, block)),
            }
        }
        self.blocks[container].uses = others;
    }

    fn lookup_local(&self, ident: IdentId, mut block: usize) -> Option<BindingId> {
        let name = &self.ast.ident(ident).name;
        loop {
            if let Some(id) = self.blocks[block].bindings.get(name) {
                let scope = self.out.binding(*id).scope;
                return matches!(scope, NameScope::Local | NameScope::Cell).then_some(*id);
            }
            if self.blocks[block].function.is_some() {
                return None;
            }
            block = self.blocks[block].parent?;
        }
    }

    /// Resolves the remaining uses at the end of the file, inner blocks first.
    pub(super) fn resolve_other_uses(&mut self) -> Resolved {
        let mut order = Vec::new();
        let mut stack = vec![(FILE, 0)];
        while let Some((block, child)) = stack.pop() {
            match self.blocks[block].children.get(child) {
                Some(inner) => {
                    stack.push((block, child + 1));
                    stack.push((*inner, 0));
                }
                None => order.push(block),
            }
        }
        for block in order {
            for (ident, place) in std::mem::take(&mut self.blocks[block].uses) {
                let id = self.lookup_lexical(ident, place)?;
                self.out.idents[ident.0 as usize] = Some(id);
            }
        }
        Ok(())
    }

    /// Finds a name in the blocks around `place`, and creates cells and free variables for it.
    fn lookup_lexical(&mut self, ident: IdentId, place: usize) -> Resolved<BindingId> {
        let name = &self.ast.ident(ident).name;
        let mut path = Vec::new();
        let mut block = place;
        let mut found = loop {
            if block == FILE {
                break self.use_at_top(ident, place)?;
            }
            if let Some(id) = self.blocks[block].bindings.get(name) {
                break *id;
            }
            path.push(block);
            block = self.blocks[block].parent.unwrap_or(FILE);
        };
        for block in path.into_iter().rev() {
            let binding = self.out.binding(found);
            let enclosed = matches!(
                binding.scope,
                NameScope::Local | NameScope::Cell | NameScope::Free
            );
            if let Some(function) = self.blocks[block].function
                && enclosed
            {
                if binding.scope == NameScope::Local {
                    self.out.bindings[found.0].scope = NameScope::Cell;
                }
                let free = &mut self.out.functions[function.0 as usize].free;
                let index = free.len();
                free.push(found);
                found = self.add_binding(NameScope::Free, index, binding.first);
            }
            self.blocks[block].bindings.insert(name.clone(), found);
        }
        Ok(found)
    }
}
