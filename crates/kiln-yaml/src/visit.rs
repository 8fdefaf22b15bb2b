//! Walking over a tree with the path to each node at hand.
//!
//! The walk keeps its own stack, so depth costs no call frames, and the path is one growing and shrinking list, so it
//! costs no allocation a node. To change what it finds, a caller collects ids and edits afterwards. Aliases are
//! visited as nodes and not followed.

use std::fmt;

use crate::noderef::NodeRef;

/// One step from a collection to something in it.
#[derive(Clone, Copy, Debug)]
pub enum PathStep<'a> {
    /// To the value of this key.
    Key(NodeRef<'a>),
    /// To the item at this place, from 0.
    Index(usize),
}

/// A node on the walk.
#[derive(Debug)]
pub struct Visit<'a, 'p> {
    pub node: NodeRef<'a>,
    /// The steps from where the walk began.
    pub path: &'p [PathStep<'a>],
}

impl<'a> Visit<'a, '_> {
    /// The key that the node is the value of; none for items and for the start of the walk.
    ///
    /// The comment behind a key whose value is a block collection belongs to the key.
    pub fn key(&self) -> Option<NodeRef<'a>> {
        match self.path.last() {
            Some(PathStep::Key(key)) => Some(*key),
            _ => None,
        }
    }

    /// The path as people write it: `spec.containers[0].image`.
    pub fn display_path(&self) -> impl fmt::Display {
        DisplayPath(self.path)
    }
}

struct DisplayPath<'a, 'p>(&'p [PathStep<'a>]);

impl fmt::Display for DisplayPath<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                PathStep::Key(key) if at == 0 => f.write_str(key.value())?,
                PathStep::Key(key) => write!(f, ".{}", key.value())?,
                PathStep::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl<'a> NodeRef<'a> {
    /// Visits this node and all values and items below it, parents first, in the order of the text.
    ///
    /// Keys are not visited on their own: [`Visit::key`] gives them with their value.
    pub fn visit(self, mut visitor: impl FnMut(Visit<'a, '_>)) {
        let mut path = Vec::new();
        visitor(Visit {
            node: self,
            path: &path,
        });
        let mut open: Vec<Children<'a>> = vec![Children::of(self)];
        while let Some(children) = open.last_mut() {
            let Some((step, node)) = children.next() else {
                open.pop();
                path.pop();
                continue;
            };
            path.push(step);
            visitor(Visit { node, path: &path });
            if node.is_empty() {
                path.pop();
            } else {
                open.push(Children::of(node));
            }
        }
    }
}

/// What is left to visit of one collection.
struct Children<'a> {
    next: Option<NodeRef<'a>>,
    /// How many items came before; none in a mapping.
    index: Option<usize>,
}

impl<'a> Children<'a> {
    fn of(node: NodeRef<'a>) -> Children<'a> {
        Children {
            next: node.first_child(),
            index: node.is_sequence().then_some(0),
        }
    }
}

impl<'a> Iterator for Children<'a> {
    type Item = (PathStep<'a>, NodeRef<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let child = self.next?;
        let (step, node) = match &mut self.index {
            Some(index) => {
                *index += 1;
                (PathStep::Index(*index - 1), child)
            }
            None => (PathStep::Key(child), child.next_sibling()?),
        };
        self.next = node.next_sibling();
        Some((step, node))
    }
}
