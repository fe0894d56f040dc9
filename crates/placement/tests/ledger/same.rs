//! Every ledger gives the same answers as the ledger in memory, and has the same content afterwards.

use std::collections::BTreeMap;

use berth_placement::ledger::{ConsumerAmounts, ConsumerRecord, KindFilter, RequestError, Usage, UsageQuestion};
use berth_placement_model::command::UNKNOWN_OWNER;
use berth_placement_model::testing::MemoryState;
use berth_placement_model::{ClassName, Key, ProviderId};
use proptest::collection::vec;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use crate::commands::{CONSUMERS, command, with_right_generation};
use crate::world::{World, listed, now, numbered, providers, soon};

const WRITES: usize = 500;

fn expected(state: &MemoryState, name: &str) -> Option<ConsumerRecord> {
    let (consumer, modified) = state.consumers.get(&Key::new(name))?;
    let positions = &state.positions[&Key::new(name)];
    let mut allocations: BTreeMap<(i64, ProviderId), BTreeMap<ClassName, u64>> = BTreeMap::new();
    for ((provider, class), used) in &consumer.allocations {
        allocations.entry((positions[provider], *provider)).or_default().insert(class.clone(), *used);
    }
    let of = |((_, id), amounts)| {
        let provider = &state.providers[&id];
        (provider.uuid.clone(), provider.generation, amounts)
    };
    Some(ConsumerRecord {
        generation: consumer.generation,
        project: consumer.project.clone(),
        user: consumer.user.clone(),
        kind: consumer.kind.clone(),
        allocations: allocations.into_iter().map(of).collect(),
        modified: *modified,
    })
}

