//! Sizes of VMs, which distinguish a finished resize from one that is under way: both run on the same host. The
//! implementation that the binary wires in decides how they are read.

use std::future::Future;
use std::pin::Pin;

use berth_core::{Resources, VmId};

use crate::error::Error;

/// The size of a VM; nothing when it is unknown, because no access to Nova is configured.
pub type VmSize<'a> = Pin<Box<dyn Future<Output = Result<Option<Resources>, Error>> + Send + 'a>>;

/// Knows the present size of VMs.
pub trait VmSizes: Send + Sync + 'static {
    /// The size of a VM. A lookup that fails is an error and means "try again".
    fn size<'a>(&'a self, vm: &'a VmId) -> VmSize<'a>;
}

/// No access to Nova is configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoVmSizes;

impl VmSizes for NoVmSizes {
    fn size<'a>(&'a self, _: &'a VmId) -> VmSize<'a> {
        Box::pin(std::future::ready(Ok(None)))
    }
}
