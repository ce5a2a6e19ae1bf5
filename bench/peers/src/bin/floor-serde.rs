//! The floor: reads what is there, answers each line with the bare minimum, writes once per read.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::AsFd,
};

use peers::floor::answer;

fn main() -> anyhow::Result<()> {
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut buffer = vec![0; 64 << 10];
    let mut filled = 0;
    let mut replies = Vec::new();
    loop {
        let read = input.read(&mut buffer[filled..])?;
        if read == 0 {
            return Ok(());
        }
        let mut start = 0;
        for newline in memchr::memchr_iter(b'\n', &buffer[filled..filled + read]) {
            let end = filled + newline;
            answer(&buffer[start..end], &mut replies)?;
            start = end + 1;
        }
        output.write_all(&replies)?;
        replies.clear();

        filled += read;
        buffer.copy_within(start..filled, 0);
        filled -= start;
        if filled == buffer.len() {
            buffer.resize(2 * filled, 0);
        }
    }
}
