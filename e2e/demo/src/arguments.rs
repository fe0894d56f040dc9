//! The command line.

use std::path::PathBuf;

use clap::Parser;

/// Shows the operator at work on a real control plane with a small cloud.
#[derive(Debug, Parser)]
#[command(version)]
#[expect(clippy::struct_excessive_bools, reason = "they are flags of the command line")]
pub struct Arguments {
    /// Compare the end state with the committed one, end, and exit with 1 when they differ.
    #[arg(long)]
    pub once: bool,
    /// Write the end state to the committed file instead of comparing it.
    #[arg(long, requires = "once")]
    pub update: bool,
    /// Only run `berth e2e-commitments` against the operator, show its log, and end.
    #[arg(long, conflicts_with = "once")]
    pub checks: bool,
    /// With the checks: callers authenticate with a double of Keystone.
    #[arg(long, requires = "checks")]
    pub auth: bool,
    /// The number of clusters. With two, one has the objects of zone eu-demo-1b, and is stopped for a while.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub clusters: u8,
    /// The operator. Without it, the `berth` beside this program.
    #[arg(long, value_name = "FILE")]
    pub operator: Option<PathBuf>,
    /// Run the operator as a container of the image does: in an empty, read-only root file system with only its files in it.
    #[arg(long)]
    pub empty_root: bool,
    /// The folder that holds `rbac` and `samples`.
    #[arg(long, value_name = "DIRECTORY", default_value = "config")]
    pub config: PathBuf,
}

impl Arguments {
    /// The roles of the operator.
    pub fn rbac(&self) -> PathBuf {
        self.config.join("rbac")
    }

    /// Hosts and flavor groups.
    pub fn cloud(&self) -> PathBuf {
        self.config.join("samples/cloud")
    }

    /// Commitments, in the order of their names.
    pub fn commitments(&self) -> PathBuf {
        self.config.join("samples/commitments")
    }

    /// The commitments of the outage.
    pub fn outage(&self) -> PathBuf {
        self.config.join("samples/outage")
    }

    /// A request as Nova sends it, as a dry run.
    pub fn request(&self) -> PathBuf {
        self.config.join("samples/requests/vm-of-the-project.json")
    }

    /// Whether there is a second cluster.
    pub fn has_remote(&self) -> bool {
        self.clusters > 1
    }

    /// The expected end state.
    pub fn end_state(&self) -> PathBuf {
        self.config.join(if self.has_remote() { "samples/end-state-clusters.yaml" } else { "samples/end-state.yaml" })
    }
}