async fn compare(world: &World, state: &MemoryState) {
    let model = world.model().await;
    assert_eq!(numbered(providers(&model).into_values()), numbered(state.providers.values().cloned()));
    let customs = model.all_classes().into_iter().filter(|(_, known)| known.is_custom).map(|(name, _)| name.clone());
    let mut classes: Vec<_> = state.classes.iter().collect();
    classes.sort_by_key(|(_, number)| **number);
    assert_eq!(customs.collect::<Vec<_>>(), classes.into_iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
    let traits = model.all_traits().into_iter().filter(|(_, known, _)| known.is_custom).map(|(name, ..)| name.clone());
    assert_eq!(traits.collect::<Vec<_>>(), state.traits.iter().cloned().collect::<Vec<_>>());
    for name in CONSUMERS {
        assert_eq!(world.consumer(name).await, expected(state, name), "{name}");
    }
}

async fn random_writes_do_what_the_ledger_in_memory_does(world: World) {
    let mut state = MemoryState::default();
    let mut runner = TestRunner::deterministic();
    let commands = vec(command(), WRITES).new_tree(&mut runner).unwrap().current();
    let mut done = 0;
    for (place, command) in commands.into_iter().enumerate() {
        let command = with_right_generation(command, &state);
        let wanted = state.write(&command, now());
        let found = world.write(command.clone()).await;
        match (&wanted, &found) {
            (Ok(outcome), Ok(written)) => {
                assert_eq!(*outcome, written.outcome, "{command:?}");
                if let Some(provider) = &written.provider {
                    let model = world.model().await;
                    assert_eq!(providers(&model)[&provider.uuid], **provider, "{command:?}");
                }
                done += 1;
            }
            (Err(refusal), Err(RequestError::Refused(found))) => assert_eq!(refusal, found, "{command:?}"),
            _ => panic!("{command:?}: {wanted:?}, but {found:?}"),
        }
        if place % 10 == 0 {
            compare(&world, &state).await;
        }
    }
    compare(&world, &state).await;
    assert!(done > WRITES / 4, "only {done} writes were granted");
}

async fn usages_are_sums_by_type(world: World) {
    world.provider("p1", &[("VCPU", 100), ("MEMORY_MB", 100)]).await;
    let claims = [("a", "one", Some("INSTANCE"), 3), ("b", "one", Some("INSTANCE"), 4), ("c", "two", None, 5)];
    for (name, user, kind, amount) in claims {
        let mut claim = crate::world::claim(name, &[("p1", &[("VCPU", amount), ("MEMORY_MB", 2 * amount)])]);
        claim.user = user.to_owned();
        claim.kind = kind.map(str::to_owned);
        world.ok(berth_placement_model::Command::SetAllocations(claim)).await;
    }
    let question =
        |user: Option<&str>, kind| UsageQuestion { project: "project".to_owned(), user: user.map(str::to_owned), kind };
    let ask = |question| world.ledgers[0].usages(question, soon());
    let usage = |kind: Option<&str>, consumers, vcpu: u64| Usage {
        kind: kind.map(str::to_owned),
        consumers,
        resources: [("VCPU", vcpu), ("MEMORY_MB", 2 * vcpu)].map(|(class, n)| (ClassName::new(class), n)).into(),
    };
    let (typed, untyped) = (usage(Some("INSTANCE"), 2, 7), usage(None, 1, 5));
    assert_eq!(ask(question(None, None)).await.unwrap(), [untyped.clone(), typed.clone()]);
    assert_eq!(ask(question(Some("one"), None)).await.unwrap(), std::slice::from_ref(&typed));
    assert_eq!(ask(question(None, Some(KindFilter::Unset))).await.unwrap(), [untyped]);
    assert_eq!(ask(question(None, Some(KindFilter::Is("INSTANCE".to_owned())))).await.unwrap(), [typed]);
    assert_eq!(ask(question(Some("nobody"), None)).await.unwrap(), []);
}

async fn a_provider_tells_who_is_there(world: World) {
    world.provider("p1", &[("VCPU", 100)]).await;
    let ask = |name| {
        let ledger = world.ledgers[0].clone();
        async move { ledger.consumers_at(&Key::new(name), soon()).await.unwrap() }
    };
    assert!(ask("p2").await.is_none());
    let empty = ask("p1").await.unwrap();
    assert!(empty.consumers.is_empty() && empty.modified.is_none() && empty.generation == 1);
    let claim = crate::world::claim("a", &[("p1", &[("VCPU", 3)])]);
    world.ok(berth_placement_model::Command::SetAllocations(claim)).await;
    let one = ask("p1").await.unwrap();
    assert_eq!(
        one.consumers,
        [ConsumerAmounts { consumer: Key::new("a"), generation: 1, amounts: vec![(ClassName::new("VCPU"), 3)] }]
    );
    assert_eq!((one.modified, one.generation), (Some(now()), 2));
}

async fn providers_are_listed_in_the_order_of_the_write(world: World) {
    for provider in ["p1", "p2", "p3"] {
        world.provider(provider, &[("VCPU", 100)]).await;
    }
    for order in [["p2", "p3", "p1"], ["p3", "p1", "p2"]] {
        let amounts: &[(&str, u64)] = &[("VCPU", 1)];
        let claim = crate::world::claim("a", &order.map(|provider| (provider, amounts)));
        world.ok(berth_placement_model::Command::SetAllocations(claim)).await;
        assert_eq!(listed(world.ledgers[0].as_ref()).await, order.map(Key::new));
    }
}

async fn who_loses_its_owner_is_named(world: World) {
    world.provider("p1", &[("VCPU", 100)]).await;
    let claim = |project: &str| {
        let mut claim = crate::world::claim("a", &[("p1", &[("VCPU", 3)])]);
        project.clone_into(&mut claim.project);
        berth_placement_model::Command::SetAllocations(claim)
    };
    for (project, lost) in
        [(UNKNOWN_OWNER, false), ("one", false), ("two", false), (UNKNOWN_OWNER, true), (UNKNOWN_OWNER, false)]
    {
        let disowned = world.ok(claim(project)).await.disowned;
        assert_eq!(disowned, if lost { vec![Key::new("a")] } else { vec![] }, "{project}");
    }
}

crate::on_every_ledger!(
    random_writes_do_what_the_ledger_in_memory_does,
    usages_are_sums_by_type,
    a_provider_tells_who_is_there,
    providers_are_listed_in_the_order_of_the_write,
    who_loses_its_owner_is_named,
);
