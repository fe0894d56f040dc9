//! The files beside the binary: how the image is made, and the licences of what is in it.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::fs;
use std::process::Command;

use berth_image::packages::TARGETS;
use berth_image::{checkout, licences};

fn read(file: &str) -> String {
    fs::read_to_string(checkout().join(file)).unwrap()
}

/// The instructions of the Containerfile with this name.
fn instructions(name: &str) -> Vec<String> {
    let text = read("Containerfile").replace("\\\n", " ");
    let lines = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn the_image_has_one_program_and_texts_and_runs_without_privileges() {
    assert_eq!(instructions("FROM"), ["scratch"]);
    assert_eq!(instructions("USER"), ["65532:65532"]);
    assert_eq!(instructions("ENTRYPOINT"), [r#"["/berth"]"#]);
    assert_eq!(
        instructions("COPY"),
        ["--chmod=0555 target/image/berth /berth", "--chmod=0444 LICENSE THIRD-PARTY-LICENSES.txt /licenses/"]
    );
    for absent in ["RUN", "ADD", "EXPOSE", "VOLUME", "ENV", "CMD", "SHELL"] {
        assert_eq!(instructions(absent), Vec::<String>::new(), "{absent}");
    }
}

/// A builder that takes the whole checkout as its context would copy gigabytes.
#[test]
fn only_the_files_of_the_image_are_given_to_a_builder() {
    let kept = "*\n!LICENSE\n!THIRD-PARTY-LICENSES.txt\n!target/image/berth\n";
    assert!(read(".containerignore").ends_with(kept));
    assert_eq!(read("Containerfile.dockerignore"), read(".containerignore"));
}

#[test]
fn the_licences_are_up_to_date() {
    assert!(licences::text().unwrap() == read(licences::FILE), "run `make licences`, and look at what has changed");
}

#[test]
fn dependencies_are_checked_for_what_is_released() {
    let targets = TARGETS.map(|target| format!("\"{target}\"")).join(", ");
    let line = read("deny.toml").lines().find(|line| line.starts_with("targets = ")).unwrap().to_owned();
    assert!(line.contains(&targets), "{line}");
}

/// Whether the waiver of advisories counts on a day, and what is said about it.
fn waived(today: &str) -> (bool, String) {
    let mut script = Command::new(checkout().join("hack/deny.sh"));
    let output = script.arg("waived").env("BERTH_TODAY", today).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn a_waiver_of_advisories_counts_for_90_days() {
    let text = read("hack/advisories-waiver.txt");
    let day = text.lines().find_map(|line| line.strip_prefix("waived on ")).unwrap();
    let (counts, said) = waived(&format!("{day} + 90 days"));
    assert!(counts && said.contains(&format!("The waiver of {day} counts for 0 days more")), "{said}");
    let (counts, said) = waived(&format!("{day} + 91 days"));
    assert!(!counts && said.contains("run `make advisories` where GitHub can be reached"), "{said}");
}
