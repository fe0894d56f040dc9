//! Which pipelines are in use, and their conditions.

use std::sync::Arc;

use berth_cluster::{InvalidEntry, ObjectKey, testing};
use berth_core::ClusterName;
use berth_core::testing::at;
use berth_crds::{Pipeline, PipelineStatus};
use berth_scheduler::{BuiltIn, Pipelines, Settings};
use berth_telemetry::config::Pipelines as Mode;
use berth_telemetry::metrics::Metrics;
use serde_json::{Value, json};

use super::{
    InUse, PipelineLoader, PipelineObject, PipelineReport, check_pipeline, convert, in_use, status, status_of_foreign,
};

const GENERAL_PURPOSE: &str = "kvm-general-purpose-load-balancing";

fn raw(name: &str, spec: &Value) -> Value {
    let mut whole = json!({ "schedulingDomain": "nova", "type": "filter-weigher" });
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    json!({
        "apiVersion": "cortex.cloud/v1alpha1", "kind": "Pipeline",
        "metadata": { "name": name, "uid": name, "resourceVersion": "1", "generation": 3 }, "spec": whole,
    })
}

fn pipeline(name: &str, spec: &Value) -> Pipeline {
    serde_json::from_value(raw(name, spec)).unwrap()
}

fn steps(names: &[&str]) -> Value {
    names.iter().map(|name| json!({ "name": name })).collect()
}

fn report(object: &Pipeline) -> PipelineReport {
    check_pipeline(PipelineObject::Readable(object)).unwrap().1
}

fn lines(status: &PipelineStatus) -> Vec<String> {
    let line = |c: &berth_crds::Condition| format!("{} {} {}: {}", c.type_, c.status, c.reason, c.message);
    status.conditions.iter().map(line).collect()
}

fn says(object: &Pipeline) -> Vec<String> {
    lines(&status(&PipelineStatus::default(), &report(object), object.metadata.generation, at(0)))
}

#[test]
fn the_example_is_taken_over_completely() {
    let object = pipeline(
        "kvm-hana-bin-packing",
        &json!({
            "ignorePreselection": true,
            "filters": [
                { "name": "filter_status_conditions" },
                { "name": "filter_external_customer",
                  "params": [{ "key": "domainNamePrefixes", "stringListValue": ["iaas-"] }] },
                { "name": "filter_has_enough_capacity" },
            ],
            "weighers": [{
                "name": "kvm_binpack", "multiplier": -0.5,
                "params": [{ "key": "resourceWeights", "floatMapValue": { "memory": 1.0 } }],
            }, { "name": "kvm_failover_evacuation" }],
        }),
    );
    let spec = convert(&object);
    assert_eq!((spec.name.as_str(), spec.ignore_preselection), ("kvm-hana-bin-packing", true));
    assert_eq!(spec.filters[1].params[0].string_list_value.as_deref(), Some(&["iaas-".to_owned()][..]));
    let multipliers: Vec<_> = spec.weighers.iter().map(|weigher| weigher.multiplier).collect();
    assert_eq!(multipliers, [-0.5, 1.0], "an absent multiplier is 1");
    assert_eq!(
        says(&object),
        [
            "Ready True PipelineReady: pipeline is ready",
            "AllStepsReady True AllStepsReady: all pipeline steps are ready",
            "AllStepsIndexed True AllStepsIndexed: all pipeline steps are indexed and known by the controller",
        ]
    );
}

#[test]
fn filter_errors_make_the_pipeline_unusable() {
    let object =
        pipeline("p", &json!({ "filters": steps(&["filter_correct_az", "filter_external_customer", "filter_foo"]) }));
    assert_eq!(
        says(&object),
        [
            "Ready False PipelineInitFailed: one or more filters failed to initialize",
            "AllStepsReady False PipelineInitFailed: 2 filters failed to initialize: map[filter_external_customer:failed \
             to initialize filter: don't configure this step without domainNamePrefixes filter_foo:unknown filter]",
        ],
        "AllStepsIndexed is unchanged"
    );
    let before = status(&PipelineStatus::default(), &PipelineReport::default(), Some(1), at(0));
    let after = status(&before, &report(&object), Some(2), at(9));
    assert_eq!(after.conditions[2], before.conditions[2]);
}

