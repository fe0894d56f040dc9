//! One request from its arrival to its answer: faults and delays, when it takes effect, and its entry in the log.
//! `verbs` has its effect.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use std::{io, task};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body::Frame;
use kube::client::Body;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::verbs::Answer;
use super::{Server, State};
use crate::discovery;
use crate::faults::Fault;
use crate::log::Outcome;
use crate::refusal::Refusal;
use crate::request::Call;
use crate::stop::Met;
use crate::watch::{Open, Watch};

/// After this long without a byte a client considers its connection dead: longer than every deadline of a call, as for
/// the clients of `berth-cluster`.
const SILENCE: Duration = Duration::from_secs(70);

pub(crate) enum Lines {
    Whole(Option<Bytes>),
    Watch(Box<Watch>),
}

impl http_body::Body for Lines {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut task::Context<'_>,
    ) -> task::Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            Self::Whole(bytes) => task::Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Watch(watch) => Pin::new(&mut **watch).poll_frame(context),
        }
    }
}

/// The reply to the client.
enum Reply {
    Answer(Response<Lines>),
    Hang,
    Broken(io::ErrorKind),
}

/// A request that has arrived.
struct Arrived {
    number: usize,
    fate: RequestFate,
    before: Duration,
    after: Duration,
}

/// The fate of a request before it takes effect.
enum RequestFate {
    /// It takes effect, with this fault if there is one.
    Acts(Option<Fault>),
    Hangs,
    Refused,
}

impl Server {
    pub(super) async fn serve(self, who: Arc<str>, request: Request<Body>) -> Result<Response<Lines>, io::Error> {
        let (call, refusal) = Call::read(request).await;
        let hooks = self.lock().rules.hooks(&who, call.verb, &call.path);
        for hook in hooks {
            hook(&self);
        }
        let arrived = self.arrive(&who, &call);
        let reply = match arrived.fate {
            RequestFate::Hangs => Reply::Hang,
            RequestFate::Refused => Reply::Broken(io::ErrorKind::ConnectionRefused),
            RequestFate::Acts(_) if arrived.before + arrived.after > Duration::ZERO => {
                self.later(who, call, refusal, arrived).await
            }
            RequestFate::Acts(fault) => self.act(&who, call, refusal, fault, arrived.number, false),
        };
        match reply {
            Reply::Answer(response) => Ok(response),
            Reply::Hang => {
                sleep(SILENCE).await;
                Err(io::Error::new(io::ErrorKind::TimedOut, "the connection is silent for too long"))
            }
            Reply::Broken(kind) => Err(io::Error::new(kind, "the connection is broken")),
        }
    }

    /// A request that takes time takes effect even if its client does not wait for that.
    async fn later(self, who: Arc<str>, call: Call, refusal: Option<Refusal>, arrived: Arrived) -> Reply {
        let (sender, receiver) = oneshot::channel();
        let Arrived { number, before, after, fate } = arrived;
        let RequestFate::Acts(fault) = fate else { return Reply::Hang };
        let is_cut = matches!(fault, Some(Fault::Late { .. }));
        tokio::spawn(async move {
            sleep(before).await;
            let reply = self.act(&who, call, refusal, fault, number, true);
            sleep(after).await;
            // A client that does not wait any more is part of the simulation.
            drop(sender.send(reply));
        });
        if is_cut {
            return Reply::Broken(io::ErrorKind::ConnectionReset);
        }
        receiver.await.unwrap_or(Reply::Hang)
    }

    fn arrive(&self, who: &Arc<str>, call: &Call) -> Arrived {
        let mut state = self.lock();
        let state = &mut *state;
        let number = state.log.begin(self.started.elapsed(), who, call);
        let mut arrived =
            Arrived { number, fate: RequestFate::Acts(None), before: Duration::ZERO, after: Duration::ZERO };
        if state.away {
            state.count("away");
            state.log.end(number, Outcome::Cut, false);
            arrived.fate = RequestFate::Refused;
            return arrived;
        }
        if state.meets_stop(who, call) != Met::No {
            state.log.end(number, Outcome::Hangs, false);
            self.stopped.notify_waiters();
            arrived.fate = RequestFate::Hangs;
            return arrived;
        }
        let fault = state.rules.fault(who, call.verb, &call.path, &mut state.random);
        if let Some(latency) = &state.latency {
            arrived.before = state.random.duration(&latency.before);
            arrived.after = state.random.duration(&latency.after);
            state.count("latency");
        }
        if let Some(fault) = fault {
            state.count(fault.name());
            match fault {
                Fault::Slow { before, after } => (arrived.before, arrived.after) = (before, after),
                Fault::Late { by } => arrived.before = by,
                _ => {}
            }
        }
        arrived.fate = RequestFate::Acts(fault);
        arrived
    }

