//! Exact cosines in numpy, of the same vectors and queries.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::SEED;
use super::corpus::Corpus;
use super::step::{Figures, Setting};

const NUMPY: &str = r#"
import json, sys, time
import numpy as np
path, queries, dimension = sys.argv[1], sys.argv[2], int(sys.argv[3])
all = np.fromfile(path, dtype=np.float32).reshape(-1, dimension)
times = []
cpu = time.process_time()
for query in np.fromfile(queries, dtype=np.float32).reshape(-1, dimension):
    start = time.perf_counter()
    scores = all @ query
    best = np.argpartition(-scores, 10)[:10] if len(scores) > 10 else np.arange(len(scores))
    best = best[np.argsort(-scores[best])]
    times.append((time.perf_counter() - start) * 1000)
cpu = (time.process_time() - cpu) * 1000 / len(times)
times.sort()
print("semantic p50=%f" % times[len(times) // 2])
print("semantic p99=%f" % times[min(len(times) * 99 // 100, len(times) - 1)])
print("semantic CPU=%f" % cpu)
print("own=%d" % all.nbytes)
"#;

/// Exact cosines, as one line of numpy computes them; nothing if there is no numpy.
pub(crate) fn numpy(setting: &Setting) -> Result<Option<Figures>> {
    let corpus = Corpus::new(setting.chunks, setting.dimension, SEED);
    let queries: Vec<u8> = (0..setting.queries.min(100))
        .flat_map(|number| corpus.query(number).vector)
        .flat_map(f32::to_le_bytes)
        .collect();
    let path = setting.at("queries.f32");
    std::fs::write(&path, queries)?;
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(python)
        .args(["-c", NUMPY])
        .arg(setting.at("vectors.f32"))
        .arg(path)
        .arg(setting.dimension.to_string())
        .stderr(Stdio::null())
        .output()
        .context("cannot start Python")?;
    Ok(output.status.success().then(|| Figures::read(&String::from_utf8_lossy(&output.stdout))))
}
