//! The batch size of a service, adapted to its response times.
//!
//! The speed of a model is not known beforehand, and a request that times out is wasted work on both sides: many services
//! go on with it after we have left. So the first batch is small, and the next ones grow as long as responses come early.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::sync::lock;

/// How many texts are in the first request.
const FIRST: usize = 8;

/// For how many timeouts a batch size that timed out is not tried again. A service that was only busy, or was loading its
/// model, recovers after that; one that stays slow loses a twentieth of its time to the attempt.
const REMEMBERED: u32 = 20;

/// The batch size of a service.
#[derive(Debug)]
pub(super) struct BatchSize {
    /// How many texts it is given at most, however fast it is.
    full: usize,
    /// How long a request may take.
    time: Duration,
    state: Mutex<BatchState>,
}

#[derive(Debug)]
struct BatchState {
    /// How many texts to give.
    now: usize,
    /// How many were too much, and when.
    too_many: Option<(usize, Instant)>,
}

impl BatchSize {
    pub(super) fn new(full: usize, time: Duration) -> Self {
        Self { full, time, state: Mutex::new(BatchState { now: FIRST.min(full), too_many: None }) }
    }

    /// How many texts to give at once.
    pub(super) fn texts(&self) -> usize {
        self.state().now
    }

    /// Records a response to a request of so many texts, after so long.
    pub(super) fn succeeded(&self, texts: usize, took: Duration) {
        let mut state = self.state();
        if took > self.time / 2 {
            state.now = state.now.min((texts / 2).max(1));
        } else if took < self.time / 4 && texts >= state.now {
            let most = state.most(self.time.saturating_mul(REMEMBERED)).unwrap_or(self.full);
            state.now = (state.now * 2).min(most.max(state.now));
        }
    }

    /// Records a timeout of a request of so many texts. Returns whether to retry with fewer; a timeout with a single text
    /// is final, because the service does not respond at all.
    pub(super) fn was_late(&self, texts: usize) -> bool {
        if texts < 2 {
            return false;
        }
        let mut state = self.state();
        state.now = 1;
        state.too_many = Some((texts, Instant::now()));
        true
    }

    fn state(&self) -> MutexGuard<'_, BatchState> {
        lock(&self.state)
    }
}

impl BatchState {
    /// How many texts may be given after what was seen so far, if that says anything.
    fn most(&self, remembered: Duration) -> Option<usize> {
        let (texts, when) = self.too_many?;
        (when.elapsed() < remembered).then_some(texts / 2)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const TIME: Duration = Duration::from_secs(30);
    const FULL: usize = 32;

    /// How many texts each of so many requests has, at a service that takes so long for a text; and how many came late.
    async fn run(pace: &BatchSize, of_a_text: Duration, requests: usize) -> (Vec<usize>, usize) {
        let (mut sizes, mut late) = (Vec::new(), 0);
        for _ in 0..requests {
            let texts = pace.texts();
            sizes.push(texts);
            let took = of_a_text * u32::try_from(texts).unwrap();
            advance(took.min(TIME)).await;
            if took <= TIME {
                pace.succeeded(texts, took);
            } else {
                late += 1;
                assert!(pace.was_late(texts), "{texts}");
            }
        }
        (sizes, late)
    }

    #[tokio::test(start_paused = true)]
    async fn a_fast_service_is_soon_given_all_it_takes() {
        let (sizes, late) = run(&BatchSize::new(FULL, TIME), Duration::from_millis(10), 5).await;
        assert_eq!((sizes, late), (vec![8, 16, 32, 32, 32], 0));
        assert_eq!(BatchSize::new(1, TIME).texts(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_service_is_given_what_it_can_do_in_time() {
        for (millis, wanted, late) in
            [(1_200, vec![8, 8, 8, 8], 0), (2_500, vec![8, 4, 4, 4], 0), (12_000, vec![8, 1, 1, 1], 1)]
        {
            let came = run(&BatchSize::new(FULL, TIME), Duration::from_millis(millis), 4).await;
            assert_eq!(came, (wanted, late), "{millis} ms");
        }
    }

    /// With a service that times out above four texts, few requests are lost, not every third.
    #[tokio::test(start_paused = true)]
    async fn a_batch_size_that_timed_out_is_not_tried_again_soon() {
        let pace = BatchSize::new(FULL, TIME);
        assert!(pace.was_late(8));
        assert_eq!(run(&pace, Duration::from_millis(10), 6).await, (vec![1, 2, 4, 4, 4, 4], 0));
        advance(TIME * REMEMBERED).await;
        assert_eq!(run(&pace, Duration::from_millis(10), 4).await, (vec![4, 8, 16, 32], 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_timeout_with_one_text_is_final() {
        let pace = BatchSize::new(FULL, TIME);
        assert!(pace.was_late(8) && !pace.was_late(pace.texts()));
        assert_eq!(pace.texts(), 1);
    }

    /// A short request says nothing about a long one.
    #[tokio::test(start_paused = true)]
    async fn few_texts_do_not_make_many_of_the_next() {
        let pace = BatchSize::new(FULL, TIME);
        pace.succeeded(1, Duration::ZERO);
        assert_eq!(pace.texts(), 8);
    }
}
