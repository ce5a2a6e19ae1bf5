//! Random bytes from the operating system.

use std::io;

pub(crate) fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|_| io::Error::other("the operating system provides no random bytes"))?;
    Ok(bytes)
}