#[test]
fn weigher_errors_and_unknown_weighers_are_left_out_and_reported() {
    let object = pipeline(
        "p",
        &json!({ "filters": steps(&["filter_quota_enforcement"]), "weighers": steps(&["kvm_binpack", "foo", "kvm_prefer_smaller_hosts", "bar"]) }),
    );
    let (loaded, found) = check_pipeline(PipelineObject::Readable(&object)).unwrap();
    assert!(loaded.is_some() && found.is_usable());
    let error = "failed to initialize weigher: at least one resource weight must be specified";
    assert_eq!(
        says(&object),
        [
            "Ready True PipelineReady: pipeline is ready".to_owned(),
            format!(
                "AllStepsReady False SomeStepsNotReady: 2 weighers failed to initialize: map[kvm_binpack:{error} \
                 kvm_prefer_smaller_hosts:{error}]. "
            ),
            "AllStepsIndexed False PipelineContainsUnknownSteps: pipeline contains 2 unknown steps: \
             [foo bar]"
                .to_owned(),
        ]
    );
}

#[test]
fn vmware_only_weighers_and_detectors_are_unknown_steps() {
    let object = pipeline(
        "p",
        &json!({ "weighers": steps(&["vmware_binpack"]), "detectors": steps(&["avoid_high_steal_pct"]) }),
    );
    let unknown = "pipeline contains 2 unknown steps: [vmware_binpack avoid_high_steal_pct]";
    assert!(says(&object)[2].ends_with(unknown), "{:?}", says(&object));
}

#[test]
fn a_step_that_is_listed_twice_makes_the_pipeline_unusable() {
    let params = json!([{ "key": "resourceWeights", "floatMapValue": { "memory": 1.0 } }]);
    let binpack = |multiplier: f64| json!({ "name": "kvm_binpack", "multiplier": multiplier, "params": params });
    let object = pipeline("p", &json!({ "weighers": [binpack(1.0), binpack(3.0)] }));
    assert_eq!(
        says(&object)[1],
        "AllStepsReady False PipelineInitFailed: 1 filters failed to initialize: map[kvm_binpack:duplicate step \
         \"kvm_binpack\"]"
    );
}

#[test]
fn judging_keeps_no_state() {
    let broken = pipeline("p", &json!({ "filters": steps(&["filter_external_customer"]) }));
    let whole = pipeline("p", &json!({ "filters": steps(&["filter_correct_az"]) }));
    let before = says(&whole);
    assert!(!report(&broken).is_usable());
    assert_eq!(says(&whole), before);
}

#[test]
fn a_status_that_reports_nothing_new_is_the_same_status() {
    let object = pipeline("p", &json!({ "weighers": steps(&["foo"]) }));
    let first = status(&PipelineStatus::default(), &report(&object), Some(3), at(0));
    assert_eq!(status(&first, &report(&object), Some(3), at(60)), first);
    let later = status(&first, &report(&object), Some(4), at(60));
    assert_eq!(later.conditions[0].observed_generation, Some(4));
    assert_eq!(later.conditions[0].last_transition_time, first.conditions[0].last_transition_time);
    let cured = status(&first, &PipelineReport::default(), Some(4), at(60));
    assert_ne!(cured.conditions[2].last_transition_time, first.conditions[2].last_transition_time);
    assert_eq!(cured.conditions[0].last_transition_time, first.conditions[0].last_transition_time);
}

