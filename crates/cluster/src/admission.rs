//! What the admission rules of a cluster say about the objects that it holds already. The API server is asked to create each
//! of them once more, as a dry run under its own name: it checks all its rules before it notices that the name is taken, so
//! rules about names and rules for creation count as well, and nothing is written. It decides how many are asked about at a
//! time and what an answer means; what people are told to do is decided by others.

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

/// Objects that are asked about at once: one page is read, then its objects are tried, so that memory stays the same however
/// many there are.
const AT_ONCE: usize = 16;
/// So often an object is tried when the API server does not answer or is busy.
const TRIES: u32 = 4;
/// Before the second try; doubled after each.
const PAUSE: Duration = Duration::from_millis(250);
/// So often a list that takes longer than the server remembers begins anew.
const LISTS: u32 = 3;

/// What has come of trying all objects of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// How many objects there are.
    pub objects: usize,
    /// Those that the rules refuse, by name.
    pub refused: Vec<Refused>,
    /// Those that nobody can say anything about, by name.
    pub untried: Vec<Untried>,
}

/// An object that could not be created as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub faults: Vec<Fault>,
}

/// An object about which the API server has not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untried {
    /// Its name.
    pub name: String,
    /// What was said instead.
    pub why: String,
}

enum Verdict {
    Good,
    Refused(Refused),
    Untried(Untried),
}

/// Tries all objects of a kind in a cluster. `progress` hears after every page how many were tried, and how many are left
/// as far as the API server says.
pub async fn try_stored<K: Kind>(
    cluster: &Cluster,
    progress: &mut dyn FnMut(usize, Option<i64>),
) -> Result<Tried, ReadError> {
    let api = Api::all_with(cluster.client.clone(), &ApiResource::erase::<K>(&()));
    for _ in 1..LISTS {
        match all(&api, progress).await {
            // The list is older than what the server remembers: objects may be missing in the rest of it.
            Err(Failure { code: Some(410), .. }) => {}
            ended => return ended.map_err(|failure| failure.of::<K>(cluster)),
        }
    }
    all(&api, progress).await.map_err(|failure| failure.of::<K>(cluster))
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
        Verdict::Good => Ok(false),
        Verdict::Refused(_) => Ok(true),
        Verdict::Untried(Untried { why, .. }) => Err(failed(Failure::said(why))),
    }
}

async fn all(api: &Api<DynamicObject>, progress: &mut dyn FnMut(usize, Option<i64>)) -> Result<Tried, Failure> {
    let (mut tried, mut token) = (Tried::default(), None);
    loop {
        let read = page(api, token.as_deref()).await?;
        tried.objects += read.items.len();
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
                Verdict::Good => {}
                Verdict::Refused(refused) => self.refused.push(refused),
                Verdict::Untried(untried) => self.untried.push(untried),
            }
        }
        Ok(())
    }
}

async fn try_one(api: &Api<DynamicObject>, object: DynamicObject) -> Result<Verdict, Failure> {
    let (name, own) = (object.name_any(), fault::of_status(&object.data));
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
            // It has gone in the meantime, or never was there.
            Ok(Ok(_)) => return Ok(verdict(name, own)),
        };
        match status.code {
            409 => return Ok(verdict(name, own)),
            400 | 422 => {
                let faults = fault::of_answer(&new, &status).into_iter().chain(own).collect();
                return Ok(Verdict::Refused(Refused { name, faults }));
            }
            401 | 403 | 404 => return Err(Failure::answered(&status)),
            _ => why = Failure::answered(&status).why,
        }
    }
    Ok(Verdict::Untried(Untried { name, why }))
}

/// The rules of creation have nothing against it.
fn verdict(name: String, own: Option<Fault>) -> Verdict {
    own.map_or(Verdict::Good, |fault| Verdict::Refused(Refused { name, faults: vec![fault] }))
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
