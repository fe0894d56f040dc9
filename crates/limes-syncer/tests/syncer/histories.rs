//! Random histories of Limes, changes, people and faults: what is ended was missing in three complete views, and what is
//! paused or named by an open change stays as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use berth_crds::{CommitmentState, CommittedResourceSpec, labels};
use proptest::prelude::*;
use serde_json::json;

use crate::support::limes::{Failure, listed};
use crate::support::{HOUR, Process, Stage};

const COMMITMENTS: usize = 12;
const PROJECTS: usize = 2;
const VIEWS: usize = 3;

/// What happens between two runs.
#[derive(Clone, Debug)]
enum Act {
    /// Limes lists the commitment with this amount, or does not list it.
    List(usize, Option<u64>),
    Fail(usize, bool),
    FailKeystone(bool),
    /// A change creates the commitment here.
    Create(usize),
    Pause(usize, bool),
    Open(usize),
    Finish(usize),
    Groups(bool),
    Restart,
    Sync,
    /// So many runs in a row, an hour after each other.
    Syncs(usize),
}

fn acts() -> impl Strategy<Value = Act> {
    let one = 0..COMMITMENTS;
    prop_oneof![
        6 => (one.clone(), prop::option::weighted(0.6, 1..100_u64)).prop_map(|(one, amount)| Act::List(one, amount)),
        1 => (0..PROJECTS, prop::bool::weighted(0.3)).prop_map(|(project, fails)| Act::Fail(project, fails)),
        1 => prop::bool::weighted(0.3).prop_map(Act::FailKeystone),
        3 => one.clone().prop_map(Act::Create),
        1 => (one.clone(), prop::bool::weighted(0.4)).prop_map(|(one, pauses)| Act::Pause(one, pauses)),
        1 => one.clone().prop_map(Act::Open),
        2 => one.prop_map(Act::Finish),
        1 => prop::bool::weighted(0.8).prop_map(Act::Groups),
        1 => Just(Act::Restart),
        4 => Just(Act::Sync),
        4 => (3..6_usize).prop_map(Act::Syncs),
    ]
}

fn uuid(number: usize) -> String {
    format!("c-{number:05}")
}

struct History {
    stage: Stage,
    process: Process,
    listed: BTreeMap<usize, u64>,
    failing: BTreeSet<usize>,
    is_keystone_failing: bool,
    open: BTreeMap<usize, usize>,
    changes: usize,
    /// The runs of this process that may have seen everything, and what each has listed.
    views: Vec<BTreeSet<usize>>,
    ended: usize,
}

impl History {
    fn begin(ends_stale: bool, seed: u64) -> Self {
        let stage = Stage { ends_stale, ..Stage::new(PROJECTS) };
        let process = Process::start_ordered(&stage, seed);
        Self {
            stage,
            process,
            listed: BTreeMap::new(),
            failing: BTreeSet::new(),
            is_keystone_failing: false,
            open: BTreeMap::new(),
            changes: 0,
            views: Vec::new(),
            ended: 0,
        }
    }

