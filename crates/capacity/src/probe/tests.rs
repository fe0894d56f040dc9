//! The requests of probes, and what of their answers counts.

use berth_core::testing::amber;

use super::*;

fn flavor() -> Flavor {
    amber().flavors[0].clone()
}

#[test]
fn the_request_is_the_one_that_schedulers_know() {
    let present = request(&"az-a".into(), &flavor(), ProbeKind::Placeable, "pipeline");
    assert_eq!((present.project.as_str(), present.zone.as_str(), present.instances), (PROJECT, "az-a", 1));
    assert_eq!(
        (present.instance.as_str(), present.pipeline.as_str()),
        (&*format!("capacity-{}", flavor().name), "pipeline")
    );
    assert_eq!((present.intent(), present.ignore_hosts.len()), (Some(Intent::CapacityProbe), 0));
    assert_eq!((present.flavor, present.options), (flavor(), Options::read_only()));
}

#[test]
fn the_total_counts_neither_vms_nor_any_reservation() {
    let total = request(&"az-a".into(), &flavor(), ProbeKind::Total, "pipeline").options;
    assert!(total.assume_empty_hosts && total.read_only);
    let ignored: Vec<_> = total.ignored_reservation_types.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(ignored, ["CommittedResourceReservation", "FailoverReservation", "InFlightReservation"]);
    assert_eq!(total.validate(), Ok(()));
}

#[test]
fn one_failed_probe_is_that_of_its_group_only() {
    let (one, two) = (amber(), FlavorGroup { name: "two".into(), ..amber() });
    let answers = amber().flavors.len() * 2;
    let mut found = (0..2 * answers).map(|number| (number != 1).then(|| [number].into()));
    assert_eq!(probed_group(&one, &mut found), None);
    let probed = probed_group(&two, &mut found).unwrap();
    assert_eq!(probed.flavors[0].on_empty_hosts, [answers].into(), "the answers of the first group are taken");
    assert_eq!((probed.smallest, found.next()), (amber().smallest().unwrap().name.clone(), None));
}

#[tokio::test(start_paused = true)]
async fn a_probe_without_an_answer_at_the_deadline_has_failed() {
    let late = answer_until(Instant::now(), std::future::pending::<Result<(), _>>()).await;
    assert_eq!(late.unwrap_err().to_string(), "no answer before the deadline of the cycle");
    assert_eq!(answer_until(Instant::now(), std::future::ready(Ok(1))).await, Ok(1));
}
