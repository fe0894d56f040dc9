//! Parameters of steps from a Pipeline object. Each step interprets its own values.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::steps::StepError;

/// One parameter: a key and exactly one value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Param {
    pub key: String,
    pub string_value: Option<String>,
    pub bool_value: Option<bool>,
    pub int_value: Option<i64>,
    pub float_value: Option<f64>,
    pub string_list_value: Option<Vec<String>>,
    pub float_map_value: Option<BTreeMap<String, f64>>,
}

impl Param {
    fn value(&self) -> Option<Value> {
        let values = [
            self.string_value.as_deref().map(Value::from),
            self.bool_value.map(Value::from),
            self.int_value.map(Value::from),
            self.float_value.map(Value::from),
            self.string_list_value.clone().map(Value::from),
            self.float_map_value.as_ref().map(|map| map.iter().map(|(key, value)| (key.clone(), *value)).collect()),
        ];
        let mut set = values.into_iter().flatten();
        set.next().filter(|_| set.next().is_none())
    }
}

/// Reads the parameters of a step; no parameters at all are always well-formed.
pub(crate) fn decode<T: DeserializeOwned + Default>(params: &[Param]) -> Result<T, StepError> {
    if params.is_empty() {
        return Ok(T::default());
    }
    let mut flat = Map::new();
    for param in params {
        let key = &param.key;
        let value = param.value().ok_or_else(|| StepError::NotOneValue(key.clone()))?;
        if flat.insert(key.clone(), value).is_some() {
            return Err(StepError::RepeatedParameter(key.clone()));
        }
    }
    serde_json::from_value(Value::Object(flat)).map_err(|error| StepError::Undecodable(error.to_string()))
}

/// The parameters of a step that has none.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParams {}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct SomeParams {
        names: Vec<String>,
        weight: f64,
    }

    fn param(key: &str) -> Param {
        Param { key: key.to_owned(), ..Param::default() }
    }

    #[test]
    fn parameters_of_steps_are_read() {
        let names = Param { string_list_value: Option::Some(vec!["a".to_owned()]), ..param("names") };
        let weight = Param { int_value: Option::Some(2), ..param("weight") };
        let decoded: SomeParams = decode(&[names.clone(), weight.clone()]).unwrap();
        assert_eq!(decoded, SomeParams { names: vec!["a".to_owned()], weight: 2.0 });
        assert_eq!(decode::<SomeParams>(&[]), Ok(SomeParams::default()));

        let two = Param { bool_value: Option::Some(true), ..weight.clone() };
        let unknown = Param { bool_value: Option::Some(true), ..param("other") };
        let wrong = Param { bool_value: Option::Some(true), ..param("weight") };
        for (params, text) in [
            (vec![names.clone(), names], "duplicate parameter key: names"),
            (vec![param("weight")], "parameter weight must have exactly one value set"),
            (vec![two], "parameter weight must have exactly one value set"),
            (vec![unknown], "failed to decode parameters into struct: unknown field `other`"),
            (vec![wrong], "failed to decode parameters into struct: invalid type: boolean `true`"),
        ] {
            let error = decode::<SomeParams>(&params).unwrap_err();
            let error = error.to_string();
            assert!(error.starts_with(&format!("failed to unmarshal parameters: {text}")), "{error}");
        }
    }
}
