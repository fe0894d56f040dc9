//! A ledger in memory behind the router, and requests that read like those of the document.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use berth_placement::ledger::{
    ConsumerRecord, KindFilter, Ledger, ProviderAllocations, Trouble, Usage, UsageQuestion, Written,
};
use berth_placement::protocol::authentication::NoAuth2;
use berth_placement::{Api, Policies};
use berth_placement_model::facts::Consumer;
use berth_placement_model::memory::MemoryState;
use berth_placement_model::standard::{CLASSES, TRAITS};
use berth_placement_model::{Command, Key, Model};
use futures::future::{BoxFuture, ready};
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;
use tower::ServiceExt as _;

/// The ledger.
#[derive(Default)]
pub struct InMemory {
    state: Mutex<MemoryState>,
    /// What the next call is answered with instead.
    pub trouble: Mutex<Option<Trouble>>,
}

impl InMemory {
    fn now<'a, T: Send + 'a>(
        &self,
        answer: impl FnOnce(&mut MemoryState) -> Result<T, Trouble>,
    ) -> BoxFuture<'a, Result<T, Trouble>> {
        let trouble = self.trouble.lock().unwrap().take();
        let answer = trouble.map_or_else(|| answer(&mut self.state.lock().unwrap()), Err);
        Box::pin(ready(answer))
    }
}

fn named(command: &Command) -> Option<Key> {
    match command {
        Command::CreateProvider { uuid, .. } | Command::UpdateProvider { uuid, .. } => Some(uuid.clone()),
        Command::AddInventory { provider, .. }
        | Command::SetInventories { provider, .. }
        | Command::SetInventory { provider, .. }
        | Command::DeleteInventory { provider, .. }
        | Command::DeleteInventories { provider }
        | Command::SetAggregates { provider, .. }
        | Command::SetTraits { provider, .. }
        | Command::DeleteTraits { provider } => Some(provider.clone()),
        _ => None,
    }
}

impl Ledger for InMemory {
    fn write(&self, command: Command, _: Instant) -> BoxFuture<'_, Result<Written, Trouble>> {
        self.now(|state| {
            let outcome = state.write(&command, Timestamp::now())?;
            let provider = named(&command).and_then(|key| state.provider(&key).cloned().map(Arc::new));
            Ok(Written { outcome, provider })
        })
    }

    fn model(&self, _: Instant) -> BoxFuture<'_, Result<Arc<Model>, Trouble>> {
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

    fn consumer<'a>(&'a self, key: &'a Key, _: Instant) -> BoxFuture<'a, Result<Option<ConsumerRecord>, Trouble>> {
        self.now(|state| Ok(state.consumers.get(key).map(|(consumer, at)| record(state, consumer, *at))))
    }

    fn consumers_at<'a>(
        &'a self,
        key: &'a Key,
        _: Instant,
    ) -> BoxFuture<'a, Result<Option<ProviderAllocations>, Trouble>> {
        self.now(|state| {
            let Some(provider) = state.provider(key) else { return Ok(None) };
            let mut consumers = BTreeMap::new();
            for (key, (consumer, _)) in &state.consumers {
                let here = consumer.allocations.iter().filter(|((id, _), _)| *id == provider.id);
                let amounts: BTreeMap<_, _> = here.map(|((_, class), amount)| (class.clone(), *amount)).collect();
                if !amounts.is_empty() {
                    consumers.insert(key.clone(), (consumer.generation, amounts));
                }
            }
            Ok(Some(ProviderAllocations { generation: provider.generation, consumers, modified: None }))
        })
    }

    fn usages(&self, question: UsageQuestion, _: Instant) -> BoxFuture<'_, Result<Vec<Usage>, Trouble>> {
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

