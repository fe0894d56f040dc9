//! A real Kubernetes control plane for tests and demos: etcd and kube-apiserver on free loopback ports, with RBAC, with
//! their data in a temporary directory. It ends with this process.
//!
//! [`ControlPlane::start`] is the entry point. [`Binaries`] finds kube-apiserver, etcd and kubectl, and builds them once
//! when they are missing; [`Environment`] is all that this choice depends on. There are no controllers and no nodes:
//! nothing collects garbage, no pod runs, and a deleted namespace stays `Terminating`.
//!
//! ```no_run
//! # async fn example() -> Result<(), berth_control_plane::Error> {
//! let control_plane = berth_control_plane::ControlPlane::start().await?;
//! println!("{}", control_plane.run_kubectl(&["get", "namespaces"], None).await?);
//! control_plane.stop().await
//! # }
//! ```

mod api_server;
mod audit_log;
mod binaries;
mod builder;
mod control_plane;
mod daemon;
mod environment;
mod error;
mod etcd;
mod guest;
mod kubeconfig;
mod kubectl;
mod log_file;
mod port;
mod progress;
mod refused;
mod release;
mod service;
mod spawner;
mod work_folder;

pub use audit_log::WriteRequest;
pub use binaries::Binaries;
pub use control_plane::{ControlPlane, Part};
pub use daemon::Daemon;
pub use environment::Environment;
pub use error::Error;
pub use port::ReservedPort;
pub use refused::{FromRefused, Refused};
pub use work_folder::copy_folder;
