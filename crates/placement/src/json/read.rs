//! Reads JSON. It decides how much of it is read: nesting is bounded by the parser (128), the number of values here.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::Json;

/// So many values may a body have.
const MOST_VALUES: usize = 200_000;
/// Members of larger objects are found by a map.
const FEW: usize = 16;

/// The value, or why there is none.
pub fn read(body: &[u8]) -> Result<Json, String> {
    let left = Cell::new(MOST_VALUES);
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let value = Value(&left).deserialize(&mut deserializer).map_err(|error| error.to_string())?;
    deserializer.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// An object of these members; of two with one name the last counts.
pub fn object(members: impl IntoIterator<Item = (String, Json)>) -> Json {
    let mut object = Members::default();
    for (name, value) in members {
        object.set(name, value);
    }
    Json::Object(object.members)
}

/// Reads one value; shares the count of values that are still allowed.
#[derive(Clone, Copy)]
struct Value<'a>(&'a Cell<usize>);

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        let left = self.0.get();
        if left == 0 {
            return Err(D::Error::custom(format!("more than {MOST_VALUES} values")));
        }
        self.0.set(left - 1);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Whole(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Whole(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Real(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        plain(value).map(|text| Json::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Json, E> {
        plain(&value)?;
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(self)? {
            list.push(element);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = Members::default();
        while let Some(name) = members.next_key::<String>()? {
            plain(&name)?;
            object.set(name, members.next_value_seed(self)?);
        }
        Ok(Json::Object(object.members))
    }
}

/// No database takes the character U+0000.
fn plain<E: Error>(text: &str) -> Result<&str, E> {
    if text.contains('\0') { Err(E::custom("a string contains the character U+0000")) } else { Ok(text) }
}

/// An object that grows.
#[derive(Default)]
struct Members {
    members: Vec<(String, Json)>,
    places: HashMap<String, usize>,
}

impl Members {
    fn set(&mut self, name: String, value: Json) {
        match self.place(&name) {
            Some(place) => self.members[place].1 = value,
            None => self.push(name, value),
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        if self.members.len() > FEW {
            return self.places.get(name).copied();
        }
        self.members.iter().position(|(key, _)| key == name)
    }

    fn push(&mut self, name: String, value: Json) {
        if self.members.len() == FEW {
            self.places = self.members.iter().enumerate().map(|(place, (key, _))| (key.clone(), place)).collect();
        }
        if self.members.len() >= FEW {
            self.places.insert(name.clone(), self.members.len());
        }
        self.members.push((name, value));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn members_keep_their_order_and_the_last_of_two_counts() {
        let value = read(br#"{"z": 1, "a": [null, true, "x"], "z": 2.0, "b": {}}"#).unwrap();
        let list = Json::List(vec![Json::Null, Json::Bool(true), Json::Text("x".to_owned())]);
        let expected = [("z", Json::Real(2.0)), ("a", list), ("b", Json::Object(Vec::new()))];
        assert_eq!(value, Json::Object(expected.map(|(name, value)| (name.to_owned(), value)).to_vec()));
    }

    #[test]
    fn document_51_section_1_7_integers_may_be_written_with_a_fraction() {
        let integers = |text: &str| read(text.as_bytes()).unwrap().as_integer();
        assert_eq!(integers("1.0"), Some(1));
        assert_eq!(integers("18446744073709551615"), Some(u64::MAX.into()));
        assert_eq!(integers("99999999999999999999"), Some(100_000_000_000_000_000_000));
        assert_eq!(integers("1e300"), Some(i128::MAX));
        assert_eq!(integers("1.5").or(integers("true")).or(integers("\"1\"")), None);
    }

    #[test]
    fn what_is_no_json_or_too_much_of_it_is_told() {
        for bad in ["", "{", "nope", "[1,]", "{} {}", "\"\\u0000\"", "\"\\ud800\"", "{\"a\\u0000\": 1}", "NaN"] {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(read(b"\xff").is_err());
        assert!(read("[".repeat(100_000).as_bytes()).unwrap_err().contains("recursion"));
        let long = format!("[{}0]", "0,".repeat(MOST_VALUES));
        assert!(read(long.as_bytes()).unwrap_err().contains("more than 200000 values"));
    }

    #[test]
    fn objects_with_many_members_are_read_like_small_ones() {
        let text: Vec<String> = (0..60).map(|one| format!("\"k{}\": {one}", one % 40)).collect();
        let value = read(format!("{{{}}}", text.join(",")).as_bytes()).unwrap();
        assert_eq!(value.members().len(), 40);
        assert_eq!(value.get("k3"), Some(&Json::Whole(43)));
        assert_eq!(value.get("k39"), Some(&Json::Whole(39)));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }
    }
}
