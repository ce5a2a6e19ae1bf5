//! What the client of a tape has responded to the requests of its server.

use std::collections::{HashMap, HashSet, VecDeque};

use papertape::wire::Id;
use papertape::wire::tape::Direction;

use crate::call::Call;
use crate::script::{Kind, Script};

/// The recorded responses, by the method of the request.
#[derive(Debug, Default)]
pub(super) struct Answers {
    all: Vec<Answer>,
    /// By the index of the response in the script.
    by_message: HashMap<usize, usize>,
    /// By the method and the parameters of the request, and by the method alone.
    exact: HashMap<(String, String), VecDeque<usize>>,
    by_method: HashMap<String, VecDeque<usize>>,
    last: HashMap<String, usize>,
    used: HashSet<usize>,
    /// The methods of requests without a response.
    unanswered: HashSet<String>,
}

#[derive(Debug)]
struct Answer {
    call: Call,
    /// The index of the request.
    request: usize,
    /// The index of the response.
    response: usize,
}

impl Answers {
    pub(super) fn of(script: &Script) -> Self {
        let mut answers = Self::default();
        let mut open: HashMap<&Id, (usize, &Call)> = HashMap::new();
        for (index, message) in script.messages.iter().enumerate() {
            match (&message.kind, message.direction) {
                (Kind::Request(id, call), Direction::ToClient) => drop(open.insert(id, (index, call))),
                (Kind::Response(Some(id)), Direction::ToServer) => {
                    let Some((request, call)) = open.remove(id) else { continue };
                    let new = answers.all.len();
                    answers.by_message.insert(index, new);
                    let exact = (call.method.clone(), call.params.clone());
                    answers.exact.entry(exact).or_default().push_back(new);
                    answers.by_method.entry(call.method.clone()).or_default().push_back(new);
                    answers.last.insert(call.method.clone(), new);
                    answers.all.push(Answer { call: call.clone(), request, response: index });
                }
                _ => {}
            }
        }
        answers.unanswered = open.into_values().map(|(_, call)| call.method.clone()).collect();
        answers
    }

    /// Whether the client of the tape has left a request with this method without a response.
    pub(super) fn leaves(&self, method: &str) -> bool {
        self.unanswered.contains(method)
    }

    /// The index of the response to a request: to the same one, else to the next with its method, else to the last.
    pub(super) fn find(&mut self, call: &Call) -> Option<usize> {
        let used = &self.used;
        let first = |waiting: Option<&mut VecDeque<usize>>| {
            let waiting = waiting?;
            while waiting.front().is_some_and(|first| used.contains(first)) {
                waiting.pop_front();
            }
            waiting.front().copied()
        };
        let exact = first(self.exact.get_mut(&(call.method.clone(), call.params.clone())));
        let index = exact
            .or_else(|| first(self.by_method.get_mut(&call.method)))
            .or_else(|| self.last.get(&call.method).copied())?;
        self.used.insert(index);
        self.all.get(index).map(|answer| answer.response)
    }

    /// The request of the server that a recorded response is to, while the server has not sent it again.
    pub(super) fn missing(&self, response: usize) -> Option<(usize, &Call)> {
        let index = self.by_message.get(&response)?;
        let answer = self.all.get(*index).filter(|_| !self.used.contains(index))?;
        Some((answer.request, &answer.call))
    }

    /// It is not waited for again.
    pub(super) fn give_up(&mut self, response: usize) {
        self.used.extend(self.by_message.get(&response));
    }
}
