//! The one in-memory truth about hosts and their free capacity, derived from Hypervisors, Reservations and the assume
//! list. It chooses nothing and knows no pipeline; the scheduler owns it under one lock, so that a decision and its
//! assume entries are one step. Pure: no I/O, no clock.
//!
//! ```
//! use berth_capacity_view::{Assumed, View};
//! use berth_core::{Bytes, ClusterName, Cores, HostName, Resources, SlotKey, host::Host};
//!
//! let size = |gib: u64, cpu| Resources::new(Bytes::from_mib(gib * 1024), Cores::new(cpu));
//! let mut view = View::default();
//! view.set_host(Host { name: "node-1".into(), capacity: size(512, 64).into(), ..Host::default() });
//!
//! let key = SlotKey::new(ClusterName::home(), "slot-0");
//! view.assume(Assumed { key: key.clone(), host: "node-1".into(), size: size(128, 16), vms: [].into(), doubt: false });
//! let node: HostName = "node-1".into();
//! assert_eq!(view.free(&node), Some(size(384, 48).into()));
//! view.forget(&key);
//! assert_eq!(view.free(&node), Some(size(512, 64).into()));
//! ```

mod assumed;
mod claim;
mod class;
mod columns;
mod counted;
mod host_set;
mod host_state;
mod hosts;
mod index;
mod overlay;
mod promised;
mod question;
mod view;

pub use assumed::Assumed;
pub use claim::{Claim, ClaimedQuota, HeldClaim, Restored};
pub use class::{Class, ClassSet};
pub use counted::DecisionEntries;
pub use host_set::{HostId, HostSet};
pub use host_state::{HostState, Taken};
pub use overlay::Overlay;
pub use question::{FreeCapacities, Question};
pub use view::{HostChange, View};
