//! GET `/` (document 51 section 3). It decides nothing.

use berth_placement_model::Version;
use serde_json::json;

use crate::answer::{Age, Answer};

/// Which versions there are.
pub fn show() -> Answer {
    let version = json!({
        "id": "v1.0",
        "max_version": Version::NEWEST.to_string(),
        "min_version": Version::OLDEST.to_string(),
        "status": "CURRENT",
        "links": [{"rel": "self", "href": ""}],
    });
    Answer::json(&json!({ "versions": [version] }), Age::New)
}