    fn act(
        &self,
        who: &Arc<str>,
        mut call: Call,
        refusal: Option<Refusal>,
        fault: Option<Fault>,
        number: usize,
        was_under_way: bool,
    ) -> Reply {
        let mut state = self.lock();
        let state = &mut *state;
        let met = state.meets_stop(who, &call);
        if met == Met::Now || met == Met::After && !(was_under_way && state.random.chance(500)) {
            state.log.end(number, Outcome::Hangs, false);
            self.stopped.notify_waiters();
            return Reply::Hang;
        }
        if matches!(fault, Some(Fault::Late { .. })) && state.log.is_deleted_since(number) {
            state.log.end(number, Outcome::Cut, false);
            return Reply::Broken(io::ErrorKind::ConnectionReset);
        }
        let before = state.objects.version();
        let (answer, outcome) = state.outcome(who, &mut call, refusal, fault);
        let changed = state.objects.version() > before;
        state.log.end(number, outcome, changed);
        if met == Met::After || changed && state.stops_now(who, &call) {
            state.log.end(number, Outcome::Hangs, changed);
            self.stopped.notify_waiters();
            return Reply::Hang;
        }
        match outcome {
            Outcome::Answered(_) => self.reply(state, who, &call, answer, fault),
            Outcome::Cut => Reply::Broken(io::ErrorKind::ConnectionReset),
            Outcome::Hangs | Outcome::Open => Reply::Hang,
        }
    }

    fn reply(&self, state: &mut State, who: &Arc<str>, call: &Call, answer: Answer, fault: Option<Fault>) -> Reply {
        let mut response = Response::builder().status(answer.code()).header(header::CONTENT_TYPE, answer.content());
        if let Answer::Refused(refusal) = &answer
            && let Some(seconds) = refusal.details.get("retryAfterSeconds")
        {
            response = response.header(header::RETRY_AFTER, seconds.to_string());
        }
        let body = match answer {
            Answer::Text(_, bytes) => Lines::Whole(Some(bytes)),
            Answer::Refused(refusal) => Lines::Whole(Some(refusal.bytes())),
            Answer::Watch(plan) => {
                state.watches += 1;
                let number = state.watches;
                state.open.insert(number, Open { path: call.path.clone(), end: None });
                let late = state.lateness.clone().map(|range| state.random.duration(&range));
                if late.is_some() {
                    state.count("watch late");
                }
                let watch = Watch::new(self.clone(), number, who.clone(), plan, fault, late.unwrap_or_default());
                Lines::Watch(Box::new(watch))
            }
        };
        response.body(body).map_or(Reply::Broken(io::ErrorKind::InvalidData), Reply::Answer)
    }
}

impl State {
    /// Whether a stop was reached for this client, or is reached with this request.
    fn meets_stop(&mut self, who: &str, call: &Call) -> Met {
        let met = self.stops.iter().map(|stop| stop.meets(who, call)).max().unwrap_or(Met::No);
        if met != Met::No {
            self.count("stop");
        }
        met
    }

    /// Counts a request with a change. True if it was the last.
    fn stops_now(&mut self, who: &str, call: &Call) -> bool {
        let last = self.stops.iter().filter(|stop| stop.took_effect(who, call)).count() > 0;
        if last {
            self.count("stop");
        }
        last
    }

    fn outcome(
        &mut self,
        who: &str,
        call: &mut Call,
        refusal: Option<Refusal>,
        fault: Option<Fault>,
    ) -> (Answer, Outcome) {
        let reported = |code: u16, reason, message: &str| Some(Refusal::new(code, reason, "", message));
        let instead = match fault {
            Some(Fault::Unauthorized) => reported(401, "Unauthorized", "Unauthorized"),
            Some(Fault::Forbidden) => reported(403, "Forbidden", "it is forbidden"),
            Some(Fault::Conflict) => reported(409, "Conflict", "the object has been modified"),
            Some(Fault::Gone) => reported(410, "Expired", "too old resource version"),
            Some(Fault::TooMany { retry_after }) => Some(too_many(retry_after)),
            Some(Fault::Internal) => reported(500, "InternalError", "etcdserver: request timed out"),
            Some(Fault::Unavailable) => {
                reported(503, "ServiceUnavailable", "the server is currently unable to handle it")
            }
            Some(Fault::Timeout) => reported(504, "Timeout", "the server did not answer in time"),
            Some(Fault::Hang) => return (Answer::nothing(), Outcome::Hangs),
            Some(Fault::CutBefore) => return (Answer::nothing(), Outcome::Cut),
            _ => None,
        };
        let stale = if let Some(Fault::Stale { versions }) = fault { versions } else { 0 };
        let forbidden = || discovery::check(&self.denied, who, call).err();
        let answer = match refusal.or(instead).or_else(forbidden) {
            Some(refusal) => Answer::Refused(refusal),
            None => self.effect(who, call, stale).unwrap_or_else(Answer::Refused),
        };
        match fault {
            Some(Fault::LoseAnswer) => (answer, Outcome::Cut),
            Some(Fault::TimeoutAfterwards) => {
                let refusal = Refusal::new(504, "Timeout", "", "the server did not answer in time");
                (Answer::Refused(refusal), Outcome::Answered(504))
            }
            _ => {
                let code = answer.code();
                (answer, Outcome::Answered(code))
            }
        }
    }
}

fn too_many(retry_after: u32) -> Refusal {
    let mut refusal = Refusal::new(429, "TooManyRequests", "", "the server has received too many requests");
    refusal.details.insert("retryAfterSeconds".to_owned(), retry_after.into());
    refusal
}
