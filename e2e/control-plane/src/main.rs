//! `berth-control-plane`: a real Kubernetes control plane on this machine, from the command line.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use berth_control_plane::{Binaries, ControlPlane, Environment, Error, FromRefused as _};
use clap::{Parser, Subcommand};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

/// A real Kubernetes control plane on this machine: etcd and kube-apiserver, without nodes and controllers.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum Command {
    /// Start a control plane, say how to point kubectl at it, and end it on Ctrl-C.
    Up,
    /// Build kube-apiserver, etcd and kubectl once, unless they are found.
    Build,
    /// Print the folders that hold kube-apiserver, etcd and kubectl, in the form of a PATH.
    Path,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Arguments::parse().command).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("berth-control-plane: {message}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> Result<(), String> {
    match command {
        Command::Up => up().await.map_err(|error| error.to_string()),
        Command::Build => build().await.map_err(|error| error.to_string()),
        Command::Path => path().await,
    }
}

async fn up() -> Result<(), Error> {
    let mut signals = Signals::new()?;
    let started = Instant::now();
    let control_plane = tokio::select! {
        started = ControlPlane::start() => started?,
        () = signals.recv() => return Ok(()),
    };
    print!("{}", instructions(&control_plane, started.elapsed()));
    watch(control_plane, &mut signals).await
}

/// Stops the control plane on a signal, or with an error when a part of it exits by itself.
async fn watch(mut control_plane: ControlPlane, signals: &mut Signals) -> Result<(), Error> {
    loop {
        tokio::select! {
            () = signals.recv() => return control_plane.stop().await,
            () = sleep(Duration::from_secs(1)) => control_plane.check()?,
        }
    }
}

fn instructions(control_plane: &ControlPlane, took: Duration) -> String {
    let folder = control_plane.kubectl().parent().unwrap_or(Path::new("."));
    format!(
        "kube-apiserver (pid {}) and etcd (pid {}) are ready after {:.1} s, at {}\n\n\
         To point kubectl at them, type in another terminal:\n\n  \
         export KUBECONFIG={}\n  \
         export PATH={}:$PATH\n  \
         kubectl get namespaces\n\n\
         Ctrl-C ends them and removes their data.\n",
        control_plane.api_server_pid(),
        control_plane.etcd_pid(),
        took.as_secs_f64(),
        control_plane.url(),
        control_plane.kubeconfig().display(),
        folder.display(),
    )
}

async fn build() -> Result<(), Error> {
    let binaries = Binaries::obtain(&Environment::of_process()).await?;
    println!("kube-apiserver, etcd and kubectl: {}", folders(&binaries));
    Ok(())
}

async fn path() -> Result<(), String> {
    let found = Binaries::find(&Environment::of_process()).await.map_err(|error| error.to_string())?;
    let binaries = found.ok_or("kube-apiserver, etcd and kubectl have not been built yet; `make setup` builds them")?;
    println!("{}", folders(&binaries));
    Ok(())
}

fn folders(binaries: &Binaries) -> String {
    let folders: Vec<String> = binaries.folders().iter().map(|folder| folder.display().to_string()).collect();
    folders.join(":")
}

/// The signals that end a program.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> Result<Self, Error> {
        let listen = |kind| signal(kind).map_err(Error::io("listen for signals"));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    async fn recv(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
