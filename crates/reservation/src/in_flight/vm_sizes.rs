//! Sizes of VMs, which tell a resize that is done from one that is under way: both run on the same host. How they are
//! looked up is for the implementation that the binary wires in.

use std::future::Future;

use berth_core::{Resources, VmId};

use crate::error::Error;

/// Knows the present size of VMs (document 21 section 11.2 rows 5 and 6).
pub trait VmSizes: Send + Sync + 'static {
    /// The size of a VM; `Ok(None)` when nobody can say, because no access to Nova is configured. A look-up that fails is
    /// an error and means "try again".
    fn size(&self, vm: &VmId) -> impl Future<Output = Result<Option<Resources>, Error>> + Send;
}

/// No access to Nova is configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoVmSizes;

impl VmSizes for NoVmSizes {
    async fn size(&self, _: &VmId) -> Result<Option<Resources>, Error> {
        Ok(None)
    }
}
