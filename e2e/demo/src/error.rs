//! The errors of this crate, which tell the user what to do.

use std::io;
use std::path::{Path, PathBuf};

use kube::config::KubeconfigError;

/// Why the demonstration did not finish.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The control plane does not start, or another program has exited.
    #[error(transparent)]
    ControlPlane(#[from] berth_control_plane::Error),
    /// There is no place for an empty root file system.
    #[error(transparent)]
    Image(#[from] berth_image::Error),
    #[error("cannot {action} {}: {source}{}", path.display(), hint(source))]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot use the SQLite file {}: {source}", path.display())]
    VmDatabase { path: PathBuf, source: rusqlite::Error },
    #[error("cannot {action}: {source}")]
    System { action: &'static str, source: io::Error },
    #[error("{} has no files that end in .yaml; restore it from the repository", folder.display())]
    NoSamples { folder: PathBuf },
    #[error("{} is not valid YAML: {source}", path.display())]
    Yaml { path: PathBuf, source: Box<serde_saphyr::Error> },
    /// A document is not a Kubernetes object.
    #[error("{}: object {number} needs apiVersion, kind and metadata.name: {reason}", path.display())]
    NotAnObject {
        path: PathBuf,
        /// Counted from 1.
        number: usize,
        reason: String,
    },
    #[error("{} must hold exactly one CommittedResource", path.display())]
    NotOneCommitment { path: PathBuf },
    /// The commitments of the outage are missing.
    #[error("{} must hold exactly three commitments; restore it from the repository", folder.display())]
    NoStory { folder: PathBuf },
    /// The scheduler gave an unexpected answer.
    #[error("the scheduler does not find a host for {}: {answer}", path.display())]
    Request { path: PathBuf, answer: String },
    #[error("the numbers of capacity, usage and quota cannot be shown: {answer}")]
    Numbers { answer: String },
    /// An object was written that should have been left alone.
    #[error("written to while the cluster was away, or when it came back: {}", .0.join(", "))]
    Touched(Vec<String>),
    /// The kubeconfig of the control plane cannot be used.
    #[error("the kubeconfig of the control plane cannot be used: {0}")]
    Kubeconfig(#[from] KubeconfigError),
    #[error("cannot {action}: {source}")]
    Api { action: String, source: Box<kube::Error> },
    #[error(
        "the API server does not serve the CRD {name} after {seconds} s; `kubectl describe crd {name}` would say why"
    )]
    NotServed { name: String, seconds: u64 },
    #[error("the program {} does not exist; `make run` builds it", program.display())]
    OperatorMissing { program: PathBuf },
    #[error("the operator is not ready after {seconds} s: {answer}\nThe end of its log:\n{log}")]
    OperatorNotReady { seconds: u64, answer: String, log: String },
    #[error("{commitment} is not steady after {seconds} s: {why}\nThe end of the operator's log:\n{log}")]
    NotSteady {
        /// The commitment, by the name of its file.
        commitment: String,
        seconds: u64,
        why: String,
        log: String,
    },
    #[error("{object}: {field} is {text:?}; expected a whole amount such as 480Gi or 30")]
    Amount { object: String, field: &'static str, text: String },
    #[error("the end state cannot be printed as YAML: {0}")]
    Print(Box<serde_saphyr::ser::Error>),
    #[error("the end state is wrong:\n{}", .0.join("\n"))]
    Broken(Vec<String>),
    /// The end state differs from the expected one.
    #[error(
        "the end state differs from {} (- expected, + found):\n{diff}\n\
         If this is what you want, `make run ONCE=1 UPDATE=1` writes it.", path.display()
    )]
    Different { path: PathBuf, diff: String },
    /// The operator did not stop when it was asked to.
    #[error("the operator had to be killed: it had not ended {seconds} s after SIGTERM")]
    OperatorKilled { seconds: u64 },
    /// The operator exited with an error when it was asked to stop.
    #[error("the operator failed when it was asked to end ({status}); the end of its log:\n{log}")]
    OperatorFailed { status: std::process::ExitStatus, log: String },
    /// Limes got an answer that it does not expect.
    #[error("Limes: {0}")]
    Limes(#[from] berth_limes::Error),
    #[error("the operator does not tell Limes what it sells: {answer}")]
    NoInfo { answer: String },
    #[error("berth e2e-commitments has failed ({status}); its log:\n{log}")]
    Checks { status: std::process::ExitStatus, log: String },
    #[error("berth e2e-commitments had not ended after {seconds} s")]
    ChecksTooSlow { seconds: u64 },
    #[error("interrupted; nothing was compared")]
    Interrupted,
}

impl Error {
    /// For `map_err`: names the action and the file.
    pub fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }

    /// For `map_err`: names the request to the API server.
    pub fn api(action: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let action = action.into();
        move |source| Self::Api { action, source: Box::new(source) }
    }
}

fn hint(source: &io::Error) -> &'static str {
    if source.kind() == io::ErrorKind::NotFound {
        "; run this in the root of the checkout, or give --config"
    } else {
        ""
    }
}
