//! Asks the leading operator what only it knows about an object. Without an answer a command says what it cannot see, and
//! why.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use berth_cluster::{bearer_token, chain, published_leader};
use berth_scheduler::Claim;
use berth_scheduler_api::explain::{self, AssumedAnswer, ExplainError, LeaderAnswer, Subject};
use jiff::Timestamp;
use serde::Serialize;
use tokio::time::timeout;

use super::amounts::Amounts;
use super::cluster_snapshot::ClusterSnapshot;
use super::table::{row, table};
use super::times::moment;
use crate::args::LeaderArguments;

/// How long the API server may take to say where the leader is.
const DEADLINE: Duration = Duration::from_secs(2);

const SHOWN: usize = 20;

/// The operator and what it said. `docs/commands.md` promises the names of its JSON members.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct AskedOperator {
    /// Its URL, if it is known.
    pub(super) address: Option<String>,
    /// Why it did not answer.
    pub(super) failure: Option<String>,
    pub(super) answer: Option<LeaderAnswer>,
}

/// A question to the operator that the flags name.
pub(super) fn asking(
    snapshot: &ClusterSnapshot,
    flags: &LeaderArguments,
) -> impl AsyncFnOnce(&Subject) -> AskedOperator {
    async move |subject: &Subject| AskedOperator::ask(snapshot, flags, subject).await
}

impl AskedOperator {
    pub(super) async fn ask(snapshot: &ClusterSnapshot, flags: &LeaderArguments, subject: &Subject) -> Self {
        let address = match &flags.operator {
            Some(url) => Ok(url.clone()),
            None => find(snapshot).await,
        };
        let (address, asked) = match address {
            Ok(address) => {
                let asked = ask_as_caller(&address, subject, snapshot.kubeconfig.as_deref()).await;
                (Some(address), asked)
            }
            Err(why) => (None, Err(why)),
        };
        Self { address, failure: asked.as_ref().err().cloned(), answer: asked.ok() }
    }

    /// Lets the promises of the leader count in the scheduler of this process, in place of the claims that were read from
    /// the `ConfigMap`. Without an answer these stay, and a warning says if they could not be read.
    pub(super) fn count_promises(&self, snapshot: &ClusterSnapshot, read: &[Claim]) {
        let Some(answer) = &self.answer else { return snapshot.warn_of_unknown_claims() };
        let is_held = |claim: &Claim| answer.claims.iter().any(|held| held.vm == claim.instance.as_str());
        let is_whole = answer.claims_left_out == 0;
        let ended: Vec<_> =
            read.iter().filter(|claim| is_whole && !is_held(claim)).map(|one| one.instance.clone()).collect();
        let promises = answer.promises(snapshot.memory.now(), Timestamp::now());
        snapshot.memory.scheduler.adopt(&ended, promises);
    }

    /// What Limes lists about the commitment, if the leader reads Limes.
    pub(super) fn limes(&self, now: Timestamp) -> Option<String> {
        let limes = self.answer.as_ref()?.limes.as_ref()?;
        let read = format!("read at {}", moment(limes.read_at, now));
        Some(match (&limes.listed, &limes.incomplete) {
            (Some(listed), _) => {
                let since = limes.since.map(|since| format!(", since {}", moment(since, now))).unwrap_or_default();
                format!("lists {}{since} ({read})", listed.escape_debug())
            }
            (None, None) => format!("does not list it ({read})"),
            (None, Some(why)) => {
                format!("does not list it, which means nothing, because {} ({read})", why.escape_debug())
            }
        })
    }

    /// The placements that the leader has decided, as a table; empty if there are none.
    pub(super) fn placements(&self) -> String {
        let assumed = self.answer.as_ref().map(|answer| &answer.assumed[..]).unwrap_or_default();
        if assumed.is_empty() {
            return String::new();
        }
        let head = row(["SLOT", "HOST", "SIZE", "STATE"]);
        let rows: Vec<_> = [head].into_iter().chain(assumed.iter().take(SHOWN).map(placement)).collect();
        let more = assumed.len().saturating_sub(SHOWN);
        let rest = if more == 0 { String::new() } else { format!("  ... and {more} more (-o json has them)\n") };
        format!("\nDecided and not observed yet\n{}{rest}", table(&rows, &[]))
    }

    /// The last line of a screen.
    pub(super) fn closing_line(&self) -> String {
        const UNSEEN: &str =
            "decisions that are not written yet, when slots are tried again, and since when hosts and VMs are missing";
        if let (Some(answer), Some(address)) = (&self.answer, &self.address) {
            let (leader, left_out) = (answer.leader.escape_debug(), left_out(answer));
            return format!("The leader, {leader} at {address}, was asked for what only it knows{left_out}.");
        }
        let why = self.failure.as_deref().unwrap_or("no operator was asked");
        format!("Not included, because {why}: {UNSEEN}.")
    }
}

/// Asks without a token first, as a local caller may, so that only an operator that wants the token of the kubeconfig gets it.
async fn ask_as_caller(address: &str, subject: &Subject, kubeconfig: Option<&Path>) -> Result<LeaderAnswer, String> {
    const INSTEAD: &str = "put one that kubectl create token prints into a kubeconfig (kubectl config set-credentials --token), or ask as a \
                           local caller, as through kubectl port-forward (--operator)";
    let unasked = match explain::ask(address, subject, None).await {
        Err(error @ ExplainError::NoToken { .. }) => error,
        asked => return asked.map_err(|error| error.to_string()),
    };
    match bearer_token(kubeconfig).await {
        Ok(Some(token)) => explain::ask(address, subject, Some(&token)).await.map_err(|error| error.to_string()),
        Ok(None) => Err(format!(
            "{unasked}, and the kubeconfig has none (a client certificate is for the API server only); {INSTEAD}"
        )),
        Err(error) => Err(format!("{unasked}, and that of the kubeconfig cannot be read ({})", chain(&error))),
    }
}

/// Rows that did not fit into the answer.
fn left_out(answer: &LeaderAnswer) -> String {
    let lists = [
        (answer.claims_left_out, "claims"),
        (answer.assumed_left_out, "decided placements"),
        (answer.slots_left_out, "slots"),
    ];
    let lists: Vec<_> =
        lists.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if lists.is_empty() { String::new() } else { format!("; it left out {}", lists.join(", ")) }
}

fn placement(entry: &AssumedAnswer) -> Vec<String> {
    let size = Amounts { memory: Some(entry.size.memory), cpu: Some(entry.size.cpu) };
    let state = if entry.in_doubt { "the outcome of its write is unknown" } else { "being written" };
    vec![entry.slot.clone(), entry.host.clone(), size.format(), state.to_owned()]
}

/// Where the Lease says that the leader answers.
async fn find(snapshot: &ClusterSnapshot) -> Result<String, String> {
    let name = &snapshot.configuration.common.leader_election_id;
    let found = timeout(DEADLINE, published_leader(&snapshot.clusters, name)).await;
    let found = found.map_err(|_| format!("the Lease {name} could not be read within {}s", DEADLINE.as_secs()))?;
    let leader = found.map_err(|error| format!("the Lease {name} cannot be read ({})", chain(&error)))?;
    let leader = leader
        .ok_or_else(|| format!("no process holds the Lease {name}; give the URL of the operator with --operator"))?;
    let unnamed =
        || format!("the Lease {name} has no address of its holder; give the URL of the operator with --operator");
    leader.address.ok_or_else(unnamed)
}