fn record(state: &MemoryState, consumer: &Consumer, modified: Timestamp) -> ConsumerRecord {
    let providers: BTreeSet<_> = consumer.allocations.keys().map(|(id, _)| *id).collect();
    let at = |id| {
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

/// A server.
#[derive(Clone)]
pub struct Server {
    pub ledger: Arc<InMemory>,
    pub router: Router,
}

/// What a server answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Server {
    /// With the old defaults of policies, as in most of Placement's own tests.
    pub fn new() -> Self {
        Self::with(|api| api, Policies::defaults(false))
    }

    pub fn with(change: impl FnOnce(Api) -> Api, policies: Policies) -> Self {
        let ledger = Arc::new(InMemory::default());
        let api = change(Api::new(ledger.clone(), Arc::new(NoAuth2), policies));
        Self { ledger, router: api.router() }
    }

    /// A request of the admin: `GET /path` or `1.28 GET /path`, with a body if there is one. Without a version: 1.39.
    pub async fn ask(&self, line: &str, body: &str) -> Answer {
        self.ask_with(line, body, &[]).await
    }

    pub async fn ask_with(&self, line: &str, body: &str, headers: &[(&str, &str)]) -> Answer {
        let words: Vec<&str> = line.split(' ').collect();
        let (version, method, path) = match words[..] {
            [method, path] => ("1.39", method, path),
            [version, method, path] => (version, method, path),
            _ => panic!("{line}"),
        };
        let mut request = Request::builder().method(method).uri(path).header("host", "placement.example");
        if !headers.iter().any(|(name, _)| *name == "x-auth-token") {
            request = request.header("x-auth-token", "admin");
        }
        request = request.header("openstack-api-version", format!("placement {version}"));
        if !body.is_empty() {
            request = request.header("content-length", body.len());
            if !headers.iter().any(|(name, _)| *name == "content-type") {
                request = request.header("content-type", "application/json");
            }
        }
        // An empty value leaves a header out.
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::from(body.to_owned())).unwrap()).await
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: parts.status.as_u16(), headers: parts.headers, text }
    }

    /// The same, which must succeed.
    pub async fn done(&self, line: &str, body: &str) -> Answer {
        let answer = self.ask(line, body).await;
        assert!((200..300).contains(&answer.status), "{line} {body}: {answer:?}");
        answer
    }

    /// A provider with these inventories, written at once, so that it is at generation 1.
    pub async fn provider(&self, name: &str, parent: Option<&str>, inventories: &str) {
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"{}\"", uuid(parent)));
        let body = format!(r#"{{"name": "{name}", "uuid": "{}", "parent_provider_uuid": {parent}}}"#, uuid(name));
        self.done("POST /resource_providers", &body).await;
        if !inventories.is_empty() {
            let body = format!(r#"{{"resource_provider_generation": 0, "inventories": {inventories}}}"#);
            self.done(&format!("PUT /resource_providers/{}/inventories", uuid(name)), &body).await;
        }
    }

    /// The generation of a provider.
    pub async fn generation(&self, name: &str) -> i64 {
        let answer = self.done(&format!("GET /resource_providers/{}", uuid(name)), "").await;
        answer.json()["generation"].as_i64().unwrap()
    }
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The detail of an error.
    pub fn detail(&self) -> String {
        self.json()["errors"][0]["detail"].as_str().unwrap().to_owned()
    }

    /// Status, code and detail must be like this.
    pub fn is(&self, status: u16, code: &str, part: &str) {
        let json = self.json();
        let error = &json["errors"][0];
        assert_eq!((self.status, error["status"].as_u64()), (status, Some(status.into())), "{self:?}");
        assert_eq!(error["code"].as_str(), Some(code).filter(|code| !code.is_empty()), "{self:?}");
        assert!(self.detail().contains(part), "{part:?} is not in {self:?}");
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// The default code of errors.
pub const UNDEFINED: &str = "placement.undefined_code";
pub const CONCURRENT: &str = "placement.concurrent_update";

/// A UUID that belongs to a name.
pub fn uuid(name: &str) -> String {
    let mut digits = name.bytes().fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"));
    digits.truncate(32);
    format!(
        "{}-{}-{}-{}-{}",
        pad(&digits, 0, 8),
        pad(&digits, 8, 4),
        pad(&digits, 12, 4),
        pad(&digits, 16, 4),
        pad(&digits, 20, 12)
    )
}

fn pad(digits: &str, from: usize, length: usize) -> String {
    let part: String = digits.chars().skip(from).take(length).collect();
    format!("{part:0<length$}")
}
