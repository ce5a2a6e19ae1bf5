//! A stopwatch and an allocation counter.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// How long one sample runs, and how many are taken.
const SAMPLE: Duration = Duration::from_millis(5);
const SAMPLES: usize = 41;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[expect(unsafe_code, reason = "an allocator is unsafe by its nature; this one only counts and passes on")]
// SAFETY: every call goes to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.saturating_sub(layout.size()));
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn count(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Relaxed);
    BYTES.fetch_add(bytes as u64, Relaxed);
}

/// Runs `work`, which handles `requests` requests at once, again and again, and prints a row of the table.
pub(crate) fn measure<T>(name: &str, requests: usize, mut work: impl FnMut() -> T) {
    let once = Instant::now();
    black_box(work());
    let repeats = (SAMPLE.as_nanos() / once.elapsed().as_nanos().max(1)).clamp(1, 1_000_000) as usize;
    let per = (repeats * requests) as f64;

    let mut nanos = Vec::with_capacity(SAMPLES);
    let (mut allocations, mut bytes) = (0, 0);
    for _ in 0..SAMPLES {
        let before = (ALLOCATIONS.load(Relaxed), BYTES.load(Relaxed));
        let start = Instant::now();
        for _ in 0..repeats {
            black_box(work());
        }
        nanos.push(start.elapsed().as_nanos() as f64 / per);
        (allocations, bytes) = (ALLOCATIONS.load(Relaxed) - before.0, BYTES.load(Relaxed) - before.1);
    }
    nanos.sort_by(f64::total_cmp);
    println!(
        "| {name} | {:.0} | {:.0} | {:.1} | {:.0} |",
        nanos[SAMPLES / 2],
        nanos[0],
        allocations as f64 / per,
        bytes as f64 / per
    );
}

/// Starts a table.
pub(crate) fn heading(title: &str) {
    println!("\n| {title} | ns, median | ns, best | allocations | bytes |\n|---|--:|--:|--:|--:|");
}