#[test]
fn conditions_about_a_version_that_was_ours_do_not_stay() {
    let report = PipelineReport::default();
    let mut before = status(&PipelineStatus::default(), &report, Some(3), at(0));
    assert_eq!(status_of_foreign(&before, Some(3)), before, "this may be those of the scheduler that it belongs to");
    let foreign = berth_crds::Condition { type_: "Other".to_owned(), ..before.conditions[0].clone() };
    let unversioned = berth_crds::Condition { observed_generation: None, ..before.conditions[1].clone() };
    before.conditions.splice(1..2, [unversioned.clone(), foreign.clone()]);
    assert_eq!(status_of_foreign(&before, Some(4)).conditions, [unversioned, foreign]);
}

fn invalid(name: &str, spec: &Value) -> InvalidEntry {
    let raw = raw(name, spec);
    InvalidEntry {
        key: ObjectKey::new(ClusterName::home(), name),
        metadata: kube::core::ObjectMeta::default(),
        error: "spec.filters: no list".into(),
        raw: Arc::new(raw),
    }
}

fn names(InUse { pipelines, .. }: &InUse) -> Vec<String> {
    pipelines.names().map(str::to_owned).collect()
}

#[test]
fn the_three_modes() {
    let objects = [
        pipeline("mine", &json!({ "filters": steps(&["filter_correct_az"]) })),
        pipeline(GENERAL_PURPOSE, &json!({ "filters": steps(&["filter_correct_az"]) })),
    ];
    let seen = || objects.iter().map(PipelineObject::Readable);
    let steps_of = |used: &InUse| used.pipelines.get(GENERAL_PURPOSE).unwrap().steps().count();
    let shipped: Vec<_> = Pipelines::shipped().names().map(str::to_owned).collect();

    let built_in = in_use(Mode::BuiltIn, seen(), &Pipelines::default());
    assert!(names(&built_in) == shipped && steps_of(&built_in) > 10);
    let crd = in_use(Mode::Crd, seen(), &Pipelines::default());
    assert_eq!((names(&crd), steps_of(&crd)), (vec![GENERAL_PURPOSE.to_owned(), "mine".to_owned()], 1));
    let both = in_use(Mode::BuiltInAndCrd, seen(), &Pipelines::default());
    assert_eq!((names(&both).len(), steps_of(&both)), (shipped.len() + 1, 1));
    assert!(in_use(Mode::Crd, [], &Pipelines::default()).usable.is_empty());
}

#[test]
fn a_broken_object_does_not_fall_back_to_the_compiled_in_pipeline() {
    let object = pipeline(GENERAL_PURPOSE, &json!({ "filters": steps(&["filter_external_customer"]) }));
    let unreadable = invalid(GENERAL_PURPOSE, &json!({ "filters": 7 }));
    for seen in [PipelineObject::Readable(&object), PipelineObject::Invalid(&unreadable)] {
        let used = in_use(Mode::BuiltInAndCrd, [seen], &Pipelines::default());
        let error = used.pipelines.get(GENERAL_PURPOSE).unwrap_err().to_string();
        assert_eq!(error, format!("pipeline not found or not ready: \"{GENERAL_PURPOSE}\""));
        assert!(!used.usable[GENERAL_PURPOSE]);
        assert!(used.pipelines.get("kvm-hana-bin-packing").is_ok(), "others are not affected");
    }
    let (_, report) = check_pipeline(PipelineObject::Invalid(&unreadable)).unwrap();
    let message = "the object cannot be read, correct it: spec.filters: no list";
    assert_eq!(
        lines(&status(&PipelineStatus::default(), &report, Some(1), at(0))),
        [
            format!("Ready False PipelineInitFailed: {message}"),
            format!("AllStepsReady False PipelineInitFailed: {message}")
        ]
    );
}

