//! One request as handlers see it.

use berth_placement_model::parse::Pair;
use berth_placement_model::{Key, Version};
use tokio::time::Instant;

use crate::json::{self, Json};
use crate::protocol::api_error::ApiError;
use crate::protocol::body::Content;
use crate::schema::{Schema, check};

/// A request that has come past the protocol.
#[derive(Debug)]
pub struct Call {
    pub key: String,
    pub name: String,
    pub query: Vec<Pair>,
    pub version: Version,
    pub body: Option<Content>,
    /// When it must be answered.
    pub until: Instant,
}

impl Call {
    /// The first item of the path as a key.
    pub fn key(&self) -> Key {
        Key::new(&self.key)
    }

    pub fn json(&self, schema: &Schema) -> Result<Json, ApiError> {
        let bytes = self.body.as_ref().map_or(&[][..], |body| &body.bytes);
        let value = json::read(bytes).map_err(|cause| ApiError::invalid(format!("Malformed JSON: {cause}")))?;
        agrees(&value, schema)?;
        Ok(value)
    }

    /// The query as an object; of a repeated parameter the last value counts.
    pub fn parameters(&self, schema: &Schema) -> Result<Json, ApiError> {
        let value = json::object(self.query.iter().map(|(name, value)| (name.clone(), Json::Text(value.clone()))));
        check(&value, schema)
            .map_err(|complaint| ApiError::invalid(format!("Invalid query string parameters: {complaint}")))?;
        Ok(value)
    }
}

/// A value must agree with a schema.
pub fn agrees(value: &Json, schema: &Schema) -> Result<(), ApiError> {
    check(value, schema).map_err(|complaint| ApiError::invalid(format!("JSON does not validate: {complaint}")))
}
