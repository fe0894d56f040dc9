//! Responses on the wire. Nova accepts exactly one member; a request for an explanation gets three more.

use berth_core::HostName;
use berth_scheduler::{Answer, Explanation, HostExplanation, Outcome};
use serde::Serialize;
use serde_json::{Value, json};

use super::fill::members;
use super::incoming::read;

/// The body of an answer with 200, newline included. Only with `explain` it has more than Nova takes.
pub fn encode_answer(answer: &Answer, explain: bool) -> Vec<u8> {
    let mut text = if explain { with_reasons(answer).to_string().into_bytes() } else { hosts(&answer.hosts) };
    text.push(b'\n');
    text
}

#[derive(Serialize)]
struct Hosts<'a> {
    hosts: &'a [HostName],
}

/// Written without a tree in between: this is most answers, and some have thousands of hosts.
fn hosts(hosts: &[HostName]) -> Vec<u8> {
    serde_json::to_vec(&Hosts { hosts }).unwrap_or_else(|_| json!({"hosts": hosts}).to_string().into_bytes())
}

fn with_reasons(answer: &Answer) -> Value {
    let removed = answer.decision.removed.removed.iter();
    let filtered: Value = removed.map(|(name, count)| (name.step.to_owned(), Value::from(*count))).collect();
    let explanation = answer.explanation.as_ref().map(explained).unwrap_or_default();
    json!({"hosts": answer.hosts, "filtered": filtered, "explanation": explanation, "quota": answer.decision.quota})
}

fn explained(explanation: &Explanation) -> Value {
    explanation.hosts.iter().map(explained_host).collect()
}

fn explained_host(host: &HostExplanation) -> Value {
    match &host.outcome {
        Outcome::Removed(filter) => json!({"host": host.host, "removed_by": filter.step}),
        Outcome::Ranked { weight, first_tier, steps } => {
            let step = |step: &berth_scheduler::Contribution| json!({"step": step.step, "activation": step.activation, "added": step.added});
            let steps: Vec<Value> = steps.iter().map(step).collect();
            json!({"host": host.host, "weight": weight, "first_tier": first_tier, "steps": steps})
        }
    }
}

#[derive(Debug, Default)]
struct Body {
    hosts: Vec<Option<HostName>>,
}

members!(Body { "hosts" => hosts });

/// The hosts of a response with 200; `null`, an empty list and no list are equal. Text after the first JSON value is
/// not read. The error states what was expected and found.
pub fn decode_answer(body: &[u8]) -> Result<Vec<HostName>, String> {
    let body: Body = read(body, false)?;
    Ok(body.hosts.into_iter().map(Option::unwrap_or_default).collect())
}
