//! Asks clusters what the start asks them: version, kinds, rights, and whether objects of our namespace can be created.

use std::collections::BTreeSet;
use std::time::Duration;

use berth_cluster::{
    Cluster, Definition, Examination, Need, Preflight, Routes, dry_run_config_map, dry_run_lease, examine,
    published_definitions,
};
use berth_core::ClusterName;
use berth_crds::generate;
use futures::future::join;
use tokio::time::timeout;

use super::fact::Fact;

/// For all questions to a cluster, which have deadlines of their own.
const WHOLE: Duration = Duration::from_secs(60);

/// What the cluster has of `needs`, and the schemas of its kinds.
pub(super) async fn ask_cluster(cluster: &Cluster, needs: &[Need], routes: &Routes) -> Vec<Fact> {
    let asked = timeout(WHOLE, join(examine(cluster, needs), published_definitions(cluster, routes))).await;
    let (name, is_home) = (cluster.name.to_string(), cluster.name == ClusterName::home());
    let Ok((examination, definitions)) = asked else {
        return vec![Fact::Cluster { name, is_home, examination: silent(cluster) }];
    };
    let answers = !examination.fine.is_empty();
    let ours: BTreeSet<_> = generate::ours().into_iter().map(|crd| crd.spec.names.kind).collect();
    // A cluster that has not answered is one finding.
    let definitions = definitions
        .into_iter()
        .filter(|_| answers)
        .map(|definition: Definition| Fact::Definition { is_ours: ours.contains(&definition.kind), definition });
    let mut facts = vec![Fact::Cluster { name, is_home, examination }];
    facts.extend(definitions);
    facts
}

fn silent(cluster: &Cluster) -> Examination {
    let reason = format!("no answers within {} s", WHOLE.as_secs());
    let problems = vec![Preflight::Unreachable { cluster: cluster.name.clone(), reason }];
    Examination { fine: Vec::new(), problems }
}

/// The Lease of an election.
pub(super) async fn try_lease(home: &Cluster, name: &str) -> Fact {
    let namespace = home.client.default_namespace();
    let dry_run = dry_run_lease(home, namespace, name).await;
    Fact::Creation { what: "Lease", name: name.to_owned(), namespace: namespace.to_owned(), dry_run }
}

pub(super) async fn try_config_map(home: &Cluster, name: &str) -> Fact {
    let namespace = home.client.default_namespace();
    let dry_run = dry_run_config_map(home, namespace, name).await;
    Fact::Creation { what: "ConfigMap", name: name.to_owned(), namespace: namespace.to_owned(), dry_run }
}
