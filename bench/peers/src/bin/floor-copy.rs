//! The lower floor: bytes come back as they went in. What the pipes and the load generator cost.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::AsFd,
};

fn main() -> io::Result<()> {
    // Files instead of `Stdin` and `Stdout`: no buffer and no lock in between.
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut buffer = vec![0; 64 << 10];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok(()),
            n => output.write_all(&buffer[..n])?,
        }
    }
}
