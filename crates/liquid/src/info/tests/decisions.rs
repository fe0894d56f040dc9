//! The decision what to publish, without an API server.

use berth_core::commitment::{ResourceType, State};
use berth_core::liquid::units::RamUnit;

use super::*;

/// What is read at one moment.
struct Facts {
    features: Vec<Value>,
    config: ResourceConfig,
    changed: Option<Timestamp>,
    live: LiveCommitments,
    now: Option<Timestamp>,
}

impl Facts {
    fn new() -> Self {
        let live = LiveCommitments::default();
        Self { features: features(), config: config(), changed: Some(changed()), live, now: Some(now()) }
    }

    fn next(&self, published: Option<&Publication>) -> NextPublication {
        let facts = InfoFacts {
            groups: &groups(&self.features),
            last_content_change: self.changed,
            config: &self.config,
            live: &self.live,
            trusted_now: self.now,
            now: now(),
        };
        plan(published, &facts).unwrap()
    }

    fn publication(&self, published: Option<&Publication>) -> Publication {
        self.next(published).publication
    }

    fn unit_after(&self, published: &Publication) -> (u64, bool) {
        let next = self.next(Some(published));
        let unit = next.publication.ram_unit(&"hana_v3".into()).map(RamUnit::in_gib).unwrap();
        (unit, next.kept_units.contains("hana_v3"))
    }
}

fn now() -> Timestamp {
    time("2026-03-05T00:00:00Z")
}

#[test]
fn the_first_version_is_the_time_of_the_flavor_groups() {
    let first = Facts::new().publication(None);
    assert_eq!((first.info.version, first.configuration.changed), (1_772_439_300, None));
    let unknown = Facts { changed: None, ..Facts::new() };
    assert_eq!(unknown.publication(None).info.version, -1);
}

#[test]
fn the_same_content_keeps_version_and_text_whatever_the_time_is() {
    let first = Facts::new().publication(None);
    let later = Facts { changed: Some(now()), now: Some(time("2027-01-01T00:00:00Z")), ..Facts::new() };
    assert_eq!(later.publication(Some(&first)), first);
}

#[test]
fn a_changed_configuration_raises_the_version_to_its_time() {
    let first = Facts::new().publication(None);
    let changed = Facts { config: config_with_unit(960), ..Facts::new() };
    let second = changed.publication(Some(&first));
    assert_eq!((second.info.version, second.configuration.changed), (now().as_second(), Some(now())));
    assert_eq!(changed.publication(Some(&second)), second);
}

#[test]
fn a_change_that_is_not_announced_keeps_the_version_and_is_remembered() {
    let first = Facts::new().publication(None);
    let other: ResourceConfig = config()
        .iter()
        .map(|(group, of)| (group.clone(), *of))
        .chain([("none".into(), GroupResources::default())])
        .collect();
    let second = Facts { config: other, ..Facts::new() }.publication(Some(&first));
    assert_eq!((&second.info, second.configuration.changed), (&first.info, Some(now())));
    assert_ne!(second.configuration.fingerprint, first.configuration.fingerprint);
}

#[test]
fn while_the_clock_is_not_trusted_the_version_rises_by_one() {
    let first = Facts::new().publication(None);
    let blind = Facts { config: config_with_unit(960), now: None, ..Facts::new() };
    let second = blind.publication(Some(&first));
    assert_eq!((second.info.version, second.configuration.changed), (first.info.version + 1, None));
}

#[test]
fn a_content_that_comes_back_gets_a_new_version() {
    let first = Facts::new().publication(None);
    let gone = Facts { features: features()[..1].to_vec(), ..Facts::new() }.publication(Some(&first));
    let back = Facts::new().publication(Some(&gone));
    assert_eq!((gone.info.version, back.info.version), (first.info.version + 1, first.info.version + 2));
    assert_eq!(back.info.resources, first.info.resources);
}

