//! Who runs on which core.

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores of the servers and the one of the load generator.
#[derive(Debug)]
pub struct Cores {
    servers: CpuSet,
    generator: CpuSet,
}

impl Cores {
    /// The generator gets the last core, the servers all others.
    ///
    /// # Errors
    /// If there is only one.
    pub fn apart() -> Result<Self> {
        let allowed = sched_getaffinity(None)?;
        let last = (0..CpuSet::MAX_CPU).rev().find(|&core| allowed.is_set(core)).context("no core")?;
        let (mut servers, mut generator) = (allowed, CpuSet::new());
        generator.set(last);
        servers.unset(last);
        anyhow::ensure!(servers.count() > 0, "one core cannot be two: use --cores free");
        Ok(Self { servers, generator })
    }

    /// Everybody runs where the kernel likes.
    ///
    /// # Errors
    /// If the kernel does not tell what there is.
    pub fn free() -> Result<Self> {
        let allowed = sched_getaffinity(None)?;
        Ok(Self { servers: allowed, generator: allowed })
    }

    /// What this thread starts now runs on the servers' cores.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn as_server(&self) -> Result<()> {
        Ok(sched_setaffinity(None, &self.servers)?)
    }

    /// This thread runs on the generator's core.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn as_generator(&self) -> Result<()> {
        Ok(sched_setaffinity(None, &self.generator)?)
    }
}
