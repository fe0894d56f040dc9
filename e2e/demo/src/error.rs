//! What can go wrong, and what the reader of the message can do about it.

use std::io;
use std::path::{Path, PathBuf};

use kube::config::KubeconfigError;

/// Why the demonstration did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The control plane does not start, or something beside it has ended.
    #[error(transparent)]
    ControlPlane(#[from] berth_control_plane::Error),
    /// A file or folder cannot be used.
    #[error("cannot {action} {}: {source}{}", path.display(), hint(source))]
    File {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The operating system refused something else.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A folder of samples has none.
    #[error("{} has no files that end in .yaml; restore it from the repository", folder.display())]
    NoSamples {
        /// The folder.
        folder: PathBuf,
    },
    /// A file is not YAML.
    #[error("{} is not valid YAML: {source}", path.display())]
    Yaml {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: Box<serde_saphyr::Error>,
    },
    /// A document is not an object of Kubernetes.
    #[error("{}: document {number} needs apiVersion, kind and metadata.name: {reason}", path.display())]
    NotAnObject {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        number: usize,
        /// What is wrong.
        reason: String,
    },
    /// A file of commitments holds something else.
    #[error("{} must hold exactly one CommittedResource", path.display())]
    NotOneCommitment {
        /// The file.
        path: PathBuf,
    },
    /// The commitments of the outage are not there.
    #[error("{} must hold exactly three commitments; restore it from the repository", folder.display())]
    NoStory {
        /// The folder.
        folder: PathBuf,
    },
    /// The scheduler does not answer a request as it should.
    #[error("the scheduler does not find a host for {}: {answer}", path.display())]
    Request {
        /// The file that has the request.
        path: PathBuf,
        /// What was answered.
        answer: String,
    },
    /// What should have been left alone was not.
    #[error("written to while the cluster was away, or when it came back: {}", .0.join(", "))]
    Touched(Vec<String>),
    /// The kubeconfig of the control plane cannot be used.
    #[error("the kubeconfig of the control plane cannot be used: {0}")]
    Kubeconfig(#[from] KubeconfigError),
    /// The API server refused or failed.
    #[error("cannot {action}: {source}")]
    Api {
        /// What was tried.
        action: String,
        /// What the API server said.
        source: Box<kube::Error>,
    },
    /// A CRD does not come into force.
    #[error(
        "the API server does not serve the CRD {name} after {seconds} s; `kubectl describe crd {name}` would say why"
    )]
    NotServed {
        /// The CRD.
        name: String,
        /// How long was waited.
        seconds: u64,
    },
    /// There is no operator to start.
    #[error("the program {} does not exist; `make run` builds it", program.display())]
    OperatorMissing {
        /// Where it should be.
        program: PathBuf,
    },
    /// The operator does not get ready.
    #[error("the operator is not ready after {seconds} s: {answer}\nThe end of its log:\n{log}")]
    OperatorNotReady {
        /// How long was waited.
        seconds: u64,
        /// The last answer of /readyz.
        answer: String,
        /// The last lines of its log.
        log: String,
    },
    /// A commitment does not come to rest.
    #[error("{commitment} is not steady after {seconds} s: {why}\nThe end of the operator's log:\n{log}")]
    NotSteady {
        /// The commitment, by the name of its file.
        commitment: String,
        /// How long was waited.
        seconds: u64,
        /// What is still missing.
        why: String,
        /// The last lines of the operator's log.
        log: String,
    },
    /// An amount cannot be read.
    #[error("{object}: {field} is {text:?}; expected a whole amount such as 480Gi or 30")]
    Amount {
        /// Kind and name.
        object: String,
        /// The field.
        field: &'static str,
        /// What it holds.
        text: String,
    },
    /// The end state cannot be printed.
    #[error("the end state cannot be printed as YAML: {0}")]
    Print(Box<serde_saphyr::ser::Error>),
    /// The end state breaks a law.
    #[error("the end state is wrong:\n{}", .0.join("\n"))]
    Broken(Vec<String>),
    /// The end state is another one than expected.
    #[error(
        "the end state differs from {} (- expected, + found):\n{diff}\n\
         If this is what you want, `make run ONCE=1 UPDATE=1` writes it.", path.display()
    )]
    Different {
        /// The file that has the expected one.
        path: PathBuf,
        /// Line by line.
        diff: String,
    },
    /// The operator did not end when it was asked to.
    #[error("the operator had to be killed: it had not ended {seconds} s after SIGTERM")]
    OperatorKilled {
        /// How long was waited.
        seconds: u64,
    },
    /// The operator ended badly when it was asked to end.
    #[error("the operator failed when it was asked to end ({status}); the end of its log:\n{log}")]
    OperatorFailed {
        /// How it ended.
        status: std::process::ExitStatus,
        /// The last lines of its log.
        log: String,
    },
    /// A signal came before the end.
    #[error("interrupted; nothing was compared")]
    Interrupted,
}

impl Error {
    /// For `map_err`: names what was tried on which file.
    pub fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }

    /// For `map_err`: names what was asked of the API server.
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
