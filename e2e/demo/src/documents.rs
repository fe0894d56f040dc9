//! Objects in YAML files, as users write them: several documents per file, including their status.

use std::fs;
use std::path::{Path, PathBuf};

use kube::api::DynamicObject;
use serde_json::Value;

use crate::error::Error;

/// A file with its objects.
#[derive(Debug)]
pub struct File {
    pub path: PathBuf,
    pub objects: Vec<DynamicObject>,
}

impl File {
    pub fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// All `.yaml` files of a directory, by name.
pub fn folder(folder: &Path) -> Result<Vec<File>, Error> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(Error::file("read", folder))?;
    let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).filter(|path| is_yaml(path)).collect();
    if paths.is_empty() {
        return Err(Error::NoSamples { folder: folder.to_owned() });
    }
    paths.sort();
    paths.into_iter().map(file).collect()
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml")
}

fn file(path: PathBuf) -> Result<File, Error> {
    let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    let objects = parse(&path, &text)?;
    Ok(File { path, objects })
}

fn parse(path: &Path, text: &str) -> Result<Vec<DynamicObject>, Error> {
    let yaml = |source| Error::Yaml { path: path.to_owned(), source: Box::new(source) };
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).map_err(yaml)?;
    let numbered = documents.into_iter().zip(1..);
    numbered
        .map(|(document, number)| {
            object(document).map_err(|reason| Error::NotAnObject { path: path.to_owned(), number, reason })
        })
        .collect()
}

fn object(document: Value) -> Result<DynamicObject, String> {
    let object: DynamicObject = serde_json::from_value(document).map_err(|error| error.to_string())?;
    match (&object.types, &object.metadata.name) {
        (None, _) => Err("apiVersion or kind is missing".to_owned()),
        (_, None) => Err("metadata.name is missing".to_owned()),
        _ => Ok(object),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<DynamicObject>, String> {
        parse(Path::new("hosts.yaml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_may_hold_several_objects_with_a_status() {
        let objects = parsed(
            "# hosts\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\napiVersion: v1\nkind: A\nmetadata: {name: b}\n\
             status: {cpu: \"4\", ratio: 1.5}\n",
        )
        .unwrap();
        assert_eq!(objects.len(), 2);
        assert_eq!(objects[1].data["status"], serde_json::json!({ "cpu": "4", "ratio": 1.5 }));
    }

    #[test]
    fn what_is_no_object_is_named_by_file_and_document() {
        let error = parsed("apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\nkind: A\nmetadata: {}\n").unwrap_err();
        assert!(error.starts_with("hosts.yaml: object 2 needs apiVersion, kind and metadata.name: "), "{error}");
        let error = parsed("apiVersion: v1\nkind: A\nmetadata: {}\n").unwrap_err();
        assert!(error.ends_with("metadata.name is missing"), "{error}");
        assert!(parsed("a: [").unwrap_err().starts_with("hosts.yaml is not valid YAML: "));
    }
}
