//! The errors of this crate, which tell the user what to do.

use std::path::PathBuf;
use std::process::ExitStatus;

use crate::Refused;

/// Why there is no control plane, or why it did not do what was requested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program that every start needs is not on the `PATH`.
    #[error("{tool} is not on the PATH, but {purpose}; install the package {package} (`make setup` does)")]
    ToolMissing { tool: &'static str, purpose: &'static str, package: &'static str },
    /// The three programs are missing, and so is Go, which would build them.
    #[error(
        "kube-apiserver, etcd and kubectl are not there, and Go, which builds them once, is not on the PATH; install Go \
         {needed} or newer (`make setup` says how), or set KUBEBUILDER_ASSETS to a folder that holds the three"
    )]
    GoMissing { needed: String },
    /// Go is installed, but cannot build this release.
    #[error(
        "{found} is too old to build kube-apiserver, etcd and kubectl; install Go {needed} or newer (`make setup` says \
         how), or set KUBEBUILDER_ASSETS to a folder that holds the three"
    )]
    GoTooOld { found: String, needed: String },
    #[error(
        "KUBEBUILDER_ASSETS is {folder}, where there is no program {missing}; put it there, or unset the variable to have \
         all three built once"
    )]
    AssetsIncomplete { folder: PathBuf, missing: String },
    #[error(
        "{program} is {found}, but Kubernetes {needed} or newer is needed; point KUBEBUILDER_ASSETS to newer programs, or \
         unset it to have them built once"
    )]
    ReleaseTooOld { program: PathBuf, found: String, needed: String },
    #[error(
        "neither XDG_CACHE_HOME nor HOME is set to an absolute path; set one of them, so that the programs that are built once have a place"
    )]
    NoCacheFolder,
    #[error("go failed ({status}) while building kube-apiserver, etcd and kubectl; the end of its output:\n{output}")]
    BuildFailed { status: ExitStatus, output: String },
    /// Go has succeeded, but a program is missing.
    #[error("go has not built all of kube-apiserver, etcd and kubectl into {folder}; remove that folder and try again")]
    BuildIncomplete { folder: PathBuf },
    /// etcd, kube-apiserver or another program has exited by itself.
    #[error("{program} has ended by itself ({status}); the end of its log:\n{log}")]
    Ended { program: &'static str, status: ExitStatus, log: String },
    /// The API server runs, but did not become ready.
    #[error("kube-apiserver was not ready after {seconds} s: {last_answer}\nThe end of its log:\n{log}")]
    NotReady {
        seconds: u64,
        /// The last answer of the readiness check.
        last_answer: String,
        log: String,
    },
    #[error("kubectl {command}: {stderr}")]
    Kubectl { command: String, stderr: String },
    /// The kubeconfig that kubectl printed cannot be parsed.
    #[error("kubectl printed a kubeconfig that is no JSON: {0}")]
    Kubeconfig(#[from] serde_json::Error),
    /// A kubeconfig that should be that of a service account is not.
    #[error(
        "{} is not the kubeconfig of a service account; give one that ControlPlane::service_account has written",
        kubeconfig.display()
    )]
    NoServiceAccount { kubeconfig: PathBuf },
    #[error(transparent)]
    Io(#[from] Refused),
}
