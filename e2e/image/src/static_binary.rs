//! The static binary that `make test` examines.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::{Error, checkout};

/// A static build of `berth` for the architecture of this machine.
#[derive(Debug, Clone)]
pub struct StaticBinary {
    /// Where it is.
    pub path: PathBuf,
    /// Such as `x86_64-unknown-linux-musl`.
    pub target: String,
}

impl StaticBinary {
    /// Builds it with `hack/static.sh test`, which takes a second when it is there.
    pub fn obtain() -> Result<Self, Error> {
        let mut script = Command::new(checkout().join("hack/static.sh"));
        script.arg("test").stdin(Stdio::null()).stderr(Stdio::inherit());
        let ended = script.output().map_err(Error::file("run", script.get_program().as_ref()))?;
        let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
        match printed.lines().last().and_then(|line| line.split_once(' ')) {
            Some((target, path)) if ended.status.success() => {
                Ok(Self { path: PathBuf::from(path), target: target.to_owned() })
            }
            _ => Err(Error::NotBuilt(printed)),
        }
    }
}