    async fn act(&mut self, act: Act) {
        match act {
            Act::List(one, amount) => self.list(one, amount),
            Act::Fail(project, fails) => {
                let failure = fails.then_some(Failure::Internal);
                self.stage.limes.fail(&format!("p-{project}"), failure);
                if fails {
                    self.failing.insert(project)
                } else {
                    self.failing.remove(&project)
                };
            }
            Act::FailKeystone(fails) => {
                self.is_keystone_failing = fails;
                self.stage.limes.fail_keystone(fails.then_some(Failure::Internal));
            }
            Act::Create(one) if self.stage.commitment(&uuid(one)).is_none() => {
                self.stage.create_by_change(&uuid(one), "32Gi");
            }
            Act::Pause(one, pauses) if self.stage.commitment(&uuid(one)).is_some() => {
                let value = pauses.then_some("");
                self.stage.edit(&uuid(one), &json!({ "metadata": { "annotations": { labels::PAUSED: value } } }));
            }
            Act::Open(one) if !self.open.contains_key(&one) => {
                self.changes += 1;
                self.stage.open_change(&format!("n{}", self.changes), &uuid(one));
                self.open.insert(one, self.changes);
            }
            Act::Finish(one) => {
                if let Some(change) = self.open.remove(&one) {
                    self.stage.finish_change(&format!("n{change}"));
                }
            }
            Act::Groups(has_group) => self.stage.set_groups(has_group),
            Act::Restart => {
                self.process = Process::start(&self.stage);
                self.views.clear();
            }
            Act::Sync => self.sync().await,
            Act::Syncs(count) => {
                for _ in 0..count {
                    self.sync().await;
                    tokio::time::sleep(HOUR).await;
                }
            }
            Act::Create(_) | Act::Pause(..) | Act::Open(_) => {}
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }

    fn list(&mut self, one: usize, amount: Option<u64>) {
        match amount {
            Some(amount) => self.listed.insert(one, amount),
            None => self.listed.remove(&one),
        };
        for project in 0..PROJECTS {
            let own = self.listed.iter().filter(|(one, _)| *one % PROJECTS == project);
            let all = own.map(|(one, amount)| listed(&uuid(*one), *amount)).collect();
            self.stage.limes.set(&format!("p-{project}"), all);
        }
    }

    fn specs(&self) -> BTreeMap<usize, CommittedResourceSpec> {
        (0..COMMITMENTS).filter_map(|one| Some((one, self.stage.commitment(&uuid(one))?.spec))).collect()
    }

    fn untouchable(&self) -> BTreeSet<usize> {
        let is_paused = |one: &usize| {
            self.stage.commitment(&uuid(*one)).is_some_and(|object| {
                object.metadata.annotations.is_some_and(|annotations| annotations.contains_key(labels::PAUSED))
            })
        };
        (0..COMMITMENTS).filter(is_paused).chain(self.open.keys().copied()).collect()
    }

    async fn sync(&mut self) {
        let (before, untouchable) = (self.specs(), self.untouchable());
        self.process.sync().await;
        if !self.is_keystone_failing {
            self.note_view();
        }
        let after = self.specs();
        for one in untouchable {
            assert_eq!(before.get(&one), after.get(&one), "{one} is paused, or named by an open change");
        }
        for (one, spec) in &before {
            let has_ended = spec.state != CommitmentState::Superseded
                && after.get(one).is_some_and(|after| after.state == CommitmentState::Superseded);
            if has_ended {
                self.ended += 1;
                self.check_end(*one);
            }
        }
    }

    /// A view that lacks the commitments of a project still shows what the other has.
    fn note_view(&mut self) {
        let seen = self.listed.keys().copied().filter(|one| !self.failing.contains(&(one % PROJECTS))).collect();
        if self.failing.is_empty() {
            self.views.push(seen);
        } else if let Some(last) = self.views.last_mut() {
            last.extend(seen);
        }
    }

    fn check_end(&self, one: usize) {
        let missing = self.views.iter().rev().take_while(|view| !view.contains(&one)).count();
        assert!(missing >= VIEWS, "{one} was missing in {missing} views: {:?}", self.views);
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn only_what_three_complete_views_lack_is_ended(
        acts in prop::collection::vec(acts(), 1..60),
        ends_stale in any::<bool>(),
        seed in any::<u64>(),
    ) {
        runtime().block_on(async {
            let mut history = History::begin(ends_stale, seed);
            for act in acts {
                history.act(act).await;
            }
        });
    }
}

/// The property is about something.
#[test]
fn histories_in_which_commitments_are_ended_exist() {
    let acts =
        (0..COMMITMENTS).map(|one| Act::List(one, Some(8))).chain([Act::Syncs(2), Act::List(3, None), Act::Syncs(5)]);
    runtime().block_on(async {
        let mut history = History::begin(true, 0);
        for act in acts {
            history.act(act).await;
        }
        assert_eq!(history.ended, 1);
    });
}
