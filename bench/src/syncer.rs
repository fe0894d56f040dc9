//! The syncer over many projects and commitments (rows o and p of docs/performance.md): a run that finds nothing to do, and
//! one that creates everything. The operator does nothing else meanwhile.

pub mod created;
mod doubles;
pub mod unchanged;

use std::fmt;

use crate::error::Error;
use crate::size::Size;
use crate::table::Row;

/// The allowed ratio between the figure for each commitment in the large list and that in the small one.
const GROWTH: f64 = 1.2;

/// The commitments of a project.
const EACH: usize = 4;

/// What Limes lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ListSize {
    projects: usize,
    commitments: usize,
}

impl ListSize {
    /// A tenth, and the whole.
    fn both(size: Size) -> [Self; 2] {
        let small = size.pick(500, 25);
        [small, 10 * small].map(Self::new)
    }

    fn new(projects: usize) -> Self {
        Self { projects, commitments: EACH * projects }
    }
}

impl fmt::Display for ListSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} projects with {} commitments", self.projects, self.commitments)
    }
}

pub async fn measure(size: Size) -> Result<Vec<Row>, Error> {
    Ok(vec![unchanged::measure(size).await?, created::measure(size).await?])
}
