//! A circuit breaker before a service, and a limit of concurrent calls.
//!
//! Queries have a shorter timeout than indexing, so that each has a circuit of its own: queries that timed out do not
//! stop the indexing that makes the service slow.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::{EmbedError, EmbedFuture, Embedder, Identity, Purpose};
use crate::sync::lock;

/// So many failures in a row open the circuit.
const FAILURES: u32 = 3;

/// For how long calls fail at once then. After that, one call goes through, and decides.
const OPEN: Duration = Duration::from_secs(30);

/// A call that is cancelled after this time counts as a failure of the service; before, it does not.
const CANCELLED_AFTER: Duration = Duration::from_millis(500);

/// How many calls of a kind run at once; others wait.
const AT_ONCE: usize = 4;

/// An embedder whose calls fail at once after it has failed.
#[derive(Debug)]
pub struct CircuitBreaker {
    inner: Arc<dyn Embedder>,
    identify: Circuit,
    documents: Circuit,
    queries: Circuit,
}

/// The circuit for one kind of call.
#[derive(Debug)]
struct Circuit {
    state: Mutex<CircuitState>,
    places: Semaphore,
}

#[derive(Debug, Default)]
struct CircuitState {
    failures: u32,
    /// Until when, and because of what.
    open: Option<(Instant, EmbedError)>,
    /// A call has gone through that decides.
    probing: bool,
}

/// A call under way. Dropped before it is done, it was cancelled.
struct Call<'a> {
    circuit: &'a Circuit,
    began: Instant,
    done: bool,
}

impl CircuitBreaker {
    /// Guards another embedder.
    #[must_use]
    pub fn new(inner: Arc<dyn Embedder>) -> Self {
        Self { inner, identify: Circuit::new(), documents: Circuit::new(), queries: Circuit::new() }
    }
}

impl Embedder for CircuitBreaker {
    fn identify(&self) -> EmbedFuture<'_, Identity> {
        Box::pin(self.identify.pass(self.inner.identify()))
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: Purpose,
    ) -> EmbedFuture<'a, Vec<Result<Vec<f32>, String>>> {
        let circuit = match purpose {
            Purpose::Document => &self.documents,
            Purpose::Query => &self.queries,
        };
        Box::pin(circuit.pass(self.inner.embed(texts, purpose)))
    }

    fn batch(&self) -> usize {
        self.inner.batch()
    }
}

impl Circuit {
    fn new() -> Self {
        Self { state: Mutex::default(), places: Semaphore::new(AT_ONCE) }
    }

    async fn pass<T>(&self, call: EmbedFuture<'_, T>) -> Result<T, EmbedError> {
        self.state().closed()?;
        let _place =
            self.places.acquire().await.map_err(|error| EmbedError::Unavailable(error.to_string()))?;
        let running = self.begin()?;
        let result = call.await;
        running.end(result.as_ref().err());
        result
    }

    fn begin(&self) -> Result<Call<'_>, EmbedError> {
        let mut state = self.state();
        state.closed()?;
        // The first call after the pause; it decides.
        state.probing = state.open.is_some();
        Ok(Call { circuit: self, began: Instant::now(), done: false })
    }

    fn state(&self) -> MutexGuard<'_, CircuitState> {
        lock(&self.state)
    }
}

impl CircuitState {
    /// Whether a call may go through; if not, why.
    fn closed(&self) -> Result<(), EmbedError> {
        match &self.open {
            Some((until, why)) if self.probing || *until > Instant::now() => Err(why.clone()),
            _ => Ok(()),
        }
    }

    fn failed(&mut self, why: &EmbedError) {
        self.failures = self.failures.saturating_add(1);
        self.probing = false;
        if self.failures >= FAILURES {
            self.open = Some((Instant::now() + OPEN, why.clone()));
        }
    }
}

