//! The syntax of the `Host` header.

use std::net::Ipv6Addr;

use super::fault::Fault;

/// Checks the syntax only; which hosts are served is decided by the handler.
pub(super) fn check(value: &[u8]) -> Result<(), Fault> {
    let value = value.trim_ascii();
    if value.is_empty() {
        return Err(Fault::bad("the Host header is empty"));
    }
    let good = match value.strip_prefix(b"[") {
        Some(literal) => is_literal(literal),
        None => is_name(value),
    };
    if good { Ok(()) } else { Err(Fault::bad("the Host header is not a host and a port")) }
}

/// An IPv6 literal after its opening bracket, such as `::1]:80`.
fn is_literal(value: &[u8]) -> bool {
    let mut parts = value.splitn(2, |byte| *byte == b']');
    let address = parts.next().and_then(|address| str::from_utf8(address).ok());
    let port = parts.next();
    address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
        && port.is_some_and(|port| port.is_empty() || port.strip_prefix(b":").is_some_and(is_port))
}

fn is_name(value: &[u8]) -> bool {
    let mut parts = value.splitn(2, |byte| *byte == b':');
    let name = parts.next().unwrap_or_default();
    // Without the comma of RFC 3986, which joins repeated headers.
    let good = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'-' | b'.'
                    | b'_'
                    | b'~'
                    | b'%'
                    | b'!'
                    | b'$'
                    | b'&'
                    | b'\''
                    | b'('
                    | b')'
                    | b'*'
                    | b'+'
                    | b';'
                    | b'='
            )
    };
    !name.is_empty() && name.iter().all(good) && parts.next().is_none_or(is_port)
}

/// A port may be empty (RFC 3986).
fn is_port(port: &[u8]) -> bool {
    port.is_empty()
        || (port.len() <= 5
            && port.iter().all(u8::is_ascii_digit)
            && str::from_utf8(port).is_ok_and(|port| port.parse::<u16>().is_ok()))
}
