//! Dry runs of changes of commitments.

use std::time::Duration;

use berth_committed_resource::ChangeVerdict;
use berth_crds::commitment_change::ChangePhase;
use berth_crds::{CommittedResourceSpec, names};
use berth_testkit::seeds;
use serde_json::json;

use crate::support::*;

fn rejected(uuid: &str, why: &str) -> ChangeVerdict {
    ChangeVerdict::Rejected(vec![(uuid.into(), why.to_owned())])
}

#[tokio::test(start_paused = true)]
async fn what_a_change_releases_counts_as_free() {
    let (server, process) = full(4).await;
    server.take_log();
    let convert = |slots| [(NEW, Some(in_other_group(spec(NEW, slots)))), (OLD, Some(superseded(OLD)))];
    assert_eq!(process.dry_run(&convert(4)).await, ChangeVerdict::Fits);
    let too_much = rejected(NEW, "insufficient capacity: 4/5 reservation slots could be placed");
    assert_eq!(process.dry_run(&convert(5)).await, too_much);
    assert_eq!(process.dry_run(&[(NEW, Some(spec(NEW, 4))), (OLD, None)]).await, ChangeVerdict::Fits);
    let alone = rejected(NEW, "insufficient capacity: 0/1 reservation slots could be placed");
    assert_eq!(process.dry_run(&[(NEW, Some(spec(NEW, 1)))]).await, alone);
    assert_eq!((server.take_log(), process.world.scheduler.assumed()), (vec![], 0), "nothing is written or held");
}

#[tokio::test(start_paused = true)]
async fn a_split_of_slots_with_vms_fits() {
    let (server, process) = full(4).await;
    start_vms(&server, OLD, &process.clock);
    process.settle().await;
    let items = [(NEW, Some(spec(NEW, 4))), (OLD, Some(superseded(OLD)))];
    assert_eq!(process.dry_run(&items).await, ChangeVerdict::Fits);
    let converted = [(NEW, Some(in_other_group(spec(NEW, 1)))), (OLD, Some(superseded(OLD)))];
    let occupied = rejected(NEW, "insufficient capacity: 0/1 reservation slots could be placed");
    assert_eq!(process.dry_run(&converted).await, occupied, "the VMs stay where they are");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_group_is_a_rejection_and_a_paused_commitment_is_not() {
    let (server, process) = full(1).await;
    let unknown = CommittedResourceSpec { flavor_group_name: "nope".to_owned(), ..spec(NEW, 1) };
    let verdict = process.dry_run(&[(NEW, Some(unknown))]).await;
    assert!(
        matches!(&verdict, ChangeVerdict::Rejected(all) if all[0].1.starts_with("flavor group not found: nope")),
        "{verdict:?}"
    );
    let pause = json!({ "metadata": { "annotations": { "reservations.cortex.cloud/paused": "true" } } });
    server.edit::<berth_crds::CommittedResource>(&names::commitment(OLD), &pause).unwrap();
    process.settle().await;
    let verdict = process.dry_run(&[(OLD, Some(spec(OLD, 2)))]).await;
    assert!(matches!(verdict, ChangeVerdict::Undecided(..)), "{verdict:?}");
}

#[tokio::test(start_paused = true)]
async fn cores_of_several_commitments_are_counted_together() {
    let clock = clock();
    let server = server(&clock, 1);
    server.create(&seeds::capacity(berth_crds::testing::ZONE, 8)).unwrap();
    server.create(&seeds::cores(OLD, 6)).unwrap();
    let process = Process::start(&server, &clock);
    process.settle_for_good().await;
    let cores = |uuid: &str, count| CommittedResourceSpec { allow_rejection: true, ..seeds::cores(uuid, count).spec };
    let released =
        CommittedResourceSpec { state: berth_crds::CommitmentState::Superseded, amount: "0".into(), ..cores(OLD, 0) };
    let both = |first, second| {
        [(NEW, Some(cores(NEW, first))), ("uuid-next", Some(cores("uuid-next", second))), (OLD, Some(released.clone()))]
    };
    assert_eq!(process.dry_run(&both(5, 3)).await, ChangeVerdict::Fits);
    let short = rejected("uuid-next", "insufficient CPU cores: 3 available, 4 requested");
    assert_eq!(process.dry_run(&both(5, 4)).await, short);
    let without = rejected(NEW, "insufficient CPU cores: 2 available, 3 requested");
    assert_eq!(process.dry_run(&[(NEW, Some(cores(NEW, 3)))]).await, without);
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_waits_for_a_host_is_not_confirmed() {
    let (server, process) = full(4).await;
    let_another_wait(&server, &process, 960).await;
    let confirmed = CommittedResourceSpec { allow_rejection: true, ..spec_of(&server, WAITING) };
    let short = rejected(WAITING, "insufficient capacity: 0/2 reservation slots could be placed");
    assert_eq!(process.dry_run(&[(WAITING, Some(confirmed.clone()))]).await, short);
    let _caller = process.begin(&[(WAITING, Some(confirmed))], true);
    // The slots that wait are reconciled again with their back-off.
    process.wait(Duration::from_secs(60)).await;
    process.settle_for_good().await;
    assert_eq!(change(&server).phase(), ChangePhase::RolledBack);
}

/// A random change: the former commitment is kept, shrunk, superseded or deleted, and others come in either group.
fn random_change(random: &mut fastrand::Rng, slots: u64) -> Vec<(&'static str, Option<CommittedResourceSpec>)> {
    let old = match random.u64(0..4) {
        0 => None,
        1 => Some(superseded(OLD)),
        left => Some(spec(OLD, slots.saturating_sub(left).max(1))),
    };
    let mut items = vec![(OLD, old)];
    for uuid in ["uuid-n1", "uuid-n2", "uuid-n3"].into_iter().take(random.usize(1..4)) {
        let halves = random.u64(1..=2 * slots);
        let new = CommittedResourceSpec { amount: format!("{}Gi", halves * 240).as_str().into(), ..spec(uuid, 1) };
        items.push((uuid, Some(if random.bool() { new } else { in_other_group(new) })));
    }
    random.shuffle(&mut items);
    items
}

/// A change is accepted if and only if its dry run says that it fits.
#[tokio::test(start_paused = true)]
async fn dry_runs_agree_with_what_happens() {
    let (mut fitted, mut refused) = (0, 0);
    for seed in 0..120 {
        let mut random = fastrand::Rng::with_seed(seed);
        let slots = random.u64(1..5);
        let (server, process) = full(slots).await;
        let items = random_change(&mut random, slots);
        let verdict = process.dry_run(&items).await;
        let _caller = process.begin(&items, true);
        process.settle_for_good().await;
        let phase = change(&server).phase();
        match verdict {
            ChangeVerdict::Fits => {
                assert_eq!(phase, ChangePhase::Accepted, "seed {seed}: {items:#?} {:#?}", change(&server).status);
                fitted += 1;
            }
            ChangeVerdict::Rejected(_) => {
                assert_eq!(phase, ChangePhase::RolledBack, "seed {seed}: {items:#?}");
                refused += 1;
            }
            ChangeVerdict::Undecided(..) => panic!("seed {seed}: {verdict:?}"),
        }
    }
    assert!(fitted > 15 && refused > 15, "{fitted} fitted, {refused} refused");
}
