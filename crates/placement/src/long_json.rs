//! JSON with a list that may be long, in pages: each is written when it is taken, so that a slow reader holds the elements and
//! not their text.

use serde::Serialize;

use crate::unread::{PAGE, PageSource};

/// The usual maximum size of an element.
const EXCESS: usize = 2048;

/// An element of an array, or a member of an object.
pub trait Element {
    fn write(&self, page: &mut Vec<u8>);
}

/// An element of an array.
pub struct Item<T>(pub T);

/// An element of an array of texts.
pub struct Text<T>(pub T);

/// A member of an object.
pub struct Member<K, T>(pub K, pub T);

impl<T: Serialize> Element for Item<T> {
    fn write(&self, page: &mut Vec<u8>) {
        write_json(page, &self.0);
    }
}

impl<T: AsRef<str>> Element for Text<T> {
    fn write(&self, page: &mut Vec<u8>) {
        write_json(page, self.0.as_ref());
    }
}

impl<K: AsRef<str>, T: Serialize> Element for Member<K, T> {
    fn write(&self, page: &mut Vec<u8>) {
        write_json(page, self.0.as_ref());
        page.push(b':');
        write_json(page, &self.1);
    }
}

fn write_json(page: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    // Structures of maps with text keys always have a JSON, and a vector takes every byte.
    let _ = serde_json::to_writer(page, value);
}

/// The JSON, page by page.
pub struct LongJson<I> {
    /// The text before the elements; `None` when it is written.
    open: Option<String>,
    elements: I,
    has_begun: bool,
    /// The text behind the elements; `None` when it is written.
    close: Option<String>,
    weight: usize,
}

impl<I: Iterator<Item: Element>> LongJson<I> {
    /// `open`, the elements with commas between, and `close`. The elements hold about `weight` bytes.
    pub fn new(
        open: impl Into<String>,
        elements: impl IntoIterator<IntoIter = I>,
        close: impl Into<String>,
        weight: usize,
    ) -> Self {
        let elements = elements.into_iter();
        Self { open: Some(open.into()), elements, has_begun: false, close: Some(close.into()), weight }
    }

    fn begin_page(&mut self) -> Vec<u8> {
        self.open.take().map_or_else(|| Vec::with_capacity(PAGE + EXCESS), String::into_bytes)
    }
}

impl<I: Iterator<Item: Element>> Iterator for LongJson<I> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        self.close.as_ref()?;
        let mut page = self.begin_page();
        while page.len() < PAGE {
            let Some(element) = self.elements.next() else {
                page.extend(self.close.take().unwrap_or_default().into_bytes());
                break;
            };
            if self.has_begun {
                page.push(b',');
            }
            self.has_begun = true;
            element.write(&mut page);
        }
        Some(page)
    }
}

impl<I: Iterator<Item: Element> + Send + 'static> PageSource for LongJson<I> {
    fn is_over(&self) -> bool {
        self.close.is_none()
    }

    fn weight(&self) -> usize {
        self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(elements: usize) -> Vec<Vec<u8>> {
        let members = (0..elements).map(|number| Member(format!("k\"{number}"), [number]));
        LongJson::new(r#"{"a":{"#, members, r#"},"b":1}"#, 0).collect()
    }

    #[test]
    fn pages_are_the_json_that_is_written_at_once() {
        assert_eq!(pages(0), [br#"{"a":{},"b":1}"#]);
        assert_eq!(pages(2), [br#"{"a":{"k\"0":[0],"k\"1":[1]},"b":1}"#]);
        let long = pages(20_000);
        assert!(long.len() > 5 && long.iter().all(|page| page.len() < PAGE + EXCESS), "{}", long.len());
        let value: serde_json::Value = serde_json::from_slice(&long.concat()).unwrap();
        assert_eq!(value["a"].as_object().unwrap().len(), 20_000);
        assert_eq!((&value["a"]["k\"19999"][0], &value["b"]), (&19_999.into(), &1.into()));
    }

    #[test]
    fn an_array_has_values_and_texts() {
        let texts = LongJson::new("[", ["a", "\n"].map(Text), "]", 0);
        assert_eq!(texts.collect::<Vec<_>>().concat(), br#"["a","\n"]"#);
        let items = LongJson::new("[", [1.5, 2.0].map(Item), "]", 0);
        assert_eq!(items.collect::<Vec<_>>().concat(), b"[1.5,2.0]");
    }
}
