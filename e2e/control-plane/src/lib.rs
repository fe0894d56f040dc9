//! A real Kubernetes control plane for tests and demos: etcd and kube-apiserver on free loopback ports, with RBAC, with
//! their data in a temporary folder, and gone when this process is gone.
//!
//! [`ControlPlane::start`] is the door. [`Binaries`] decides where kube-apiserver, etcd and kubectl come from, and
//! builds them once when nobody has them; [`Environment`] is all that this choice depends on. There are no controllers
//! and no nodes: nothing collects garbage, no pod runs, and a deleted namespace stays `Terminating`.
//!
//! ```no_run
//! # async fn example() -> Result<(), berth_control_plane::Error> {
//! let control_plane = berth_control_plane::ControlPlane::start().await?;
//! println!("{}", control_plane.run_kubectl(&["get", "namespaces"], None).await?);
//! control_plane.stop().await
//! # }
//! ```

mod api_server;
mod binaries;
mod builder;
mod control_plane;
mod daemon;
mod environment;
mod error;
mod etcd;
mod guest;
mod journal;
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

pub use binaries::Binaries;
pub use control_plane::{ControlPlane, Part};
pub use daemon::Daemon;
pub use environment::Environment;
pub use error::Error;
pub use journal::WriteRequest;
pub use refused::{FromRefused, Refused};
