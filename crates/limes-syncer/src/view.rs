//! What one run has found in Limes, as a value, and whether that is everything.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_core::liquid::conversion::LimesCommitment;
use berth_core::{CommitmentUuid, ProjectId};
use berth_openstack::limes::{ListedCommitment, Project};
use jiff::Timestamp;
use thiserror::Error;
use tokio::time::Instant;

use crate::filter::{Filter, SkipReason, UsableCommitment};

/// A view in which more than one in so many of our commitments is missing does not count as complete.
const MOST_MISSING: usize = 10;

/// When a fetch began, on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Began {
    pub instant: Instant,
    pub time: Timestamp,
}

/// The answers of one run.
#[derive(Clone, Debug)]
pub struct FetchedProjects {
    pub began: Began,
    pub projects: Vec<FetchedProject>,
}

/// The answer about one project.
#[derive(Clone, Debug)]
pub struct FetchedProject {
    pub project: Project,
    pub began: Began,
    pub listed: Result<Vec<FetchedCommitment>, FetchFailure>,
}

/// A commitment in an answer. Thousands of projects are read one after the other, so only what is compared is kept.
#[derive(Clone, Debug)]
pub enum FetchedCommitment {
    Usable(Arc<UsableCommitment>),
    /// It is checked again when all projects were read: its flavor group may have come meanwhile.
    Unusable(Box<ListedCommitment>),
}

/// Why the commitments of a project are not known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FetchFailure {
    #[error("Limes does not know the project yet")]
    Unknown,
    #[error("{0}")]
    Failed(String),
    #[error("it was not asked for, because too many requests before it have failed or the time was over")]
    NotAsked,
}

/// Our commitments when the run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalCommitments {
    pub commitments: Vec<LocalCommitment>,
    /// Why there may be others.
    pub partial: Option<String>,
}

/// One of our commitments, as far as a view is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalCommitment {
    pub uuid: CommitmentUuid,
    pub project: ProjectId,
    /// Limes should list it: it has not ended, and it was there, as it is, when the run began.
    pub is_expected: bool,
}

/// What a view says about a commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listing {
    Usable(Arc<UsableCommitment>),
    /// Listed, and not compared.
    Skipped(SkipReason),
}

/// A commitment that a view lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub listing: Listing,
    /// When the fetch of its project began.
    pub began: Began,
    /// When the first of the fetches began that have listed it like this without a break, in this process.
    pub since: Timestamp,
}

/// What one run has found.
#[derive(Clone, Debug)]
pub struct LimesView {
    pub began: Began,
    entries: BTreeMap<CommitmentUuid, Entry>,
    incomplete: Option<IncompleteView>,
}

/// Proof that a view is complete. Only a complete view gives one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewProof(());

/// Why nothing can be concluded from what a view does not list.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IncompleteView {
    #[error("Keystone lists no project; check that the user of the secret may list all projects")]
    NoProject,
    #[error("the commitments of {count} projects could not be read, the first is {project}: {why}")]
    Projects { count: usize, project: String, why: FetchFailure },
    #[error("Limes lists no commitment at all; check that the user of the secret may see all projects")]
    NoCommitment,
    #[error(
        "{missing} of {all} commitments are not listed, which is more than one in ten; check that the user of the secret may \
         see all projects"
    )]
    TooManyMissing { missing: usize, all: usize },
    #[error("not all commitments of ours are known: {0}")]
    Local(String),
}

/// A view, and figures about it.
#[derive(Debug)]
pub struct Assembled {
    pub view: LimesView,
    /// Commitments that are ours, those that have ended included.
    pub usable: usize,
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Expected commitments that are not listed, without those of projects that could not be read.
    pub unmatched: usize,
}

impl LimesView {
    pub fn get(&self, uuid: &CommitmentUuid) -> Option<&Entry> {
        self.entries.get(uuid)
    }

    pub fn uuids(&self) -> impl Iterator<Item = &CommitmentUuid> {
        self.entries.keys()
    }

    /// The proof for conclusions from what is not listed.
    pub fn require_complete(&self) -> Result<ViewProof, &IncompleteView> {
        self.incomplete.as_ref().map_or(Ok(ViewProof(())), Err)
    }
}

/// A proof without a view.
#[cfg(test)]
pub fn view_proof() -> ViewProof {
    ViewProof(())
}

/// Checks the commitments in the answer about a project. Those that the former view has are not kept twice.
pub fn check_answer(
    listed: Vec<ListedCommitment>,
    project: &Project,
    filter: &Filter<'_>,
    former: Option<&LimesView>,
) -> Vec<FetchedCommitment> {
    let mut sharing = Sharing { former, previous: None };
    let check = |listed: ListedCommitment| match filter.check(&listed, project) {
        Ok(usable) => FetchedCommitment::Usable(sharing.share(usable)),
        Err(_) => FetchedCommitment::Unusable(Box::new(listed)),
    };
    listed.into_iter().map(check).collect()
}

