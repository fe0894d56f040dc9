//! Reads from the tokens of a crate's sources which file imports names from which other file.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use super::tokens::{Token, tokens};

/// A module, by its path from the root of the crate.
type Module = Vec<String>;

/// `use a::b as c;` gives the path `a::b` the name `c`.
#[derive(Debug)]
struct Import {
    name: String,
    path: Vec<String>,
    is_handed_on: bool,
}

#[derive(Debug, Default)]
struct Source {
    imports: Vec<Import>,
    code: Vec<Token>,
    tests: BTreeSet<String>,
}

impl Source {
    /// Whether the code names an item: a type or a constant anywhere, a function where it is called.
    fn uses(&self, name: &str) -> bool {
        let is_function = name.starts_with(|sign: char| sign.is_lowercase());
        let is_item = |around: &[Token]| {
            let [before, token, after] = around else { return false };
            let is_named = token.as_str() == name && *before != "." && *before != "mod" && *before != "fn";
            is_named && (!is_function || *after == "(" || *after == "::")
        };
        self.code.windows(3).any(is_item)
    }
}

/// The production modules of a crate.
#[derive(Debug)]
pub struct Modules(BTreeMap<Module, Source>);

impl Modules {
    /// Parses the texts of the files below `src`, by path.
    pub fn read(texts: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut sources: BTreeMap<Module, Source> =
            texts.into_iter().map(|(path, text)| (module_of(&path), read_source(&tokens(&text)))).collect();
        let test_modules: Vec<Module> = sources
            .iter()
            .flat_map(|(module, source)| {
                source.tests.iter().map(|test| [module.as_slice(), slice::from_ref(test)].concat())
            })
            .collect();
        sources.retain(|module, _| !test_modules.iter().any(|test| module.starts_with(test)));
        Self(sources)
    }

    /// The names that each module uses from each other module.
    pub fn arrows(&self) -> BTreeMap<String, BTreeMap<String, BTreeSet<String>>> {
        let named = |(module, source)| (module_name(module), self.arrows_of(module, source));
        self.0.iter().map(named).collect()
    }

    fn arrows_of(&self, module: &Module, source: &Source) -> BTreeMap<String, BTreeSet<String>> {
        let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut take = |path: &[String]| {
            if let Some((target, Some(item))) = self.find(module, path, 0)
                && target != *module
            {
                arrows.entry(module_name(&target)).or_default().insert(item);
            }
        };
        for import in &source.imports {
            if !import.is_handed_on || source.uses(&import.name) {
                take(&import.path);
            }
        }
        let mut at = 0;
        while at < source.code.len() {
            let path = read_path(&source.code[at..]);
            if path.len() > 1 {
                take(&path);
            }
            at += (path.len() * 2).saturating_sub(1).max(1);
        }
        arrows
    }

    /// The module that a path refers to from `module`, and the item there, unless the path is the module itself.
    fn find(&self, module: &Module, path: &[String], depth: usize) -> Option<(Module, Option<String>)> {
        let (first, rest) = path.split_first()?;
        if depth > 16 {
            return None;
        }
        match first.as_str() {
            "crate" => self.find_in(&Vec::new(), rest, depth),
            "self" => self.find_in(module, rest, depth),
            "super" => self.find_in(&module[..module.len().checked_sub(1)?].to_vec(), rest, depth),
            _ => {
                let is_known = self.child(module, first).is_some() || self.import(module, first).is_some();
                if is_known { self.find_in(module, path, depth) } else { None }
            }
        }
    }

    fn find_in(&self, module: &Module, path: &[String], depth: usize) -> Option<(Module, Option<String>)> {
        let Some((first, rest)) = path.split_first() else { return Some((module.clone(), None)) };
        if first == "super" {
            return self.find_in(&module[..module.len().checked_sub(1)?].to_vec(), rest, depth);
        }
        if let Some(child) = self.child(module, first) {
            return self.find_in(&child, rest, depth);
        }
        if let Some(import) = self.import(module, first) {
            let (target, item) = self.find(module, &import.path, depth + 1)?;
            return if item.is_some() { Some((target, item)) } else { self.find_in(&target, rest, depth + 1) };
        }
        Some((module.clone(), Some(first.clone())))
    }

