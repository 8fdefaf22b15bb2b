//! Rendering one package is a task: its position among the others, and what it needs from outside.

use kiln_runtime::CancelToken;

use crate::log::Log;

/// The position of a package if one thread renders all: after its sub-packages, which have an order of their own.
///
/// Sub-packages are found while others are rendered; their positions fit between those that exist.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TaskOrder {
    /// The numbers of the sub-packages from the root down, then [`END`].
    path: Vec<usize>,
}

/// Sorts a package after its sub-packages.
const END: usize = usize::MAX;

impl TaskOrder {
    /// Sorts before all packages.
    pub(crate) const BEFORE_ALL: TaskOrder = TaskOrder { path: Vec::new() };

    pub(crate) fn root() -> TaskOrder {
        TaskOrder { path: vec![END] }
    }

    pub(crate) fn sub_package(&self, number: usize) -> TaskOrder {
        let path = [self.numbers(), &[number, END]].concat();
        TaskOrder { path }
    }

    /// The parent package, and the number of this one in it; `None` for the root.
    pub(crate) fn parent(&self) -> Option<(TaskOrder, usize)> {
        let (number, parent) = self.numbers().split_last()?;
        let path = [parent, &[END]].concat();
        Some((TaskOrder { path }, *number))
    }

    pub(crate) fn is_root(&self) -> bool {
        self.numbers().is_empty()
    }

    fn numbers(&self) -> &[usize] {
        self.path.strip_suffix(&[END]).unwrap_or(&self.path)
    }
}

/// What a task needs from outside.
pub(crate) struct TaskContext<'a> {
    pub(crate) log: &'a dyn Log,
    pub(crate) cancel: &'a CancelToken,
    /// Waits until all earlier tasks have succeeded; `None` if functions with side effects run at once.
    pub(crate) await_turn: Option<AwaitTurn<'a>>,
}

pub(crate) type AwaitTurn<'a> = &'a dyn Fn() -> Result<(), EarlierFailure>;

/// An earlier task has failed, so the result of this one is discarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("an earlier package failed")]
pub(crate) struct EarlierFailure;

#[cfg(test)]
mod tests {
    use super::TaskOrder;

    #[test]
    fn packages_come_after_their_sub_packages() {
        let root = TaskOrder::root();
        let (first, second) = (root.sub_package(0), root.sub_package(1));
        let inner = first.sub_package(3);
        assert!([&inner, &first, &second, &root].is_sorted());
        assert_eq!(inner.parent(), Some((first.clone(), 3)));
        assert_eq!(second.parent(), Some((root.clone(), 1)));
        assert_eq!(root.parent(), None);
    }
}
