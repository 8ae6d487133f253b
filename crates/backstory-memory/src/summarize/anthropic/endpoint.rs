//! One request over HTTP.

use std::net::IpAddr;
use std::time::Duration;

use ureq::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use ureq::{Agent, Proxy, Timeout};

use crate::error::{Error, Result};

/// No answer that can be used is larger.
const MOST_BYTES: u64 = 256 << 10;
const MOST_CONNECT: Duration = Duration::from_secs(10);
/// So much is shown of what a server says.
const MOST_SAID: usize = 200;

/// Where requests go, and the key they go with. The key is in no text that this makes, and goes to no other host.
pub struct Endpoint {
    url: String,
    key: HeaderValue,
    agent: Agent,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Another attempt may succeed, not before the time the server asked for.
    Passing {
        reason: &'static str,
        wait: Option<Duration>,
        /// Whether a model may have been at work.
        spent: bool,
    },
    /// Whoever answered, it was not the API: no use to ask again now.
    Foreign { reason: &'static str },
    /// No attempt will succeed, for this request.
    Final { reason: &'static str, spent: bool },
    /// No attempt will, for any request.
    Closed { status: u16, said: String },
}

impl Endpoint {
    /// Requests to the API at an address: https, or http to this machine itself.
    pub fn new(base_url: &str, key: &str, timeout: Duration) -> Result<Self> {
        let base = base_url.trim_end_matches('/');
        let refused = |reason: &str| Error::Compress {
            reason: format!("{base_url:?} cannot be the address of the API: {reason}"),
            hint: "set compress.base_url to https://api.anthropic.com or leave it out".to_string(),
        };
        let uri: Uri = base.parse().map_err(|_| refused("it is no URL"))?;
        let authority = uri.authority().map(ToString::to_string);
        if authority.is_none_or(|authority| authority.contains('@')) || uri.query().is_some() {
            return Err(refused("only a host and a path may be in it"));
        }
        let is_here = is_loopback(uri.host().unwrap_or_default());
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if is_here => {}
            _ => return Err(refused("it must begin with https://")),
        }
        let mut key = HeaderValue::from_str(key.trim())
            .ok()
            .filter(|key| !key.is_empty())
            .ok_or_else(|| Error::Compress {
                reason: "that is no API key".to_string(),
                hint: "set compress.api_key or ANTHROPIC_API_KEY to one".to_string(),
            })?;
        key.set_sensitive(true);
        let agent = Agent::config_builder()
            .proxy(if is_here { None } else { Proxy::try_from_env() })
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(timeout.min(MOST_CONNECT)))
            .timeout_global(Some(timeout))
            // A connection that was kept could be dead, and nobody could tell then whether the request was seen.
            .max_idle_connections(0)
            .user_agent(concat!("backstory/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Ok(Endpoint {
            url: format!("{base}/v1/messages"),
            key,
            agent,
        })
    }

    /// Sends a request, once, and gives the bytes of a good answer.
    pub(super) fn send(&self, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        let request = self
            .agent
            .post(&self.url)
            .header("x-api-key", self.key.clone())
            .header("anthropic-version", "2023-06-01")
            .header(header::ACCEPT_ENCODING, "identity")
            .content_type("application/json");
        let mut response = request.send(body).map_err(|error| refusal(&error))?;
        let status = response.status();
        let wait = retry_after(response.headers());
        let is_json = response.body().mime_type() == Some("application/json");
        let read = response
            .body_mut()
            .with_config()
            .limit(MOST_BYTES)
            .read_to_vec();
        let passing = |reason, spent| Refusal::Passing {
            reason,
            wait,
            spent,
        };
        match status.as_u16() {
            200 => {}
            408 | 409 => return Err(passing("refused for now", false)),
            429 => return Err(passing("rate limited", false)),
            529 => return Err(passing("overloaded", false)),
            413 => {
                return Err(Refusal::Final {
                    reason: "request too large",
                    spent: false,
                });
            }
            _ if status.is_redirection() => {
                return Err(Refusal::Closed {
                    status: status.as_u16(),
                    said: "it redirects to another address".to_string(),
                });
            }
            _ if status.is_client_error() => {
                let said = self.said(status, &read.unwrap_or_default());
                return Err(Refusal::Closed {
                    status: status.as_u16(),
                    said,
                });
            }
            _ => return Err(passing("server error", true)),
        }
        match read {
            Ok(_) if !is_json => Err(Refusal::Foreign {
                reason: "not the API",
            }),
            Ok(bytes) => Ok(bytes),
            Err(ureq::Error::BodyExceedsLimit(_)) => Err(Refusal::Final {
                reason: "too large",
                spent: true,
            }),
            Err(error) => Err(refusal(&error)),
        }
    }

