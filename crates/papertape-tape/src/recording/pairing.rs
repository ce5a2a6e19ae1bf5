//! Which response belongs to which request.

use std::collections::{BTreeSet, HashMap};

use papertape::wire::Id;
use papertape::wire::tape::Direction;

/// The requests without a response, of both directions.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    to_server: Requests,
    to_client: Requests,
}

#[derive(Debug, Default)]
struct Requests {
    pending: Table,
    progress: Table,
    /// The progress tokens of pending requests.
    tokens: HashMap<usize, Id>,
    /// The last request of an HTTP exchange.
    exchanges: HashMap<u64, usize>,
}

/// Requests by an id, or by a progress token. Either may be used twice, by one peer or by several over HTTP.
#[derive(Debug, Default)]
struct Table {
    by_exchange: HashMap<(Option<u64>, Id), BTreeSet<usize>>,
    by_id: HashMap<Id, BTreeSet<usize>>,
}

impl Table {
    fn insert(&mut self, exchange: Option<u64>, id: &Id, index: usize) {
        self.by_exchange.entry((exchange, id.clone())).or_default().insert(index);
        self.by_id.entry(id.clone()).or_default().insert(index);
    }

    /// The oldest request of the same exchange, else of any: a response may come in another exchange.
    fn find(&self, exchange: Option<u64>, id: &Id) -> Option<usize> {
        let same = self.by_exchange.get(&(exchange, id.clone()));
        same.or_else(|| self.by_id.get(id))?.first().copied()
    }

    fn remove(&mut self, exchange: Option<u64>, id: &Id, index: usize) {
        let key = (exchange, id.clone());
        if let Some(set) = self.by_exchange.get_mut(&key) {
            set.remove(&index);
            if set.is_empty() {
                self.by_exchange.remove(&key);
            }
        }
        if let Some(set) = self.by_id.get_mut(id) {
            set.remove(&index);
            if set.is_empty() {
                self.by_id.remove(id);
            }
        }
    }

    /// Removes the requests of byte streams.
    fn forget_streams(&mut self) {
        let of_streams: Vec<(Id, usize)> = self
            .by_exchange
            .iter()
            .filter(|((exchange, _), _)| exchange.is_none())
            .flat_map(|((_, id), set)| set.iter().map(|&index| (id.clone(), index)))
            .collect();
        for (id, index) in of_streams {
            self.remove(None, &id, index);
        }
    }
}

impl Pairing {
    fn of(&mut self, direction: Direction) -> &mut Requests {
        match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToClient => &mut self.to_client,
        }
    }

    /// Notes a request.
    pub(super) fn request(
        &mut self,
        direction: Direction,
        exchange: Option<u64>,
        id: &Id,
        token: Option<Id>,
        index: usize,
    ) {
        let requests = self.of(direction);
        requests.pending.insert(exchange, id, index);
        if let Some(exchange) = exchange {
            requests.exchanges.insert(exchange, index);
        }
        if let Some(token) = token {
            requests.progress.insert(exchange, &token, index);
            requests.tokens.insert(index, token);
        }
    }

    /// The request with this id that has no response; the requests went in this direction.
    pub(super) fn pending(&mut self, requests: Direction, exchange: Option<u64>, id: &Id) -> Option<usize> {
        self.of(requests).pending.find(exchange, id)
    }

    /// Notes that the request of this index, id and exchange has a response.
    pub(super) fn responded(&mut self, requests: Direction, exchange: Option<u64>, id: &Id, index: usize) {
        let requests = self.of(requests);
        requests.pending.remove(exchange, id, index);
        if let Some(token) = requests.tokens.remove(&index) {
            requests.progress.remove(exchange, &token, index);
        }
        if let Some(exchange) = exchange
            && requests.exchanges.get(&exchange) == Some(&index)
        {
            requests.exchanges.remove(&exchange);
        }
    }

    /// The pending request with this progress token.
    pub(super) fn of_progress(
        &mut self,
        requests: Direction,
        exchange: Option<u64>,
        token: &Id,
    ) -> Option<usize> {
        self.of(requests).progress.find(exchange, token)
    }

    /// The pending request of an HTTP exchange.
    pub(super) fn of_exchange(&mut self, requests: Direction, exchange: u64) -> Option<usize> {
        self.of(requests).exchanges.get(&exchange).copied()
    }

    /// Forgets the requests of byte streams, whose process has ended.
    pub(super) fn forget_streams(&mut self) {
        for requests in [&mut self.to_server, &mut self.to_client] {
            requests.pending.forget_streams();
            requests.progress.forget_streams();
        }
    }
}
