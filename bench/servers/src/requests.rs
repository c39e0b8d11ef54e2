//! Single requests to servers on ports of 127.0.0.1, each on a separate connection.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use crate::error::{During, ServerError};

/// Time limit of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The body that answers `GET path` at a port. HTTP/1.0 keeps it free of chunks and ends it with the connection.
///
/// # Errors
/// [`ServerError::Io`] if there is no answer, [`ServerError::Unreadable`] if it is not `200 OK`.
pub fn http_get(port: u16, path: &str) -> Result<Vec<u8>, ServerError> {
    let exchange = || -> io::Result<Vec<u8>> {
        let mut stream = connect(port)?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    };
    let answer = exchange().during(|| format!("GET http://127.0.0.1:{port}{path}"))?;
    let unreadable = |what| ServerError::Unreadable {
        program: "the server",
        what,
        output: String::from_utf8_lossy(&answer).into_owned(),
    };
    let end = answer
        .windows(4)
        .position(|bytes| bytes == b"\r\n\r\n")
        .ok_or_else(|| unreadable("header"))?;
    let status = answer.split(|&byte| byte == b' ').nth(1);
    if status != Some(b"200") {
        return Err(unreadable("status 200"));
    }
    Ok(answer[end + 4..].to_vec())
}

/// Whether the first bytes that answer `line` are `beginning`.
pub(crate) fn line_begins(port: u16, line: &str, beginning: &str) -> bool {
    let exchange = || -> io::Result<bool> {
        let mut stream = connect(port)?;
        write!(stream, "{line}\r\n")?;
        let mut answer = vec![0; beginning.len()];
        stream.read_exact(&mut answer)?;
        Ok(answer == beginning.as_bytes())
    };
    exchange().unwrap_or(false)
}

fn connect(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    stream.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    Ok(stream)
}
