//! Parsers of values: revisions, times, headers, variables.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::SystemTime;

use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use papertape::protocol::Revision;
use tracing_subscriber::filter::LevelFilter;

/// A protocol revision; the error lists the known ones.
pub(super) fn revision() -> impl TypedValueParser<Value = Revision> {
    let names = Revision::ALL.map(|revision| PossibleValue::new(revision.as_str()));
    PossibleValuesParser::new(names).try_map(|name| Revision::parse(&name).ok_or("unknown revision"))
}

/// A log level.
pub(super) fn log_level() -> impl TypedValueParser<Value = LevelFilter> {
    let names = ["off", "error", "warn", "info", "debug", "trace"];
    PossibleValuesParser::new(names).try_map(|name| name.parse::<LevelFilter>())
}

/// The file of a tape where stdin and stdout are for something else, such as the protocol.
pub(super) fn tape_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        if path.as_os_str() == "-" {
            return Err("the tape is a file here, not stdin or stdout: name one (./- is a file named -)");
        }
        Ok(path)
    })
}

/// A number of bytes.
pub(super) fn bytes(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "give a number of bytes, such as 100")
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    seconds_within(text, 0.0, 86_400.0)
}

pub(super) fn seconds_within(text: &str, least: f64, most: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (least..=most).contains(&seconds) => Ok(seconds),
        _ => Err(format!("give a number of seconds from {least} to {most}")),
    }
}

/// A time in the future.
pub(super) fn future_time(text: &str) -> Result<SystemTime, String> {
    let now = SystemTime::now();
    let date = || humantime::parse_rfc3339(&format!("{text}T00:00:00Z")).ok();
    let from_now = || humantime::parse_duration(text).ok().and_then(|time| now.checked_add(time));
    let time = humantime::parse_rfc3339(text).ok().or_else(date).or_else(from_now);
    let time =
        time.ok_or("write a duration (90d), a date (2027-01-31) or a timestamp (2027-01-31T12:00:00Z)")?;
    if time <= now {
        return Err("the time is in the past".to_owned());
    }
    Ok(time)
}

/// The address that a server listens on. A port alone means loopback.
pub(crate) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let forms = "write PORT, :PORT, localhost:PORT or ADDRESS:PORT, such as 8080 or 127.0.0.1:8080";
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if let Some((scheme, _)) = text.split_once("://") {
        return Err(format!("leave out {scheme}:// and the path, which is always /mcp: {forms}"));
    }
    let is_ip = text.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (host, port) = match text.rsplit_once(':') {
        _ if is_ip => return Err(format!("the port is missing: {forms}")),
        Some((host, port)) => (host, port),
        None if is_number => ("", text),
        None => return Err(forms.to_owned()),
    };
    let Ok(port) = port.parse::<u16>() else {
        return Err(format!("\"{port}\" is not a port, which is a number from 0 to 65535: {forms}"));
    };
    match host {
        "" | "localhost" => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        "*" => Err(format!("write 0.0.0.0:{port} to listen on every interface")),
        host => Err(format!(
            "\"{host}\" is not an IP address: give that of an interface, or 0.0.0.0 for all of them; names are for \
             --allow-host"
        )),
    }
}

pub(super) fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write NAME: VALUE".to_owned()),
    }
}

pub(super) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

/// A size in bytes: a number with an optional unit.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits).unwrap_or((text, ""));
    let unit = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1000,
        "m" | "mb" => 1000 * 1000,
        "g" | "gb" => 1000 * 1000 * 1000,
        "kib" => 1024,
        "mib" => 1024 * 1024,
        "gib" => 1024 * 1024 * 1024,
        _ => 0,
    };
    let size = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    let size =
        size.filter(|_| unit > 0).ok_or("write a number of bytes with a unit, such as 100MB or 1GiB")?;
    if size < papertape_tap::LEAST_SIZE {
        return Err(format!("it is too small: the least is {} MB", papertape_tap::LEAST_SIZE / 1_000_000));
    }
    Ok(size)
}
