//! Asks the API server whether its admission rules would admit the objects that it stores. Each object is created as a
//! dry run under its own name, so all rules are evaluated and nothing is written.

mod fault;

use std::mem;
use std::time::Duration;

use futures::{StreamExt, stream};
use kube::api::{DynamicObject, PostParams};
use kube::core::ApiResource;
use kube::{Api, ResourceExt};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::deadlines::WRITE_DEADLINE;
use crate::read_once::{Failure, page};
use crate::{Cluster, Kind, ReadError};
pub use fault::Fault;

/// The number of concurrent dry runs. One page is read, then its objects are tried, so that memory does not depend on
/// the number of objects.
const AT_ONCE: usize = 16;
/// So often an object is tried when the API server does not answer or is busy.
const TRIES: u32 = 4;
/// Before the second try; doubled after each.
const PAUSE: Duration = Duration::from_millis(250);
/// How often a list is restarted after it has taken longer than the server keeps its version.
const LISTS: u32 = 3;

/// The result of trying all objects of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    pub objects: usize,
    pub refused: Vec<Refused>,
    /// Those that could not be tried, by name.
    pub untried: Vec<Untried>,
}

/// An object that could not be created as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub name: String,
    pub faults: Vec<Fault>,
}

/// An object about which the API server has not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untried {
    pub name: String,
    pub why: String,
}

enum TryOutcome {
    Good,
    Refused(Refused),
    Untried(Untried),
}

/// Tries all objects of a kind in a cluster. `inspect` gets the name and the
/// content of each object first. After every page `progress` gets the
/// number of objects that were tried, and the number that is left according to the API server.
pub async fn try_stored<K: Kind>(
    cluster: &Cluster,
    inspect: &mut dyn FnMut(&str, &Value),
    progress: &mut dyn FnMut(usize, Option<i64>),
) -> Result<Tried, ReadError> {
    let api = Api::all_with(cluster.client.clone(), &ApiResource::erase::<K>(&()));
    for _ in 1..LISTS {
        match try_all_objects(&api, inspect, progress).await {
            // The list is older than what the server remembers: objects may be missing in the rest of it.
            Err(Failure { code: Some(410), .. }) => {}
            ended => return ended.map_err(|failure| failure.of::<K>(cluster)),
        }
    }
    try_all_objects(&api, inspect, progress).await.map_err(|failure| failure.of::<K>(cluster))
}

/// Whether the rules of a cluster refuse an object that does not exist.
pub async fn refuses<K: Kind>(cluster: &Cluster, object: Value) -> Result<bool, ReadError> {
    let api = Api::all_with(cluster.client.clone(), &ApiResource::erase::<K>(&()));
    let object = serde_json::from_value(object).map_err(kube::Error::SerdeError);
    let verdict = match object {
        Ok(object) => try_one(&api, object).await,
        Err(error) => Err(Failure::unanswered(&error)),
    };
    let failed = |failure: Failure| failure.of::<K>(cluster);
    match verdict.map_err(failed)? {
        TryOutcome::Good => Ok(false),
        TryOutcome::Refused(_) => Ok(true),
        TryOutcome::Untried(Untried { why, .. }) => Err(failed(Failure::log(why))),
    }
}

async fn try_all_objects(
    api: &Api<DynamicObject>,
    inspect: &mut dyn FnMut(&str, &Value),
    progress: &mut dyn FnMut(usize, Option<i64>),
) -> Result<Tried, Failure> {
    let (mut tried, mut token) = (Tried::default(), None);
    loop {
        let read = page(api, token.as_deref()).await?;
        tried.objects += read.items.len();
        read.items.iter().for_each(|object| inspect(&object.name_any(), &object.data));
        tried.add(read.items, api).await?;
        progress(tried.objects, read.metadata.remaining_item_count);
        token = read.metadata.continue_.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok(tried);
        }
    }
}

impl Tried {
    /// Tries the objects of a page. A failure that concerns all objects of the kind ends it.
    async fn add(&mut self, objects: Vec<DynamicObject>, api: &Api<DynamicObject>) -> Result<(), Failure> {
        let mut verdicts = stream::iter(objects).map(|object| try_one(api, object)).buffered(AT_ONCE);
        while let Some(verdict) = verdicts.next().await {
            match verdict? {
                TryOutcome::Good => {}
                TryOutcome::Refused(refused) => self.refused.push(refused),
                TryOutcome::Untried(untried) => self.untried.push(untried),
            }
        }
        Ok(())
    }
}

async fn try_one(api: &Api<DynamicObject>, object: DynamicObject) -> Result<TryOutcome, Failure> {
    let (name, own) = (object.name_any(), fault::find_status_fault(&object.data));
    let new = as_new(object);
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let mut why = format!("no answer within {} s", WRITE_DEADLINE.as_secs());
    for count in 0..TRIES {
        if count > 0 {
            sleep(PAUSE * 2_u32.pow(count - 1)).await;
        }
        let status = match timeout(WRITE_DEADLINE, api.create(&dry_run, &new)).await {
            Err(_) => continue,
            Ok(Err(kube::Error::Api(status))) => status,
            Ok(Err(error)) => {
                why = Failure::unanswered(&error).why;
                continue;
            }
            // It has been deleted in the meantime, or never existed.
            Ok(Ok(_)) => return Ok(verdict(name, own)),
        };
        match status.code {
            409 => return Ok(verdict(name, own)),
            400 | 422 => {
                let faults = fault::read_faults(&new, &status).into_iter().chain(own).collect();
                return Ok(TryOutcome::Refused(Refused { name, faults }));
            }
            401 | 403 | 404 => return Err(Failure::answered(&status)),
            _ => why = Failure::answered(&status).why,
        }
    }
    Ok(TryOutcome::Untried(Untried { name, why }))
}

/// The rules of creation have nothing against it.
fn verdict(name: String, own: Option<Fault>) -> TryOutcome {
    own.map_or(TryOutcome::Good, |fault| TryOutcome::Refused(Refused { name, faults: vec![fault] }))
}

/// The object as it would be created: without what servers write, and without the status, which creation ignores.
fn as_new(mut object: DynamicObject) -> DynamicObject {
    let old = mem::take(&mut object.metadata);
    object.metadata.name = old.name;
    object.metadata.labels = old.labels;
    object.metadata.annotations = old.annotations;
    object.metadata.finalizers = old.finalizers;
    if let Some(data) = object.data.as_object_mut() {
        data.remove("status");
    }
    object
}