    fn child(&self, module: &Module, name: &str) -> Option<Module> {
        let child = [module.as_slice(), &[name.to_owned()]].concat();
        self.0.contains_key(&child).then_some(child)
    }

    fn import(&self, module: &Module, name: &str) -> Option<&Import> {
        self.0.get(module)?.imports.iter().find(|import| import.name == name)
    }
}

fn module_of(path: &str) -> Module {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    let parts = path.split('/').map(str::to_owned);
    parts.filter(|part| part != "lib" && part != "main").collect()
}

fn module_name(module: &Module) -> String {
    if module.is_empty() { "lib".to_owned() } else { module.join("/") }
}

/// Splits a file into imports, code and the names of its test modules.
fn read_source(tokens: &[Token]) -> Source {
    let mut source = Source::default();
    let mut at = 0;
    while at < tokens.len() {
        let rest = &tokens[at..];
        if is_test_attribute(rest) {
            let item = item_after_attributes(rest);
            if let Some(place) = item.iter().position(|token| *token == "mod") {
                source.tests.extend(item.get(place + 1).map(ToString::to_string));
            }
            at += rest.len() - after(item).len();
        } else if rest[0] == "use" && at.checked_sub(1).is_none_or(|before| tokens[before] != "impl") {
            let end = rest.iter().position(|token| *token == ";").unwrap_or(rest.len() - 1);
            let is_handed_on = at > 0 && (tokens[at - 1] == "pub" || tokens[at - 1] == ")");
            add_imports(&rest[1..end], &[], is_handed_on, &mut source.imports);
            at += end + 1;
        } else {
            source.code.push(rest[0].clone());
            at += 1;
        }
    }
    source
}

fn is_test_attribute(tokens: &[Token]) -> bool {
    let starts = |texts: &[&str]| tokens.len() > texts.len() && tokens.iter().zip(texts).all(|(a, b)| a == b);
    starts(&["#", "[", "cfg", "(", "test"]) || starts(&["#", "[", "cfg", "(", "any", "(", "test"])
}

fn item_after_attributes(mut tokens: &[Token]) -> &[Token] {
    while tokens.first().is_some_and(|token| *token == "#") {
        let end = tokens.iter().position(|token| *token == "]").unwrap_or(tokens.len() - 1);
        tokens = &tokens[end + 1..];
    }
    tokens
}

/// The tokens after the first item, which ends with a semicolon or a block.
fn after(tokens: &[Token]) -> &[Token] {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 && matches!(token.as_str(), ";" | "}") {
            return &tokens[at + 1..];
        }
    }
    &[]
}

/// The path at the beginning, `a::b::c`; a single name is a path as well.
fn read_path(tokens: &[Token]) -> Vec<String> {
    let mut path = Vec::new();
    let mut at = 0;
    while tokens.get(at).is_some_and(Token::is_name) {
        path.push(tokens[at].to_string());
        if tokens.get(at + 1).is_none_or(|token| *token != "::") {
            break;
        }
        at += 2;
    }
    path
}

/// Adds the names of a tree of imports such as `a::{b, c::d as e}`.
fn add_imports(tokens: &[Token], prefix: &[String], is_handed_on: bool, imports: &mut Vec<Import>) {
    let mut path = prefix.to_vec();
    let mut name = None;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "{" => {
                let block = &tokens[at + 1..tokens.len() - 1];
                for part in split_at_commas(block) {
                    add_imports(part, &path, is_handed_on, imports);
                }
                return;
            }
            "as" => name = tokens.get(at + 1).map(ToString::to_string),
            "::" | "*" => {}
            text if name.is_none() => path.push(text.to_owned()),
            _ => {}
        }
        at += 1;
    }
    if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
        path.pop();
    }
    if let Some(name) = name.or_else(|| path.last().cloned()) {
        imports.push(Import { name, path, is_handed_on });
    }
}

fn split_at_commas(tokens: &[Token]) -> Vec<&[Token]> {
    let mut depth = 0;
    let is_comma = |token: &Token| {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth == 0 && *token == ","
    };
    tokens.split(is_comma).filter(|part| !part.is_empty()).collect()
}
