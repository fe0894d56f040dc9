//! The Python environment of the suite, from `requirements.txt` alone, and our programs in it.

use std::path::{Path, PathBuf};

use berth_python::{Packages, Python};
use tokio::process::Command;

use crate::Error;

const REQUIREMENTS: &str = include_str!("../requirements.txt");

/// The paths of Python and our programs.
#[derive(Debug, Clone)]
pub struct Toolbox {
    python: Python,
}

impl Toolbox {
    /// Finds the environment in the cache, or creates it, which takes a minute once.
    pub async fn obtain() -> Result<Self, Error> {
        Self::obtain_with("").await
    }

    /// Like `obtain`, with more packages, one a line with its version, in a separate environment.
    pub async fn obtain_with(more: &str) -> Result<Self, Error> {
        let requirements = format!("{REQUIREMENTS}{more}");
        Ok(Self { python: packages(&requirements).obtain().await? })
    }

    pub fn python(&self) -> &Path {
        self.python.program()
    }

    pub(crate) fn script(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("python").join(name)
    }

    /// A command that runs one of our programs.
    pub(crate) fn command(&self, script: &str) -> Command {
        self.python.command(&Self::script(script))
    }
}

fn packages(requirements: &str) -> Packages<'_> {
    Packages { part: "placement-gabbi", main: "openstack-placement", requirements, modules: "gabbi, placement" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_named_after_the_version_of_placement() {
        let name = packages(REQUIREMENTS).name();
        assert!(name.starts_with("16.0.0-"), "{name}");
    }

    #[test]
    fn everything_has_one_version() {
        let packages = REQUIREMENTS.lines().filter(|line| !line.starts_with('#'));
        for package in packages {
            let parts: Vec<&str> = package.split("==").collect();
            assert!(matches!(parts[..], [name, version] if !name.is_empty() && !version.is_empty()), "{package}");
        }
    }
}
