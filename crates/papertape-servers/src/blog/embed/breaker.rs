//! A service that may be dead to one that says so at once: a circuit-breaker, and a bound on what is under way.
//!
//! Who indexes has patience and who asks a question has not, so that each has a circuit of its own: questions that were
//! given up do not stop the indexing that makes the service slow.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::{Answer, EmbedError, Embedder, Identity, Purpose};

/// So many failures in a row open the circuit.
const FAILURES: u32 = 3;

/// For how long nobody is asked then. After that, one call goes through, and decides.
const OPEN: Duration = Duration::from_secs(30);

/// Who gives a call up later than this has waited in vain, which is a failure of the service; earlier, it is a change of mind.
const PATIENCE: Duration = Duration::from_millis(500);

/// How many calls of a kind are under way at once; others wait.
const AT_ONCE: usize = 4;

/// An embedder that is left alone when it fails.
#[derive(Debug)]
pub struct Breaker {
    inner: Arc<dyn Embedder>,
    naming: Circuit,
    indexing: Circuit,
    asking: Circuit,
}

/// The way to the service for one kind of call.
#[derive(Debug)]
struct Circuit {
    state: Mutex<State>,
    places: Semaphore,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// Until when, and because of what.
    open: Option<(Instant, EmbedError)>,
    /// A call has gone through that decides.
    probing: bool,
}

/// A call under way. Dropped before it is done, it was given up.
struct Call<'a> {
    circuit: &'a Circuit,
    began: Instant,
    done: bool,
}

impl Breaker {
    /// Stands before another embedder.
    #[must_use]
    pub fn new(inner: Arc<dyn Embedder>) -> Self {
        Self { inner, naming: Circuit::new(), indexing: Circuit::new(), asking: Circuit::new() }
    }
}