#[test]
fn an_object_of_another_domain_or_type_is_not_loaded_and_replaces_nothing() {
    for other in [json!({ "schedulingDomain": "cinder" }), json!({ "type": "detector" })] {
        let object = pipeline(GENERAL_PURPOSE, &other);
        assert!(check_pipeline(PipelineObject::Readable(&object)).is_none());
        let used = in_use(Mode::BuiltInAndCrd, [PipelineObject::Readable(&object)], &Pipelines::default());
        assert!(used.pipelines.get(GENERAL_PURPOSE).unwrap().steps().count() > 10, "the compiled-in pipeline");
        assert!(in_use(Mode::Crd, [PipelineObject::Readable(&object)], &Pipelines::default()).usable.is_empty());
        assert!(check_pipeline(PipelineObject::Invalid(&invalid("p", &other))).is_none());
    }
}

fn loader(mode: Mode, objects: Vec<Pipeline>) -> (berth_cluster::Store<Pipeline>, Arc<BuiltIn>, PipelineLoader) {
    let store = testing::filled(&[], &ClusterName::home(), objects);
    let scheduler = Arc::new(BuiltIn::new(Settings::default(), Box::new(|_| {})));
    let loader = PipelineLoader::new(&store, mode, scheduler.clone());
    (store, scheduler, loader)
}

fn answers(scheduler: &BuiltIn, name: &str) -> bool {
    let flavor = berth_core::testing::amber().flavors[0].clone();
    let request = berth_scheduler::Request { pipeline: name.to_owned(), ..berth_scheduler::Request::new("vm", flavor) };
    scheduler.run(&request).is_ok()
}

fn short() -> Value {
    json!({ "filters": steps(&["filter_correct_az"]) })
}

#[test]
fn a_change_takes_effect_at_once_and_is_shown() {
    let (store, scheduler, loader) = loader(Mode::BuiltInAndCrd, Vec::new());
    let metrics = Metrics::new(&[].into()).unwrap();
    loader.register(&metrics).unwrap();
    let state = |name: &str, state: &str| {
        let row = format!("cortex_pipeline_state{{domain=\"nova\",pipeline=\"{name}\",state=\"{state}\"}} 1");
        metrics.render().contains(&row)
    };
    assert!(!answers(&scheduler, "mine") && state(GENERAL_PURPOSE, "ready"));

    let home = ClusterName::home();
    testing::applied(&store, &home, pipeline("mine", &short()));
    assert!(answers(&scheduler, "mine") && state("mine", "ready") && loader.problem().is_none());

    let mut broken = pipeline("mine", &json!({ "filters": steps(&["filter_external_customer"]) }));
    broken.metadata.resource_version = Some("2".to_owned());
    testing::applied(&store, &home, broken.clone());
    assert!(answers(&scheduler, "mine"), "as it was before");
    assert!(state("mine", "unknown") && !state("mine", "ready"));
    assert_eq!(
        loader.problem().unwrap(),
        "these pipelines cannot be used as they are now, their conditions say why: mine"
    );
    testing::deleted(&store, &home, broken);
    assert!(!answers(&scheduler, "mine") && !metrics.render().contains("mine") && loader.problem().is_none());
}

/// How many steps a pipeline has that is in use.
fn steps_in_use(used: &InUse, name: &str) -> Option<usize> {
    used.pipelines.get(name).ok().map(|pipeline| pipeline.steps().count())
}

