//! Apply: writes the statuses of a project one after the other. A commitment that was changed meanwhile is not written.

use berth_cluster::Writer;
use berth_crds::CommittedResource;

use crate::error::Error;
use crate::plan::StatusChange;

/// The first error, after all others were written: they do not depend on each other.
pub(crate) async fn write_all(writer: &Writer<CommittedResource>, changes: &[StatusChange]) -> Result<(), Error> {
    let mut outcome = Ok(());
    for StatusChange { key, old, new } in changes {
        let written = writer.patch_status_of_version(key, old, new).await;
        outcome = outcome.and(written.map(drop).map_err(Error::from));
    }
    outcome
}
