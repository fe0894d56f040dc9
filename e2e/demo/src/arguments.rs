//! The command line.

use std::path::PathBuf;

use clap::Parser;

/// Shows the operator at work on a real control plane with a small cloud.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    /// Compare the end state with the committed one, end, and exit with 1 when they differ.
    #[arg(long)]
    pub once: bool,
    /// Write the end state to the committed file instead of comparing it.
    #[arg(long, requires = "once")]
    pub update: bool,
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

    /// What becomes of them.
    pub fn end_state(&self) -> PathBuf {
        self.config.join("samples/end-state.yaml")
    }
}
