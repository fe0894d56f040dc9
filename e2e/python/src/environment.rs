//! A virtual environment with packages of `PyPI`.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use berth_control_plane::FromRefused as _;
use tokio::process::Command;

use crate::Error;
use crate::prepared::{Cache, prepare};

const LINES: usize = 20;

/// What an environment consists of.
#[derive(Debug, Clone, Copy)]
pub struct Packages<'a> {
    /// The part of the cache.
    pub part: &'a str,
    /// The package whose version names the environment, for readability.
    pub main: &'a str,
    /// Every package that is needed, one a line with its version.
    pub requirements: &'a str,
    /// Modules that can be imported if the environment works.
    pub modules: &'a str,
}

/// An environment.
#[derive(Debug, Clone)]
pub struct Python {
    program: PathBuf,
}

impl Packages<'_> {
    /// Finds the environment in the cache, or creates it, which takes a minute once.
    pub async fn obtain(&self) -> Result<Python, Error> {
        let cache = Cache::of_user(self.part)?;
        let works = async |folder: &Path| self.work(folder).await;
        let make = async |folder: &Path| {
            eprintln!("{}: making its Python environment, once; this takes about a minute", self.part);
            install(folder, self.requirements).await.map_err(|error| Error::Environment(Box::new(error)))
        };
        let folder = prepare(&cache, &self.name(), works, make).await?;
        Ok(Python { program: program(&folder) })
    }

    /// The version of the main package, and a digest of everything else.
    pub fn name(&self) -> String {
        let versions = self.requirements.lines().filter_map(|line| line.split_once("=="));
        let version = versions.filter(|(package, _)| *package == self.main).map(|(_, version)| version).next();
        format!("{}-{}", version.unwrap_or_default(), digest(self.requirements))
    }

    /// Whether it exists, and the system's Python that it was created with still does.
    async fn work(&self, folder: &Path) -> bool {
        let mut command = Command::new(program(folder));
        command.args(["-c", &format!("import {}", self.modules)]).stdin(Stdio::null()).kill_on_drop(true);
        command.output().await.is_ok_and(|output| output.status.success())
    }
}

impl Python {
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// A command that runs a script.
    pub fn command(&self, script: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(Self::line(script)).kill_on_drop(true);
        command
    }

    /// The arguments that run a script; it leaves no compiled files beside it.
    pub fn line(script: &Path) -> Vec<String> {
        vec!["-B".to_owned(), script.display().to_string()]
    }

    /// Runs a script to its end.
    pub async fn run(&self, script: &Path, arguments: &[String]) -> Result<(), Error> {
        run(self.command(script).args(arguments)).await
    }
}

/// A text for the name of a directory that depends on another text.
pub fn digest(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn program(folder: &Path) -> PathBuf {
    folder.join("bin").join("python")
}

async fn install(folder: &Path, packages: &str) -> Result<(), Error> {
    let mut venv = Command::new("python3");
    run(venv.args(["-m", "venv"]).arg(folder)).await?;
    let requirements = folder.join("requirements.txt");
    fs::write(&requirements, packages).map_err(Error::path("write", &requirements))?;
    let mut pip = Command::new(program(folder));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"]);
    run(pip.arg(&requirements)).await
}

async fn run(command: &mut Command) -> Result<(), Error> {
    let text = format!("{:?}", command.as_std());
    let output =
        command.stdin(Stdio::null()).kill_on_drop(true).output().await.map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::PythonMissing,
            _ => Error::io(format!("run {text}"))(error),
        })?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::Failed { command: text, status: output.status, output: last_lines(&output) })
}

fn last_lines(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
