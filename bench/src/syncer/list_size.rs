//! How much Limes lists.

use std::fmt;

use crate::size::Size;

/// The allowed ratio between the figure for each commitment in the large list and that in the small one.
pub(super) const GROWTH: f64 = 1.2;

/// The commitments of a project.
pub(super) const EACH: usize = 4;

/// What Limes lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListSize {
    pub(super) projects: usize,
    pub(super) commitments: usize,
}

impl ListSize {
    /// A tenth, and the whole.
    pub(super) fn both(size: Size) -> [Self; 2] {
        let small = size.pick(500, 25);
        [small, 10 * small].map(Self::new)
    }

    pub(super) fn new(projects: usize) -> Self {
        Self { projects, commitments: EACH * projects }
    }
}

impl fmt::Display for ListSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} projects with {} commitments", self.projects, self.commitments)
    }
}
