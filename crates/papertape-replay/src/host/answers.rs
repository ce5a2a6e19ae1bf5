//! What the client of a tape has responded to the requests of its server.

use std::collections::{HashMap, HashSet};

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
                    answers.by_message.insert(index, answers.all.len());
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
        let same_method =
            || self.all.iter().enumerate().filter(|(_, answer)| answer.call.method == call.method);
        let unused = |(index, _): &(usize, &Answer)| !self.used.contains(index);
        let found = same_method().filter(unused).find(|(_, answer)| answer.call == *call);
        let found = found.or_else(|| same_method().find(unused)).or_else(|| same_method().next_back());
        let (index, response) = found.map(|(index, answer)| (index, answer.response))?;
        self.used.insert(index);
        Some(response)
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
