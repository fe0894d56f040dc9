//! The custom resource definitions of the chart: ours from `config/crd`, those of others from `berth crds --all`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::{Error, checkout, program};

/// A template of the chart: its path below `templates` and its text.
pub type Template = (String, String);

/// The templates of our kinds.
pub fn ours() -> Result<Vec<Template>, Error> {
    let files = checkout::yaml_files(&checkout::root().join("config/crd"))?;
    let template = |path: &std::path::PathBuf| {
        let text = template(&checkout::read(path)?, "config/crd", "if .Values.crds.install", true);
        Ok((format!("crds/{}.yaml", checkout::stem(path)), text))
    };
    files.iter().map(template).collect()
}

/// The templates of the kinds that belong to other deployments.
pub fn of_others(berth: &Path) -> Result<Vec<Template>, Error> {
    let written = tempfile::tempdir().map_err(Error::file("write", &std::env::temp_dir()))?;
    program::text(Command::new(berth).args(["crds", "--all", "--directory"]).arg(written.path()))?;
    let ours: BTreeSet<_> = ours()?.into_iter().map(|(path, _)| path).collect();
    let mut all = Vec::new();
    for path in checkout::yaml_files(written.path())? {
        let stem = checkout::stem(&path);
        if ours.contains(&format!("crds/{stem}.yaml")) {
            continue;
        }
        let text = checkout::read(&path)?;
        let name = name(&text);
        let absent = format!("(not (lookup \"apiextensions.k8s.io/v1\" \"CustomResourceDefinition\" \"\" \"{name}\"))");
        let condition = format!("if and .Values.crds.others {absent}");
        all.push((format!("crds/of-others-{stem}.yaml"), template(&text, "berth crds --all", &condition, false)));
    }
    Ok(all)
}

fn name(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("  name: ")).unwrap_or_default()
}

/// What is ours stays only if that is wanted; what belongs to others always stays.
fn template(text: &str, from: &str, condition: &str, is_ours: bool) -> String {
    let name = format!("  name: {}\n", name(text));
    let keep = "  annotations:\n    helm.sh/resource-policy: keep\n";
    let keep =
        if is_ours { format!("  {{{{- if .Values.crds.keep }}}}\n{keep}  {{{{- end }}}}\n") } else { keep.to_owned() };
    let labels =
        "  labels:\n    {{- include \"berth.labels\" (dict \"root\" . \"component\" \"crds\") | nindent 4 }}\n";
    let text = text.replace("{{", "{{ \"{{\" }}").replacen(&name, &format!("{name}{labels}{keep}"), 1);
    format!(
        "{{{{- /* Written by `make chart-files` from {from}. */ -}}}}\n{{{{- {condition} }}}}\n{text}{{{{- end }}}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_conditional_and_stays() {
        let text = template("kind: X\nmetadata:\n  name: a.b\nspec:\n  description: '{{'\n", "x", "if .Values.a", true);
        let begin = "{{- /* Written by `make chart-files` from x. */ -}}\n{{- if .Values.a }}\nkind: X\nmetadata:\n  name: a.b\n  labels:\n";
        assert!(text.starts_with(begin), "{text}");
        assert!(
            text.contains("resource-policy: keep") && text.contains("'{{ \"{{\" }}'") && text.ends_with("{{- end }}\n"),
            "{text}"
        );
    }
}
