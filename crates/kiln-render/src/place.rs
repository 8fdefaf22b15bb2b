//! Where a piece of work stands among all others if they are done one after the other.
//!
//! A package is entered, then the packages below it are dealt with in their order, then its own functions run. Places
//! are ordered in this way, and new ones fit between those that are there.

/// The place of entering a package, or of running its functions.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Place {
    /// Which of the packages below to take, from the root down; [`AFTER_INNER`] at the end of places of running.
    way: Vec<usize>,
}

/// More than any number of packages below another.
const AFTER_INNER: usize = usize::MAX;

impl Place {
    /// The place of entering the root package.
    pub(crate) fn root() -> Place {
        Place::default()
    }

    /// The place of entering a package directly below the one that is entered here.
    pub(crate) fn inner(&self, number: usize) -> Place {
        self.extended(number)
    }

    /// The place of running the functions of the package that is entered here.
    pub(crate) fn running(&self) -> Place {
        self.extended(AFTER_INNER)
    }

    /// The place of entering the package whose functions run here; itself if it is such a place.
    pub(crate) fn entering(&self) -> Place {
        let way = match self.way.as_slice() {
            [way @ .., AFTER_INNER] => way,
            way => way,
        };
        Place { way: way.to_vec() }
    }

    /// The place of entering the package around this one, and this one's number in there; none for the root.
    pub(crate) fn outer(&self) -> Option<(Place, usize)> {
        let mut outer = self.entering();
        let number = outer.way.pop()?;
        Some((outer, number))
    }

    fn extended(&self, number: usize) -> Place {
        let mut way = Vec::with_capacity(self.way.len() + 1);
        way.extend_from_slice(&self.way);
        way.push(number);
        Place { way }
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn places_are_in_the_order_of_the_work() {
        let root = Place::root();
        let (first, second) = (root.inner(0), root.inner(1));
        let inner = first.inner(0);
        let order = [
            root.clone(),
            first.clone(),
            inner.clone(),
            inner.running(),
            first.running(),
            second.clone(),
            second.running(),
            root.running(),
        ];
        assert!(order.is_sorted());
        assert_eq!(inner.running().outer(), Some((first.clone(), 0)));
        assert_eq!(second.outer(), Some((root.clone(), 1)));
        assert_eq!(root.running().outer(), None);
        assert_eq!(first.running().entering(), first);
    }
}
