//! Which host is good for a slot or a VM: pipelines of filters and weighers over the capacity view, and the one
//! interface through which controllers ask (documents 60 and 22, decisions D3, D4 and D13). Pure: no I/O, no clock,
//! no randomness.

mod built_in;
mod domain_names;
mod error;
mod intent;
mod pipeline_choice;
mod request;
mod scheduler;
mod shortage;
mod slot;

pub use built_in::{BuiltIn, Settings, TieBreak};
pub use domain_names::{DomainNames, NoDomainNames};
pub use error::SchedulerError;
pub use intent::{Hints, Intent};
pub use pipeline_choice::{PipelineChoice, pipeline_for};
pub use request::{Candidates, Destination, InstanceGroup, Options, Request, ReservationType};
pub use scheduler::Scheduler;
pub use shortage::{FilterName, Shortage};
pub use slot::{Pin, Placed, Placement, Rank, SlotRequest, Verdict, WholeRequest};