/// Makes the view of a run. `former` is that of the run before.
pub fn assemble(
    fetched: FetchedProjects,
    filter: &Filter<'_>,
    local: &LocalCommitments,
    former: Option<&LimesView>,
) -> Assembled {
    let FetchedProjects { began, projects } = fetched;
    let failures = find_failures(&projects);
    let has_project = !projects.is_empty();
    let mut collected = Collected::default();
    for FetchedProject { project, began, listed } in projects {
        for fetched in listed.into_iter().flatten() {
            collected.add(fetched, filter, &project, began);
        }
    }
    let entries = collected.entries(former);
    let is_missing = |one: &&LocalCommitment| one.is_expected && !entries.contains_key(&one.uuid);
    let missing = local.commitments.iter().filter(is_missing);
    let unmatched = missing.filter(|one| !failures.contains_key(one.project.as_str())).count();
    let incomplete = if has_project {
        why_incomplete(&failures, entries.is_empty(), unmatched, local)
    } else {
        Some(IncompleteView::NoProject)
    };
    let usable = entries.values().filter(|entry| matches!(entry.listing, Listing::Usable(_))).count();
    Assembled { view: LimesView { began, entries, incomplete }, usable, skipped: collected.skipped, unmatched }
}

fn find_failures(projects: &[FetchedProject]) -> BTreeMap<String, FetchFailure> {
    let failure = |one: &FetchedProject| Some((one.project.id.clone(), one.listed.as_ref().err()?.clone()));
    projects.iter().filter_map(failure).collect()
}

fn why_incomplete(
    failures: &BTreeMap<String, FetchFailure>,
    is_empty: bool,
    missing: usize,
    local: &LocalCommitments,
) -> Option<IncompleteView> {
    let all = local.commitments.len();
    if let Some((project, why)) = failures.first_key_value() {
        return Some(IncompleteView::Projects { count: failures.len(), project: project.clone(), why: why.clone() });
    }
    if is_empty {
        return Some(IncompleteView::NoCommitment);
    }
    if let Some(why) = &local.partial {
        return Some(IncompleteView::Local(why.clone()));
    }
    (missing * MOST_MISSING > all).then_some(IncompleteView::TooManyMissing { missing, all })
}

/// Keeps what the view before has, and names that commitments share, only once: both views are there at the same time.
struct Sharing<'v> {
    former: Option<&'v LimesView>,
    previous: Option<Arc<UsableCommitment>>,
}

impl Sharing<'_> {
    fn share(&mut self, mut usable: UsableCommitment) -> Arc<UsableCommitment> {
        let former = self.former.and_then(|former| former.get(&usable.commitment.uuid));
        let shared = match former.map(|entry| &entry.listing) {
            Some(Listing::Usable(former)) if **former == usable => former.clone(),
            _ => {
                if let Some(previous) = &self.previous {
                    share_names(&mut usable.commitment, &previous.commitment);
                }
                Arc::new(usable)
            }
        };
        self.previous = Some(shared.clone());
        shared
    }
}

/// The commitments of a run.
#[derive(Default)]
struct Collected {
    listings: BTreeMap<CommitmentUuid, (Listing, Began)>,
    skipped: BTreeMap<SkipReason, u64>,
}

impl Collected {
    fn add(&mut self, fetched: FetchedCommitment, filter: &Filter<'_>, project: &Project, began: Began) {
        let (uuid, listing) = match fetched {
            FetchedCommitment::Usable(usable) => (usable.commitment.uuid.clone(), Listing::Usable(usable)),
            FetchedCommitment::Unusable(listed) => {
                let listing = match filter.check(&listed, project) {
                    Ok(usable) => Listing::Usable(Arc::new(usable)),
                    Err(reason) => Listing::Skipped(reason),
                };
                (listed.uuid.as_str().into(), listing)
            }
        };
        if let Listing::Skipped(reason) = listing {
            self.count(reason);
        }
        if uuid.is_empty() {
            return;
        }
        if self.listings.contains_key(&uuid) {
            self.count(SkipReason::Duplicate);
            tracing::error!(commitment = %uuid, "Limes lists a commitment twice in one run; it is not compared in this run");
            self.listings.insert(uuid, (Listing::Skipped(SkipReason::Duplicate), began));
        } else {
            self.listings.insert(uuid, (listing, began));
        }
    }

    fn count(&mut self, reason: SkipReason) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    fn entries(&mut self, former: Option<&LimesView>) -> BTreeMap<CommitmentUuid, Entry> {
        let entry = |(uuid, (listing, began)): (CommitmentUuid, (Listing, Began))| {
            let known = former.and_then(|former| former.get(&uuid)).filter(|known| known.listing == listing);
            let since = known.map_or(began.time, |known| known.since);
            (uuid, Entry { listing, began, since })
        };
        std::mem::take(&mut self.listings).into_iter().map(entry).collect()
    }
}

/// Most commitments are of the project, zone and group of the one before.
fn share_names(commitment: &mut LimesCommitment, previous: &LimesCommitment) {
    share_name(&mut commitment.group, &previous.group);
    share_name(&mut commitment.zone, &previous.zone);
    share_name(&mut commitment.project, &previous.project);
    share_name(&mut commitment.domain, &previous.domain);
}

fn share_name<N: Clone + PartialEq>(name: &mut N, known: &N) {
    if name == known {
        name.clone_from(known);
    }
}

#[cfg(test)]
pub(crate) mod tests;