#[test]
fn a_version_that_cannot_be_used_leaves_the_previous_one_in_use() {
    let good = pipeline(GENERAL_PURPOSE, &json!({ "filters": steps(&["filter_correct_az", "filter_capabilities"]) }));
    let unknown = pipeline(GENERAL_PURPOSE, &json!({ "filters": steps(&["filter_corect_az"]) }));
    let wrong = pipeline(GENERAL_PURPOSE, &json!({ "filters": steps(&["filter_external_customer"]) }));
    let unreadable = invalid(GENERAL_PURPOSE, &json!({ "filters": 7 }));
    let versions = [&unknown, &wrong].map(PipelineObject::Readable);
    let mut used = in_use(Mode::BuiltInAndCrd, [PipelineObject::Readable(&good)], &Pipelines::default());
    for version in versions.into_iter().chain([PipelineObject::Invalid(&unreadable)]) {
        used = in_use(Mode::BuiltInAndCrd, [version], &used.of_objects);
        assert_eq!((steps_in_use(&used, GENERAL_PURPOSE), used.usable[GENERAL_PURPOSE]), (Some(2), false));
    }
    let other = pipeline(GENERAL_PURPOSE, &json!({ "type": "detector" }));
    for objects in [vec![], vec![PipelineObject::Readable(&other)]] {
        let gone = in_use(Mode::BuiltInAndCrd, objects, &used.of_objects);
        assert!(steps_in_use(&gone, GENERAL_PURPOSE) > Some(10), "the compiled-in pipeline");
        let again = in_use(Mode::BuiltInAndCrd, [PipelineObject::Readable(&unknown)], &gone.of_objects);
        assert_eq!(steps_in_use(&again, GENERAL_PURPOSE), None, "the compiled-in pipeline is no version of the object");
    }
}

#[test]
fn what_an_object_was_before_it_became_unreadable_stays_in_use_while_it_is_ours() {
    for (says, ours) in [(json!({ "filters": 7 }), true), (json!({ "filters": 7, "type": "detector" }), false)] {
        let (store, scheduler, loader) = loader(Mode::BuiltInAndCrd, vec![pipeline("mine", &short())]);
        assert!(answers(&scheduler, "mine"));
        let mut newer = raw("mine", &says);
        newer["metadata"]["resourceVersion"] = json!("2");
        testing::applied_raw(&store, &ClusterName::home(), newer).unwrap();
        assert_eq!((answers(&scheduler, "mine"), loader.problem().is_some()), (ours, ours));
    }
}

#[test]
fn objects_of_other_clusters_do_not_count() {
    let (store, scheduler, _loader) = loader(Mode::BuiltInAndCrd, Vec::new());
    testing::applied(&store, &"az-a".into(), pipeline("mine", &short()));
    assert!(!answers(&scheduler, "mine"));
}

#[test]
fn without_the_kind_there_are_the_compiled_in_pipelines_and_with_mode_crd_a_problem() {
    let (store, scheduler, both) = loader(Mode::BuiltInAndCrd, vec![pipeline("mine", &short())]);
    assert!(answers(&scheduler, "mine"));
    testing::not_served(&store, &ClusterName::home());
    assert!(!answers(&scheduler, "mine") && both.problem().is_none());
    assert!(
        scheduler.run(&berth_scheduler::Request::new("vm", berth_core::testing::amber().flavors[0].clone())).is_err()
    );

    let (store, _, crd) = loader(Mode::Crd, Vec::new());
    assert!(crd.problem().unwrap().contains("there is no Pipeline of Nova"));
    testing::not_served(&store, &ClusterName::home());
    assert!(crd.problem().unwrap().contains("the kind Pipeline is not installed"));
}

#[tokio::test(start_paused = true)]
async fn loaded_means_that_all_objects_are_known() {
    let store = berth_cluster::Store::new(&[]);
    let scheduler = Arc::new(BuiltIn::new(Settings::default(), Box::new(|_| {})));
    let waiting = |mode| PipelineLoader::new(&store, mode, scheduler.clone());
    waiting(Mode::BuiltInAndCrd).loaded().await;
    testing::failing(&store, &ClusterName::home(), Some("not yet"));
    waiting(Mode::BuiltIn).loaded().await;
    let both = waiting(Mode::BuiltInAndCrd);
    let loaded = both.loaded();
    let mut loaded = std::pin::pin!(loaded);
    assert!(futures::poll!(&mut loaded).is_pending());
    testing::not_served(&store, &ClusterName::home());
    loaded.await;
}
