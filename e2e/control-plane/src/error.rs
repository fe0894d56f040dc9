//! What can go wrong, and what the reader of the message can do about it.

use std::path::PathBuf;
use std::process::ExitStatus;

use crate::Refused;

/// Why there is no control plane, or why it did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program that every start needs is not on the `PATH`.
    #[error("{tool} is not on the PATH, but {purpose}; install the package {package} (`make setup` does)")]
    ToolMissing {
        /// The program.
        tool: &'static str,
        /// What it is needed for.
        purpose: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// The three programs are nowhere, and Go, which would build them, is not there either.
    #[error(
        "kube-apiserver, etcd and kubectl are not there, and Go, which builds them once, is not on the PATH; install Go \
         {needed} or newer (`make setup` says how), or set KUBEBUILDER_ASSETS to a folder that holds the three"
    )]
    GoMissing {
        /// The oldest Go that builds them.
        needed: String,
    },
    /// Go is there, but cannot build this release.
    #[error(
        "{found} is too old to build kube-apiserver, etcd and kubectl; install Go {needed} or newer (`make setup` says \
         how), or set KUBEBUILDER_ASSETS to a folder that holds the three"
    )]
    GoTooOld {
        /// What `go env GOVERSION` answered.
        found: String,
        /// The oldest Go that builds them.
        needed: String,
    },
    /// `KUBEBUILDER_ASSETS` is set, but incomplete.
    #[error(
        "KUBEBUILDER_ASSETS is {folder}, where there is no program {missing}; put it there, or unset the variable to have \
         all three built once"
    )]
    AssetsIncomplete {
        /// The folder it names.
        folder: PathBuf,
        /// The programs it lacks.
        missing: String,
    },
    /// `KUBEBUILDER_ASSETS` holds a kube-apiserver of another age.
    #[error(
        "{program} is {found}, but Kubernetes {needed} or newer is needed; point KUBEBUILDER_ASSETS to newer programs, or \
         unset it to have them built once"
    )]
    ReleaseTooOld {
        /// The kube-apiserver that was found.
        program: PathBuf,
        /// What it says it is.
        found: String,
        /// The oldest release that will do.
        needed: String,
    },
    /// There is no folder for caches.
    #[error(
        "neither XDG_CACHE_HOME nor HOME is set to an absolute path; set one of them, so that the programs that are built once have a place"
    )]
    NoCacheFolder,
    /// Go could not build the programs.
    #[error("go failed ({status}) while building kube-apiserver, etcd and kubectl; the end of its output:\n{output}")]
    BuildFailed {
        /// How Go ended.
        status: ExitStatus,
        /// The last lines it wrote.
        output: String,
    },
    /// Go ended well, yet a program is not there.
    #[error("go has not built all of kube-apiserver, etcd and kubectl into {folder}; remove that folder and try again")]
    BuildIncomplete {
        /// Where they should be.
        folder: PathBuf,
    },
    /// etcd, kube-apiserver or a program beside them ended by itself.
    #[error("{program} has ended by itself ({status}); the end of its log:\n{log}")]
    Ended {
        /// Which of them.
        program: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// The last lines of its log.
        log: String,
    },
    /// The API server runs, but did not get ready.
    #[error("kube-apiserver was not ready after {seconds} s: {last_answer}\nThe end of its log:\n{log}")]
    NotReady {
        /// How long it was waited for.
        seconds: u64,
        /// What the last question for readiness was answered.
        last_answer: String,
        /// The last lines of its log.
        log: String,
    },
    /// kubectl refused or failed.
    #[error("kubectl {command}: {stderr}")]
    Kubectl {
        /// The arguments, as one line.
        command: String,
        /// What it wrote to stderr.
        stderr: String,
    },
    /// The kubeconfig that kubectl printed cannot be read.
    #[error("kubectl printed a kubeconfig that is no JSON: {0}")]
    Kubeconfig(#[from] serde_json::Error),
    /// A kubeconfig that should be that of a service account is not.
    #[error(
        "{} is not the kubeconfig of a service account; give one that ControlPlane::service_account has written",
        kubeconfig.display()
    )]
    NoServiceAccount {
        /// The file.
        kubeconfig: PathBuf,
    },
    /// The operating system refused something.
    #[error(transparent)]
    Io(#[from] Refused),
}