    /// What a server says is wrong, without the key should it repeat that.
    fn said(&self, status: StatusCode, body: &[u8]) -> String {
        let body: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        let said = body["error"]["message"].as_str().unwrap_or_default();
        let said = match self.key.to_str() {
            Ok(key) => said.replace(key, "…"),
            Err(_) => String::new(),
        };
        let plain = said.chars().filter(|letter| !letter.is_control());
        let said: String = plain.take(MOST_SAID).collect();
        if said.is_empty() {
            status.canonical_reason().unwrap_or_default().to_lowercase()
        } else {
            said
        }
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Endpoint")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// What went wrong on the way, and whether the request may have been seen.
fn refusal(error: &ureq::Error) -> Refusal {
    use std::io::ErrorKind;
    let (reason, spent) = match error {
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect)
        | ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Tls(_)
        | ureq::Error::Rustls(_) => ("not reached", false),
        ureq::Error::Io(error) if error.kind() == ErrorKind::ConnectionRefused => {
            ("not reached", false)
        }
        ureq::Error::Timeout(_) => ("timeout", true),
        ureq::Error::Io(error) if error.kind() == ErrorKind::TimedOut => ("timeout", true),
        _ => ("connection lost", true),
    };
    Refusal::Passing {
        reason,
        wait: None,
        spent,
    }
}

/// How long the server asks to wait. A date instead of a number is not understood, and the usual pause kept.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    let seconds: f64 = value.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expect: bool) {
        let endpoint = Endpoint::new(url, "sk-test", Duration::from_secs(1));
        assert_eq!(endpoint.is_ok(), expect, "{url}");
    }

    #[test]
    fn the_key_goes_only_where_nobody_can_listen() {
        check("https://api.anthropic.com", true);
        check("https://gateway.example/anthropic/", true);
        check("http://127.0.0.1:8080", true);
        check("http://localhost:8080", true);
        check("http://[::1]:8080", true);
        check("http://api.anthropic.com", false);
        check("http://127.0.0.1.example.com", false);
        check("https://key@api.anthropic.com", false);
        check("https://api.anthropic.com/?to=elsewhere", false);
        check("api.anthropic.com", false);
        check("", false);
    }

    #[test]
    fn the_key_is_in_no_text() {
        let endpoint = Endpoint::new("https://api.anthropic.com", "sk-test", Duration::ZERO);
        let endpoint = endpoint.unwrap();
        assert!(!format!("{endpoint:?}").contains("sk-test"));
        let body = br#"{"error": {"message": "sk-test is\u0007 unknown"}}"#;
        assert_eq!(
            endpoint.said(StatusCode::UNAUTHORIZED, body),
            "… is unknown"
        );
        assert_eq!(endpoint.said(StatusCode::NOT_FOUND, b"<html>"), "not found");
        for key in ["", " ", "two\nlines"] {
            let error = Endpoint::new("https://api.anthropic.com", key, Duration::ZERO);
            assert_eq!(error.unwrap_err().to_string(), "that is no API key");
        }
    }
}
