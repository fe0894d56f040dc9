//! `berth crds`: prints the custom resource definitions or writes them into a directory; with `--check-only` it
//! compares those of other deployments with what is read of their objects.

use berth_cluster::{Cluster, Definition, DefinitionState, Routes, definitions_of_others};
use tokio::runtime;

use super::cluster_snapshot;
use super::output::{self, File, counted};
use crate::args::CrdsArguments;
use crate::error::Error;
use crate::operator::user_agent;

/// Without these kinds nothing is served; the others are used where they are installed.
const REQUIRED: [&str; 2] = ["Hypervisor", "Knowledge"];

pub(super) fn run(arguments: &CrdsArguments) -> Result<(), Error> {
    if arguments.check_only {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let found = runtime.map_err(|source| Error::Runtime { source })?.block_on(read(arguments))?;
        return report(&found);
    }
    let files =
        berth_crds::generate::files(arguments.all).map_err(|error| Error::Crds { reason: error.to_string() })?;
    let files: Vec<_> = files.into_iter().map(|file| File { name: file.name, text: file.text }).collect();
    output::files(arguments.directory.as_deref(), &files)
}

async fn read(arguments: &CrdsArguments) -> Result<Vec<Definition>, Error> {
    let configuration = cluster_snapshot::configured(&arguments.clusters)?;
    let routes = Routes::new(&configuration.api_servers);
    let kubeconfig = arguments.clusters.kubeconfig.as_deref();
    let agent = user_agent(&configuration);
    let clusters = Cluster::connect_all(kubeconfig, &agent, &configuration.api_servers, None).await?;
    let mut all = Vec::new();
    for cluster in clusters.iter() {
        all.extend(definitions_of_others(cluster, &routes).await);
    }
    Ok(all)
}

fn report(found: &[Definition]) -> Result<(), Error> {
    output::print(&found.iter().map(text).collect::<String>())?;
    match found.iter().filter(|one| !is_good(one)).count() {
        0 => Ok(()),
        bad => Err(Error::Wrong(format!("{} of others cannot be used as they are", counted(bad, "CRD")))),
    }
}

fn is_good(one: &Definition) -> bool {
    match &one.state {
        DefinitionState::Installed(lacks) => lacks.is_empty(),
        DefinitionState::Absent => !REQUIRED.contains(&one.kind.as_str()),
        DefinitionState::Unread(_) => false,
    }
}

fn text(one: &Definition) -> String {
    let lines = match &one.state {
        DefinitionState::Installed(lacks) if lacks.is_empty() => vec!["has what is needed".to_owned()],
        DefinitionState::Installed(lacks) => lacks.clone(),
        DefinitionState::Absent if is_good(one) => vec!["not installed, and not required".to_owned()],
        DefinitionState::Absent => vec!["not installed: install it with the deployment that it belongs to".to_owned()],
        DefinitionState::Unread(why) => vec![format!("not checked: {why}")],
    };
    let line = |line: String| format!("{} {}: {line}\n", one.cluster, one.kind);
    lines.into_iter().map(line).collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use berth_core::ClusterName;

    use super::*;

    fn definition(kind: &str, state: DefinitionState) -> Definition {
        Definition { cluster: ClusterName::home(), kind: kind.to_owned(), state }
    }

    #[test]
    fn what_crds_of_others_lack_is_a_failure_and_what_is_optional_may_be_absent() {
        let lacks = DefinitionState::Installed(vec!["it has no field status".to_owned()]);
        for (kind, state, is_fine, line) in [
            ("Knowledge", DefinitionState::Installed(vec![]), true, "has what is needed"),
            ("Hypervisor", lacks, false, "it has no field status"),
            ("Pipeline", DefinitionState::Absent, true, "not installed, and not required"),
            (
                "Knowledge",
                DefinitionState::Absent,
                false,
                "not installed: install it with the deployment that it belongs to",
            ),
            ("Datasource", DefinitionState::Unread("no answer".to_owned()), false, "not checked: no answer"),
        ] {
            let one = definition(kind, state);
            assert_eq!((is_good(&one), text(&one)), (is_fine, format!("home {kind}: {line}\n")));
        }
        report(&[definition("Pipeline", DefinitionState::Absent)]).unwrap();
        let error = report(&[definition("Knowledge", DefinitionState::Absent)]).unwrap_err();
        assert_eq!(error.to_string(), "1 CRD of others cannot be used as they are");
    }
}
