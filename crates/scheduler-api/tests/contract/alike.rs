//! For any cloud and any request, both schedulers decide alike.

use berth_core::host::Host;
use berth_scheduler::{Candidates, Request, ReservationType, Scheduler};
use proptest::prelude::*;

use crate::cloud::{flavor, gib, host, in_force, probe, wanted};
use crate::fixture::{Fixture, InProcess, OverHttp};

const NAMES: [&str; 5] = ["h0", "h1", "h2", "h3", "h4"];

#[derive(Clone, Debug)]
struct Story {
    hosts: Vec<Host>,
    slots: Vec<(i64, usize)>,
    question: Request,
    /// The sizes of slots that are placed one after the other.
    placed: Vec<i64>,
}

fn hosts() -> impl Strategy<Value = Vec<Host>> {
    let one = (1_i64..16, 0_i64..4, any::<bool>());
    prop::collection::vec(one, 0..NAMES.len()).prop_map(|hosts| {
        let named = hosts.into_iter().zip(NAMES);
        let host = |((size, used, here), name)| Host {
            zone: if here { "az" } else { "other" }.into(),
            allocation: gib(used, used * 8).into(),
            ..host(name, gib(size, size * 8))
        };
        named.map(host).collect()
    })
}

fn question() -> impl Strategy<Value = Request> {
    let candidates = prop_oneof![
        Just(Candidates::All),
        prop::sample::subsequence(NAMES.to_vec(), 0..4)
            .prop_map(|names| Candidates::Listed(names.into_iter().map(|name| (name.into(), 0.0)).collect())),
    ];
    let zone = prop_oneof![Just(""), Just("az"), Just("other")];
    (1_u32..6, zone, candidates, any::<bool>(), any::<bool>(), 0_usize..3).prop_map(
        |(size, zone, candidates, empty, ignored, most)| {
            let mut request = Request { zone: zone.into(), candidates, ..probe(flavor(size, u64::from(size) * 8)) };
            request.options.assume_empty_hosts = empty;
            request.options.max_candidates = most;
            request.options.ignored_reservation_types =
                ignored.then_some(ReservationType::Committed).into_iter().collect();
            request
        },
    )
}

fn story() -> impl Strategy<Value = Story> {
    let slots = prop::collection::vec((1_i64..4, 0..NAMES.len()), 0..4);
    (hosts(), slots, question(), prop::collection::vec(1_i64..6, 0..5))
        .prop_map(|(hosts, slots, question, placed)| Story { hosts, slots, question, placed })
}

/// The decisions of a scheduler about all of it.
async fn reported<F: Fixture>(story: &Story) -> Vec<String> {
    let fixture = F::with(&story.hosts).await;
    for (number, (size, on)) in story.slots.iter().enumerate() {
        fixture.shows(&in_force(&wanted(&format!("there-{number}"), gib(*size, size * 8)), NAMES[*on]));
    }
    let probed = fixture.scheduler().probe(&story.question, "").await;
    let mut reported = vec![format!("{probed:?}")];
    for (number, size) in story.placed.iter().enumerate() {
        let placed = fixture.place(&wanted(&format!("new-{number}"), gib(*size, size * 8))).await;
        reported.push(format!("{placed:?}"));
    }
    reported
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn both_decide_alike(story in story()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (here, there) =
            runtime.block_on(async { (reported::<InProcess>(&story).await, reported::<OverHttp>(&story).await) });
        prop_assert_eq!(here, there);
    }
}
