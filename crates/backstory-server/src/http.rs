//! HTTP/1.1, as much of it as a few short requests need: one for each connection, with a length that is known before.

use crate::version;

/// Size of the largest request that is read, head and body together.
pub(super) const MAX_REQUEST_BYTES: usize = 16 << 10;

/// Maximum number of headers; no honest client sends more.
const MAX_HEADERS: usize = 32;

/// Request of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) parameters: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// Result of parsing the bytes received so far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// The beginning of a request.
    Partial,
    /// A request; what follows it is not looked at.
    Whole(Request),
    /// None, and the status to refuse it with.
    Wrong(u16),
}

/// Answer of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Status of HTTP.
    pub status: u16,
    /// The worker's version.
    pub version: String,
    /// The JSON document.
    pub body: Vec<u8>,
}

/// Reads a request.
pub(super) fn parse_request(bytes: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let head = match request.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) if bytes.len() < MAX_REQUEST_BYTES => return Parsed::Partial,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Parsed::Wrong(431);
        }
        Err(_) => return Parsed::Wrong(400),
    };
    let (Some(method), Some(target)) = (request.method, request.path) else {
        return Parsed::Wrong(400);
    };
    if header(request.headers, "transfer-encoding").is_some() {
        return Parsed::Wrong(501);
    }
    let Some(length) = content_length(request.headers) else {
        return Parsed::Wrong(400);
    };
    if length > MAX_REQUEST_BYTES - head.min(MAX_REQUEST_BYTES) {
        return Parsed::Wrong(413);
    }
    let Some(body) = bytes.get(head..head + length) else {
        return Parsed::Partial;
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Parsed::Whole(Request {
        method: method.to_string(),
        path: path.to_string(),
        parameters: form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect(),
        body: body.to_vec(),
    })
}

/// Writes a request.
pub(super) fn request(method: &str, path: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "{method} {path} HTTP/1.1\r\nHost: backstory\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Writes a response with a JSON document.
pub(super) fn response(status: u16, body: &[u8]) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    };
    let mut bytes = format!(
        "HTTP/1.1 {status} {reason}\r\nServer: backstory/{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        version(),
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Reads a response; `None` as long as it is not whole.
pub(super) fn parse_response(bytes: &[u8]) -> Option<Response> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = response.parse(bytes).ok()? else {
        return None;
    };
    let length = content_length(response.headers)?;
    let version = header(response.headers, "server")?.strip_prefix("backstory/")?;
    Some(Response {
        status: response.code?,
        version: version.to_string(),
        body: bytes.get(head..head.checked_add(length)?)?.to_vec(),
    })
}

fn header<'a>(headers: &[httparse::Header<'a>], name: &str) -> Option<&'a str> {
    let header = headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case(name))?;
    // What is no text is no value that we know.
    Some(std::str::from_utf8(header.value).unwrap_or_default())
}

/// Returns the length of the body; `None` when the headers do not say one. Two lengths are how requests are smuggled.
fn content_length(headers: &[httparse::Header<'_>]) -> Option<usize> {
    let mut lengths = headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("content-length"));
    let Some(first) = lengths.next() else {
        return Some(0);
    };
    let is_number = !first.value.is_empty() && first.value.iter().all(u8::is_ascii_digit);
    if lengths.next().is_some() || !is_number {
        return None;
    }
    let digits = std::str::from_utf8(first.value).ok()?;
    // More digits than fit are more bytes than fit.
    Some(digits.parse().unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks what a request is read as, also when it comes byte by byte.
    fn check(input: &str, expected: &str) {
        let told = |bytes: &[u8]| match parse_request(bytes) {
            Parsed::Partial => "partial".to_string(),
            Parsed::Wrong(status) => status.to_string(),
            Parsed::Whole(request) => {
                let parameters = request.parameters.iter();
                let parameters: Vec<String> = parameters
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                format!(
                    "{} {} [{}] {}",
                    request.method,
                    request.path,
                    parameters.join(","),
                    String::from_utf8_lossy(&request.body)
                )
            }
        };
        assert_eq!(told(input.as_bytes()), expected, "{input:?}");
        let first = (0..=input.len())
            .filter(|end| *end < 1_000 || *end == input.len())
            .map(|end| told(&input.as_bytes()[..end]))
            .find(|told| told != "partial");
        let partial = "partial".to_string();
        assert_eq!(first.unwrap_or(partial), expected, "{input:?}");
    }

    #[test]
    fn requests_are_read() {
        check("GET /health HTTP/1.1\r\n\r\n", "GET /health [] ");
        check("GET /health HTTP/1.0\n\n", "GET /health [] ");
        check(
            "GET /api/search?q=a%20b+c&x HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET /api/search [q=a b c,x=] ",
        );
        check(
            "GET /a?q=%ff%zz&&=&q=2 HTTP/1.1\r\n\r\n",
            "GET /a [q=\u{fffd}%zz,=,q=2] ",
        );
        check(
            "POST /a HTTP/1.1\r\ncontent-length: 3\r\n\r\n{}\n",
            "POST /a [] {}\n",
        );
        check("\r\n\r\nGET / HTTP/1.1\r\n\r\n", "GET / [] ");
    }

    #[test]
    fn what_follows_a_request_is_not_looked_at() {
        check(
            "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n",
            "GET /a [] ",
        );
        check(
            "POST /a HTTP/1.1\r\nContent-Length: 1\r\n\r\nxGET /b HTTP/1.1\r\n\r\n",
            "POST /a [] x",
        );
    }

    #[test]
    fn half_a_request_waits() {
        for input in [
            "",
            "GET",
            "GET / HTTP/1.1\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nx",
        ] {
            check(input, "partial");
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        check("\u{0}\u{1}", "400");
        check("GET / HTTP/9\r\n\r\n", "400");
        check("\u{16}\u{3}\u{1}", "400");
        let with = |headers: &str| format!("POST / HTTP/1.1\r\n{headers}\r\n\r\n");
        check(&with("Content-Length: -1"), "400");
        check(&with("Content-Length: +1"), "400");
        check(&with("Content-Length:"), "400");
        check(&with("Content-Length: 1\r\nContent-Length: 2"), "400");
        check(&with("Transfer-Encoding: chunked"), "501");
        for length in ["16385", "4294967296", "99999999999999999999999999"] {
            check(&with(&format!("Content-Length: {length}")), "413");
        }
        let headers: Vec<String> = (0..40).map(|number| format!("x{number}: y")).collect();
        check(&with(&headers.join("\r\n")), "431");
        check(&format!("GET /{}", "a".repeat(MAX_REQUEST_BYTES)), "431");
    }

    #[test]
    fn what_is_written_can_be_read() {
        let body = "{\"q\": \"ä & b=c+d%\"}".as_bytes();
        let written = request("POST", "/api/search", body);
        let Parsed::Whole(read) = parse_request(&written) else {
            panic!("not read");
        };
        assert_eq!((&read.path[..], &read.body[..]), ("/api/search", body));
        let written = response(404, b"{}");
        let read = parse_response(&written).unwrap();
        assert_eq!(
            (read.status, &read.version[..], &read.body[..]),
            (404, version(), &b"{}"[..])
        );
        for end in 0..written.len() {
            assert_eq!(parse_response(&written[..end]), None);
        }
    }
}