impl Call<'_> {
    fn end(mut self, error: Option<&EmbedError>) {
        self.done = true;
        match error {
            None => *self.circuit.state() = CircuitState::default(),
            Some(error) => self.circuit.state().failed(error),
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let waited = self.began.elapsed();
        let mut state = self.circuit.state();
        if waited >= CANCELLED_AFTER {
            let waited = waited.as_millis();
            state.failed(&EmbedError::Unavailable(format!("the model did not respond within {waited} ms")));
        } else {
            state.probing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Notify;
    use tokio::time::{advance, timeout};

    use super::*;

    /// Fails, works or hangs, as configured, and counts its calls.
    #[derive(Debug, Default)]
    struct Fake {
        fails: Mutex<Option<EmbedError>>,
        hangs: Mutex<bool>,
        calls: AtomicUsize,
        under_way: AtomicUsize,
        most: AtomicUsize,
        go_on: Notify,
    }

    impl Fake {
        fn failing(why: &str) -> Arc<Self> {
            let fake = Arc::new(Self::default());
            *fake.fails.lock().unwrap() = Some(EmbedError::Unavailable(why.to_owned()));
            fake
        }

        fn calls(&self) -> usize {
            self.calls.load(Ordering::SeqCst)
        }
    }

    impl Embedder for Fake {
        fn identify(&self) -> EmbedFuture<'_, Identity> {
            Box::pin(async { Err(EmbedError::Unavailable("unreachable".to_owned())) })
        }

        fn embed<'a>(
            &'a self,
            _: &'a [String],
            _: Purpose,
        ) -> EmbedFuture<'a, Vec<Result<Vec<f32>, String>>> {
            Box::pin(async {
                self.calls.fetch_add(1, Ordering::SeqCst);
                let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
                self.most.fetch_max(now, Ordering::SeqCst);
                if *self.hangs.lock().unwrap() {
                    self.go_on.notified().await;
                }
                self.under_way.fetch_sub(1, Ordering::SeqCst);
                self.fails.lock().unwrap().clone().map_or_else(|| Ok(Vec::new()), Err)
            })
        }

        fn batch(&self) -> usize {
            1
        }
    }

    async fn query(breaker: &CircuitBreaker) -> Result<(), String> {
        breaker.embed(&[], Purpose::Query).await.map(drop).map_err(|error| error.to_string())
    }

    #[tokio::test(start_paused = true)]
    async fn after_three_failures_calls_fail_at_once_and_then_one_is_tried() {
        let fake = Fake::failing("gone");
        let breaker = CircuitBreaker::new(Arc::clone(&fake) as Arc<dyn Embedder>);
        for _ in 0..10 {
            assert_eq!(query(&breaker).await, Err("gone".to_owned()));
        }
        assert_eq!(fake.calls(), 3);
        advance(OPEN).await;
        for _ in 0..10 {
            assert_eq!(query(&breaker).await, Err("gone".to_owned()));
        }
        assert_eq!(fake.calls(), 4);
        advance(OPEN).await;
        *fake.fails.lock().unwrap() = None;
        for _ in 0..10 {
            assert_eq!(query(&breaker).await, Ok(()));
        }
        assert_eq!(fake.calls(), 14);
    }

    #[tokio::test(start_paused = true)]
    async fn a_success_resets_the_count() {
        let fake = Fake::failing("gone");
        let breaker = CircuitBreaker::new(Arc::clone(&fake) as Arc<dyn Embedder>);
        for _ in 0..5 {
            *fake.fails.lock().unwrap() = Some(EmbedError::InvalidResponse("invalid".to_owned()));
            query(&breaker).await.unwrap_err();
            query(&breaker).await.unwrap_err();
            *fake.fails.lock().unwrap() = None;
            query(&breaker).await.unwrap();
        }
        assert_eq!(fake.calls(), 15);
    }

    #[tokio::test(start_paused = true)]
    async fn queries_that_time_out_are_failures_and_do_not_stop_indexing() {
        let fake = Arc::new(Fake::default());
        *fake.hangs.lock().unwrap() = true;
        let breaker = CircuitBreaker::new(Arc::clone(&fake) as Arc<dyn Embedder>);
        for _ in 0..10 {
            timeout(CANCELLED_AFTER / 2, query(&breaker)).await.unwrap_err();
        }
        assert_eq!(fake.calls(), 10, "an early cancellation is not a failure");
        for _ in 0..3 {
            timeout(CANCELLED_AFTER, query(&breaker)).await.unwrap_err();
        }
        assert!(query(&breaker).await.unwrap_err().contains("did not respond"));
        assert_eq!(fake.calls(), 13);
        *fake.hangs.lock().unwrap() = false;
        breaker.embed(&[], Purpose::Document).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn while_one_call_decides_others_fail_at_once() {
        let fake = Fake::failing("gone");
        let breaker = Arc::new(CircuitBreaker::new(Arc::clone(&fake) as Arc<dyn Embedder>));
        for _ in 0..3 {
            query(&breaker).await.unwrap_err();
        }
        advance(OPEN).await;
        *fake.hangs.lock().unwrap() = true;
        let deciding = tokio::spawn({
            let breaker = Arc::clone(&breaker);
            async move { query(&breaker).await }
        });
        while fake.calls() < 4 {
            tokio::task::yield_now().await;
        }
        assert_eq!(query(&breaker).await, Err("gone".to_owned()));
        *fake.fails.lock().unwrap() = None;
        fake.go_on.notify_one();
        assert_eq!(deciding.await.unwrap(), Ok(()));
        *fake.hangs.lock().unwrap() = false;
        assert_eq!(query(&breaker).await, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_service_gets_a_few_calls_at_once() {
        let fake = Arc::new(Fake::default());
        *fake.hangs.lock().unwrap() = true;
        let breaker = Arc::new(CircuitBreaker::new(Arc::clone(&fake) as Arc<dyn Embedder>));
        let calls: Vec<_> = (0..50)
            .map(|_| {
                let breaker = Arc::clone(&breaker);
                tokio::spawn(async move { query(&breaker).await })
            })
            .collect();
        for call in calls {
            while !call.is_finished() {
                fake.go_on.notify_one();
                tokio::task::yield_now().await;
            }
        }
        assert_eq!((fake.calls(), fake.most.load(Ordering::SeqCst)), (50, AT_ONCE));
    }
}
