//! A ledger in memory with the rows and rules of the model, for tests of the router and for the fuzzer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_placement::ledger::{
    ConsumerAmounts, ConsumerRecord, KindFilter, Ledger, ProviderAllocations, RequestError, Usage, UsageQuestion,
    Written,
};
use berth_placement_model::loaded_rows::Consumer;
use berth_placement_model::standard::{CLASSES, TRAITS};
use berth_placement_model::testing::MemoryState;
use berth_placement_model::{Command, Key, Model};
use futures::future::{BoxFuture, ready};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;

#[derive(Default)]
pub struct InMemory {
    pub state: Mutex<MemoryState>,
    /// The error of the next call.
    pub error: Mutex<Option<RequestError>>,
}

impl InMemory {
    fn now<'a, T: Send + 'a>(
        &self,
        answer: impl FnOnce(&mut MemoryState) -> Result<T, RequestError>,
    ) -> BoxFuture<'a, Result<T, RequestError>> {
        let error = self.error.lock().take();
        let answer = error.map_or_else(|| answer(&mut self.state.lock()), Err);
        Box::pin(ready(answer))
    }
}

impl Ledger for InMemory {
    fn write(&self, command: Command, _: Instant) -> BoxFuture<'_, Result<Written, RequestError>> {
        self.now(|state| {
            let outcome = state.write(&command, Timestamp::now())?;
            let provider = command.subject().and_then(|key| state.provider(key).cloned().map(Arc::new));
            Ok(Written { outcome, provider, disowned: Vec::new() })
        })
    }

    fn model(&self, _: Instant) -> BoxFuture<'_, Result<Arc<Model>, RequestError>> {
        self.now(|state| {
            let mut model = Model::new(&CLASSES, &TRAITS);
            for (name, number) in &state.classes {
                model.put_class(name, *number, Timestamp::UNIX_EPOCH);
            }
            for name in &state.traits {
                model.put_trait(name, Timestamp::UNIX_EPOCH);
            }
            for provider in state.providers.values() {
                model.put(provider);
            }
            Ok(Arc::new(model))
        })
    }

    fn consumer<'a>(&'a self, key: &'a Key, _: Instant) -> BoxFuture<'a, Result<Option<ConsumerRecord>, RequestError>> {
        self.now(|state| Ok(state.consumers.get(key).map(|(consumer, at)| record(state, key, consumer, *at))))
    }

    fn consumers_at<'a>(
        &'a self,
        key: &'a Key,
        _: Instant,
    ) -> BoxFuture<'a, Result<Option<ProviderAllocations>, RequestError>> {
        self.now(|state| {
            let Some(provider) = state.provider(key) else { return Ok(None) };
            let mut consumers = Vec::new();
            for (key, (consumer, _)) in &state.consumers {
                let here = consumer.allocations.iter().filter(|((id, _), _)| *id == provider.id);
                let amounts: Vec<_> = here.map(|((_, class), amount)| (class.clone(), *amount)).collect();
                if !amounts.is_empty() {
                    let (consumer, generation) = (key.clone(), consumer.generation);
                    consumers.push(ConsumerAmounts { consumer, generation, amounts });
                }
            }
            Ok(Some(ProviderAllocations { generation: provider.generation, consumers, modified: None }))
        })
    }

    fn usages(&self, question: UsageQuestion, _: Instant) -> BoxFuture<'_, Result<Vec<Usage>, RequestError>> {
        self.now(|state| {
            let asked = |consumer: &&Consumer| {
                consumer.project == question.project
                    && question.user.as_ref().is_none_or(|user| consumer.user == *user)
                    && match &question.kind {
                        None => true,
                        Some(KindFilter::Unset) => consumer.kind.is_none(),
                        Some(KindFilter::Is(kind)) => consumer.kind.as_ref() == Some(kind),
                    }
            };
            let mut groups: BTreeMap<Option<String>, Usage> = BTreeMap::new();
            for consumer in state.consumers.values().map(|(consumer, _)| consumer).filter(asked) {
                let kind = consumer.kind.clone();
                let empty = Usage { kind: kind.clone(), consumers: 0, resources: BTreeMap::new() };
                let group = groups.entry(kind).or_insert(empty);
                group.consumers += 1;
                for ((_, class), amount) in &consumer.allocations {
                    *group.resources.entry(class.clone()).or_default() += amount;
                }
            }
            Ok(groups.into_values().collect())
        })
    }
}

fn record(state: &MemoryState, key: &Key, consumer: &Consumer, modified: Timestamp) -> ConsumerRecord {
    let providers: BTreeSet<_> = consumer.allocations.keys().map(|(id, _)| (state.positions[key][id], *id)).collect();
    let at = |(_, id)| {
        let here = consumer.allocations.iter().filter(|((provider, _), _)| *provider == id);
        let amounts = here.map(|((_, class), amount)| (class.clone(), *amount)).collect();
        (state.providers[&id].uuid.clone(), state.providers[&id].generation, amounts)
    };
    ConsumerRecord {
        generation: consumer.generation,
        project: consumer.project.clone(),
        user: consumer.user.clone(),
        kind: consumer.kind.clone(),
        allocations: providers.into_iter().map(at).collect(),
        modified,
    }
}
