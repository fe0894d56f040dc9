//! Builds the programs from the command line. A shell script replaces Go.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

/// Builds three programs, and writes a line to `$0.builds` each time.
const GO: &str = r#"
if [ "$1" = env ]; then echo go1.26.8; exit; fi
grep -q '^module berth/control-plane$' go.mod && [ -s go.sum ] || exit 9
echo built >> "$0.builds"
mkdir -p "$GOBIN"
for name in kube-apiserver kubectl server; do echo '#!/bin/sh' > "$GOBIN/$name"; chmod +x "$GOBIN/$name"; done
sleep 1
"#;

const FAILING_GO: &str = r#"[ "$1" = env ] && echo go1.26.8 && exit; echo "no route to the modules" >&2; exit 3"#;

/// A machine with a fake Go and an empty cache.
struct Machine(TempDir);

impl Machine {
    fn with_go(script: &str) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        let go = machine.go();
        fs::create_dir(go.parent().unwrap()).unwrap();
        // Another process writes it: a child that a concurrent test starts at this moment could inherit the open file,
        // and a program that is open for writing cannot be run.
        let source = machine.0.path().join("go.script");
        fs::write(&source, format!("#!/bin/sh\n{script}\n")).unwrap();
        assert!(Command::new("install").arg(&source).arg(&go).status().unwrap().success());
        machine
    }

    fn start(&self, command: &str) -> Child {
        let path = format!("{}:/usr/bin:/bin", self.go().parent().unwrap().display());
        let mut program = Command::new(env!("CARGO_BIN_EXE_berth-control-plane"));
        program.arg(command).env_clear().env("PATH", path).env("XDG_CACHE_HOME", self.0.path());
        program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn run(&self, command: &str) -> Output {
        self.start(command).wait_with_output().unwrap()
    }

    fn go(&self) -> PathBuf {
        self.0.path().join("bin/go")
    }

    fn cache(&self) -> PathBuf {
        self.0.path().join("berth/control-plane")
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap().trim()
}

#[test]
fn two_processes_that_need_the_programs_at_once_build_them_once() {
    let machine = Machine::with_go(GO);
    let abandoned = machine.cache().join(".build-abandoned");
    fs::create_dir_all(&abandoned).unwrap();
    assert!(!machine.run("path").status.success(), "nothing is built yet");

    let outputs = [machine.start("build"), machine.start("build")].map(|child| child.wait_with_output().unwrap());
    assert!(outputs.iter().all(|output| output.status.success()), "{outputs:?}");
    assert_eq!(fs::read_to_string(machine.0.path().join("bin/go.builds")).unwrap(), "built\n");
    assert!(!abandoned.exists(), "the directory of a killed builder is removed");
    let reported = outputs.map(|output| text(&output.stderr).to_owned()).join("\n");
    for sign in ["building kube-apiserver", "done in 1 s", "waiting for another process"] {
        assert!(reported.contains(sign), "{sign} is not in: {reported}");
    }

    let folder = machine.run("path").stdout;
    assert_eq!(Path::new(text(&folder)).parent().unwrap(), machine.cache());
}

#[test]
fn a_program_that_was_taken_away_is_built_again() {
    let machine = Machine::with_go(GO);
    assert!(machine.run("build").status.success());
    let etcd = Path::new(text(&machine.run("path").stdout)).join("etcd");
    fs::remove_file(&etcd).unwrap();
    assert!(machine.run("build").status.success());
    assert!(etcd.exists());
}

#[test]
fn a_failed_build_shows_the_end_of_its_output_and_leaves_nothing() {
    let machine = Machine::with_go(FAILING_GO);
    let output = machine.run("build");
    assert_eq!(output.status.code(), Some(1));
    let reported = text(&output.stderr);
    assert!(reported.ends_with("no route to the modules") && reported.contains("exit status: 3"), "{reported}");
    let left: Vec<_> = fs::read_dir(machine.cache()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["lock"]);
}

#[test]
fn without_go_there_is_one_line_on_how_to_get_it() {
    let machine = Machine::with_go(GO);
    fs::remove_file(machine.go()).unwrap();
    let output = machine.run("build");
    assert_eq!(output.status.code(), Some(1));
    let reported = text(&output.stderr);
    assert!(reported.contains("make setup") && reported.lines().count() == 1, "{reported}");
}
