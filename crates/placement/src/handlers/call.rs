//! One request as handlers see it. It decides how a body becomes a value: read, then checked against a schema.

use berth_placement_model::parse::Pair;
use berth_placement_model::{Key, Version};
use tokio::time::Instant;

use crate::json::{self, Json};
use crate::protocol::body::Content;
use crate::protocol::problem::Problem;
use crate::schema::{Schema, check};

/// A request that has come past the protocol.
#[derive(Debug)]
pub struct Call {
    /// The first item of the path.
    pub key: String,
    /// The second one.
    pub name: String,
    /// Parameters, on paths that have any.
    pub query: Vec<Pair>,
    /// The microversion.
    pub version: Version,
    /// The body, where one is expected.
    pub body: Option<Content>,
    /// When it must be answered.
    pub until: Instant,
    /// What URLs of this server begin with.
    pub base: String,
}

impl Call {
    /// The first item of the path as a key.
    pub fn key(&self) -> Key {
        Key::new(&self.key)
    }

    /// The body as JSON.
    pub fn json(&self, schema: &Schema) -> Result<Json, Problem> {
        let bytes = self.body.as_ref().map_or(&[][..], |body| &body.bytes);
        let value = json::read(bytes).map_err(|cause| Problem::invalid(format!("Malformed JSON: {cause}")))?;
        agrees(&value, schema)?;
        Ok(value)
    }

    /// The query as an object; of a repeated parameter the last value counts.
    pub fn parameters(&self, schema: &Schema) -> Result<Json, Problem> {
        let value = json::object(self.query.iter().map(|(name, value)| (name.clone(), Json::Text(value.clone()))));
        check(&value, schema)
            .map_err(|complaint| Problem::invalid(format!("Invalid query string parameters: {complaint}")))?;
        Ok(value)
    }

    /// The absolute URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

/// A value must agree with a schema.
pub fn agrees(value: &Json, schema: &Schema) -> Result<(), Problem> {
    check(value, schema).map_err(|complaint| Problem::invalid(format!("JSON does not validate: {complaint}")))
}