#[test]
fn a_crash_before_the_write_repeats_the_same_decision() {
    let first = Facts::new().publication(None);
    let changed = Facts { config: config_with_unit(960), ..Facts::new() };
    let (lost, again) = (changed.publication(Some(&first)), changed.publication(Some(&first)));
    assert_eq!(lost, again);
}

#[test]
fn a_group_with_live_commitments_stays_as_it_was_published() {
    let first = Facts::new().publication(None);
    let without = |live| Facts { features: features()[1..].to_vec(), live, ..Facts::new() };
    let has_group = |live| {
        let next = without(live).publication(Some(&first));
        next.ram_unit(&"hana_v3".into()).is_some()
    };
    let state = |state| LiveCommitments::of(&[Spec { state, ..sold("480Gi") }], Some(now()));
    for live in [State::Planned, State::Pending, State::Guaranteed, State::Confirmed] {
        assert!(has_group(state(live)), "{live:?}");
    }
    for over in [State::Superseded, State::Expired] {
        assert!(!has_group(state(over)), "{over:?}");
    }
    let ended = Spec { end: Some(time("2026-03-04T00:00:00Z")), ..sold("480Gi") };
    assert!(!has_group(LiveCommitments::of([&ended], Some(now()))));
    assert!(has_group(LiveCommitments::of([&ended], None)), "nothing ends by a clock that is not trusted");
    let cores = Spec { resource: ResourceType::Cores, ..sold("7") };
    assert!(has_group(LiveCommitments::of([&cores], Some(now()))));
    assert!(!has_group(LiveCommitments::default()));
    assert!(has_group(LiveCommitments::default().partial()), "commitments of a cluster that is away are not known");
}

#[test]
fn a_unit_that_would_make_an_amount_fractional_is_not_published() {
    let first = Facts::new().publication(None);
    let after = |unit, amounts: &[&str]| {
        let specs: Vec<Spec> = amounts.iter().map(|amount| sold(amount)).collect();
        let live = LiveCommitments::of(&specs, Some(now()));
        Facts { config: config_with_unit(unit), live, ..Facts::new() }.unit_after(&first)
    };
    assert_eq!(after(960, &[]), (960, false));
    assert_eq!(after(960, &["960Gi", "1920Gi"]), (960, false));
    assert_eq!(after(960, &["960Gi", "1440Gi"]), (480, true));
    assert_eq!(after(240, &["1440Gi"]), (240, false), "smaller units divide");
    assert_eq!(after(960, &["100Gi"]), (960, false), "it was fractional before");
    let partial = Facts { config: config_with_unit(960), live: LiveCommitments::default().partial(), ..Facts::new() };
    assert_eq!(partial.unit_after(&first), (480, true));
}

#[test]
fn a_group_whose_unit_stays_keeps_its_whole_entry_and_others_change() {
    let first = Facts::new().publication(None);
    let live = LiveCommitments::of(&[sold("480Gi")], Some(now()));
    let mut other = features();
    other[0]["ramCoreRatio"] = json!(8192);
    other[1]["ramCoreRatioMax"] = json!(16_384);
    let next = Facts { features: other, config: config_with_unit(960), live, ..Facts::new() }.publication(Some(&first));
    let [hana, gp] = ["hana_v3", "gp_v1"].map(|group| format!("hw_version_{group}_cores"));
    assert_eq!(next.info.resources[&hana], first.info.resources[&hana]);
    assert_ne!(next.info.resources[&gp], first.info.resources[&gp]);
}

#[test]
fn a_unit_that_is_too_large_is_an_error_that_names_the_group() {
    let config = [("*".into(), GroupResources { ram_unit_gib: 1 << 34, ..GroupResources::default() })];
    let facts = InfoFacts {
        groups: &groups(&features()),
        last_content_change: None,
        config: &config.into_iter().collect(),
        live: &LiveCommitments::default(),
        trusted_now: None,
        now: now(),
    };
    let error = plan(None, &facts).unwrap_err().to_string();
    assert!(error.starts_with("failed to create RAM unit for flavor group \"gp_v1\": "), "{error}");
}