impl Embedder for Breaker {
    fn identify(&self) -> Answer<'_, Identity> {
        Box::pin(self.naming.pass(self.inner.identify()))
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: Purpose,
    ) -> Answer<'a, Vec<Result<Vec<f32>, String>>> {
        let circuit = match purpose {
            Purpose::Document => &self.indexing,
            Purpose::Query => &self.asking,
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

    async fn pass<T>(&self, answer: Answer<'_, T>) -> Result<T, EmbedError> {
        self.state().closed()?;
        let _place =
            self.places.acquire().await.map_err(|error| EmbedError::Unavailable(error.to_string()))?;
        let call = self.begin()?;
        let answer = answer.await;
        call.end(answer.as_ref().err());
        answer
    }

    fn begin(&self) -> Result<Call<'_>, EmbedError> {
        let mut state = self.state();
        state.closed()?;
        // The first call after the pause; it decides.
        state.probing = state.open.is_some();
        Ok(Call { circuit: self, began: Instant::now(), done: false })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
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
            None => *self.circuit.state() = State::default(),
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
        if waited >= PATIENCE {
            let waited = waited.as_millis();
            state.failed(&EmbedError::Unavailable(format!("the model did not answer within {waited} ms")));
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

    /// Fails, works or hangs, as it is told, and counts.
    #[derive(Debug, Default)]
    struct Fake {
        fails: Mutex<Option<EmbedError>>,
        hangs: Mutex<bool>,
        asked: AtomicUsize,
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

        fn asked(&self) -> usize {
            self.asked.load(Ordering::SeqCst)
        }
    }

    impl Embedder for Fake {
        fn identify(&self) -> Answer<'_, Identity> {
            Box::pin(async { Err(EmbedError::Unavailable("nobody".to_owned())) })
        }

        fn embed<'a>(&'a self, _: &'a [String], _: Purpose) -> Answer<'a, Vec<Result<Vec<f32>, String>>> {
            Box::pin(async {
                self.asked.fetch_add(1, Ordering::SeqCst);
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

    async fn ask(breaker: &Breaker) -> Result<(), String> {
        breaker.embed(&[], Purpose::Query).await.map(drop).map_err(|error| error.to_string())
    }

    #[tokio::test(start_paused = true)]
    async fn after_three_failures_it_is_left_alone_and_then_tried_once() {
        let fake = Fake::failing("gone");
        let breaker = Breaker::new(Arc::clone(&fake) as Arc<dyn Embedder>);
        for _ in 0..10 {
            assert_eq!(ask(&breaker).await, Err("gone".to_owned()));
        }
        assert_eq!(fake.asked(), 3);
        advance(OPEN).await;
        for _ in 0..10 {
            assert_eq!(ask(&breaker).await, Err("gone".to_owned()));
        }
        assert_eq!(fake.asked(), 4);
        advance(OPEN).await;
        *fake.fails.lock().unwrap() = None;
        for _ in 0..10 {
            assert_eq!(ask(&breaker).await, Ok(()));
        }
        assert_eq!(fake.asked(), 14);
    }

    #[tokio::test(start_paused = true)]
    async fn a_success_forgives() {
        let fake = Fake::failing("gone");
        let breaker = Breaker::new(Arc::clone(&fake) as Arc<dyn Embedder>);
        for _ in 0..5 {
            *fake.fails.lock().unwrap() = Some(EmbedError::Lying("odd".to_owned()));
            ask(&breaker).await.unwrap_err();
            ask(&breaker).await.unwrap_err();
            *fake.fails.lock().unwrap() = None;
            ask(&breaker).await.unwrap();
        }
        assert_eq!(fake.asked(), 15);
    }

    #[tokio::test(start_paused = true)]
    async fn questions_given_up_in_vain_are_failures_and_do_not_stop_indexing() {
        let fake = Arc::new(Fake::default());
        *fake.hangs.lock().unwrap() = true;
        let breaker = Breaker::new(Arc::clone(&fake) as Arc<dyn Embedder>);
        for _ in 0..10 {
            timeout(PATIENCE / 2, ask(&breaker)).await.unwrap_err();
        }
        assert_eq!(fake.asked(), 10, "a change of mind is no failure");
        for _ in 0..3 {
            timeout(PATIENCE, ask(&breaker)).await.unwrap_err();
        }
        assert!(ask(&breaker).await.unwrap_err().contains("did not answer"));
        assert_eq!(fake.asked(), 13);
        *fake.hangs.lock().unwrap() = false;
        breaker.embed(&[], Purpose::Document).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn while_one_call_decides_others_do_not_wait_for_it() {
        let fake = Fake::failing("gone");
        let breaker = Arc::new(Breaker::new(Arc::clone(&fake) as Arc<dyn Embedder>));
        for _ in 0..3 {
            ask(&breaker).await.unwrap_err();
        }
        advance(OPEN).await;
        *fake.hangs.lock().unwrap() = true;
        let deciding = tokio::spawn({
            let breaker = Arc::clone(&breaker);
            async move { ask(&breaker).await }
        });
        while fake.asked() < 4 {
            tokio::task::yield_now().await;
        }
        assert_eq!(ask(&breaker).await, Err("gone".to_owned()));
        *fake.fails.lock().unwrap() = None;
        fake.go_on.notify_one();
        assert_eq!(deciding.await.unwrap(), Ok(()));
        *fake.hangs.lock().unwrap() = false;
        assert_eq!(ask(&breaker).await, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_service_is_not_asked_by_everybody_at_once() {
        let fake = Arc::new(Fake::default());
        *fake.hangs.lock().unwrap() = true;
        let breaker = Arc::new(Breaker::new(Arc::clone(&fake) as Arc<dyn Embedder>));
        let calls: Vec<_> = (0..50)
            .map(|_| {
                let breaker = Arc::clone(&breaker);
                tokio::spawn(async move { ask(&breaker).await })
            })
            .collect();
        for call in calls {
            while !call.is_finished() {
                fake.go_on.notify_one();
                tokio::task::yield_now().await;
            }
        }
        assert_eq!((fake.asked(), fake.most.load(Ordering::SeqCst)), (50, AT_ONCE));
    }
}
