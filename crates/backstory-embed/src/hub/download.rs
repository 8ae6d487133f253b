//! One file over HTTP: redirects, interruptions, checksums.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::http::{HeaderMap, Response, StatusCode, header};
use ureq::{Agent, Body, Proxy};

use super::checksum::Checksum;
use super::{HubFile, Progress};
use crate::{Error, Result};

/// Attempts in a row that bring nothing before giving up.
const ATTEMPTS: u32 = 5;
const MOST_REDIRECTS: usize = 8;
const CHUNK: usize = 256 << 10;

/// No file of a model is larger; what goes on beyond is no such file.
const MOST_BYTES: u64 = 16 << 30;

/// What makes requests. Redirects are followed by hand, for the checksum stands in the answer that redirects.
pub(super) fn agent(proxy: Option<Proxy>) -> Agent {
    Agent::config_builder()
        .proxy(proxy)
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_connect(Some(Duration::from_secs(20)))
        .timeout_recv_response(Some(Duration::from_secs(60)))
        .timeout_per_read(Some(Duration::from_secs(60)))
        .user_agent(concat!("backstory/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent()
}

/// Fetches a file to its place, in as many attempts as it takes as long as each brings something.
pub(super) fn fetch(
    agent: &Agent,
    url: &str,
    file: &HubFile,
    target: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
    pause: Duration,
) -> Result<()> {
    let mut part = target.as_os_str().to_owned();
    part.push(".part");
    let mut download = Download {
        agent,
        url,
        file,
        part: PathBuf::from(part),
        progress,
    };
    let mut failures = 0;
    loop {
        let before = download.present();
        match download.attempt() {
            Ok(checksum) => return download.finish(checksum, target),
            Err(Failure::Final(error)) => return Err(error),
            Err(Failure::Passing(reason)) => {
                failures = if download.present() > before {
                    1
                } else {
                    failures + 1
                };
                if failures >= ATTEMPTS {
                    return Err(Error::Download {
                        url: url.to_owned(),
                        reason,
                    });
                }
                std::thread::sleep(pause * 2u32.pow(failures - 1));
            }
        }
    }
}

/// Why an attempt failed.
enum Failure {
    /// Another attempt may succeed.
    Passing(String),
    /// None will.
    Final(Error),
}

struct Download<'a> {
    agent: &'a Agent,
    url: &'a str,
    file: &'a HubFile,
    part: PathBuf,
    progress: &'a mut dyn FnMut(Progress<'_>),
}

impl Download<'_> {
    /// How many bytes have arrived.
    fn present(&self) -> u64 {
        fs::metadata(&self.part).map_or(0, |metadata| metadata.len())
    }

    /// Fetches what is missing; gives the checksum that the whole should have.
    fn attempt(&mut self) -> Result<Option<Checksum>, Failure> {
        let mut present = self.present();
        let (mut response, checksum) = self.request(present)?;
        if checksum.is_none() && present > 0 {
            // Without a checksum nothing says that both parts are of the same file.
            present = 0;
            drop(response);
            response = self.request(0)?.0;
        }
        let status = response.status();
        if status == StatusCode::RANGE_NOT_SATISFIABLE {
            // Either everything has arrived, or what has is of another file.
            let total = number_after(response.headers(), header::CONTENT_RANGE.as_str(), '/');
            if total == Some(present) {
                return Ok(checksum);
            }
            fs::remove_file(&self.part).map_err(|error| self.disk(error))?;
            return Err(Failure::Passing(
                "the hub has another file than before".to_owned(),
            ));
        }
        if status == StatusCode::PARTIAL_CONTENT {
            let start = number_after(response.headers(), header::CONTENT_RANGE.as_str(), ' ');
            if start != Some(present) {
                return Err(Failure::Passing(
                    "the hub sent another part than was asked for".to_owned(),
                ));
            }
        } else {
            present = 0;
        }
        let length = number_after(response.headers(), header::CONTENT_LENGTH.as_str(), ' ');
        let total = length.map(|length| present + length);
        self.receive(&mut response, present, total)?;
        Ok(checksum)
    }

    /// Asks for the file from a place on, through all redirects. The answer is one with content or says that there is no more.
    fn request(&self, from: u64) -> Result<(Response<Body>, Option<Checksum>), Failure> {
        let mut url = self.url.to_owned();
        let mut checksum = self
            .file
            .sha256
            .map(|pinned| Checksum::Sha256(pinned.to_owned()));
        for _ in 0..=MOST_REDIRECTS {
            let mut request = self
                .agent
                .get(&url)
                .header(header::ACCEPT_ENCODING, "identity");
            if from > 0 {
                request = request.header(header::RANGE, format!("bytes={from}-"));
            }
            let response = request.call().map_err(|error| match error {
                ureq::Error::BadUri(_) | ureq::Error::Http(_) => self.refused(&error.to_string()),
                error => Failure::Passing(error.to_string()),
            })?;
            // Tags of other hosts, to which the hub redirects, mean something else.
            if checksum.is_none() {
                let linked = response.headers().get("x-linked-etag");
                let own = response
                    .headers()
                    .get(header::ETAG)
                    .filter(|_| origin(&url) == origin(self.url));
                let tag = linked.or(own).and_then(|tag| tag.to_str().ok());
                checksum = tag.and_then(Checksum::from_tag);
            }
            let status = response.status();
            if status.is_redirection() {
                let location = response.headers().get(header::LOCATION);
                let location = location.and_then(|location| location.to_str().ok());
                url = location
                    .and_then(|location| join(&url, location))
                    .ok_or_else(|| self.refused("it redirects to nowhere"))?;
                continue;
            }
            return match status {
                StatusCode::OK
                | StatusCode::PARTIAL_CONTENT
                | StatusCode::RANGE_NOT_SATISFIABLE => Ok((response, checksum)),
                StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
                    Err(Failure::Passing(status.to_string()))
                }
                status if status.is_server_error() => Err(Failure::Passing(status.to_string())),
                status => Err(self.refused(&status.to_string())),
            };
        }
        Err(self.refused("it redirects without end"))
    }

    fn receive(
        &mut self,
        response: &mut Response<Body>,
        present: u64,
        total: Option<u64>,
    ) -> Result<(), Failure> {
        let opened = if present == 0 {
            File::create(&self.part)
        } else {
            OpenOptions::new().append(true).open(&self.part)
        };
        let mut output = opened.map_err(|error| self.disk(error))?;
        let mut done = present;
        let mut reader = response.body_mut().as_reader();
        let mut chunk = vec![0; CHUNK];
        loop {
            (self.progress)(Progress {
                file: self.file.name,
                done,
                total,
            });
            let length = match reader.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Failure::Passing(error.to_string())),
            };
            output
                .write_all(&chunk[..length])
                .map_err(|error| self.disk(error))?;
            done += length as u64;
            if done > MOST_BYTES {
                return Err(self.refused("it is too large"));
            }
        }
        if total.is_some_and(|total| done < total) {
            return Err(Failure::Passing("the connection ended early".to_owned()));
        }
        output.sync_all().map_err(|error| self.disk(error))
    }

    /// Gives the file its name, if it is the right one.
    fn finish(&self, checksum: Option<Checksum>, target: &Path) -> Result<()> {
        let is_right = checksum.map_or(Ok(true), |checksum| checksum.is_of(&self.part))?;
        if !is_right {
            fs::remove_file(&self.part).map_err(|error| Error::io(&self.part, error))?;
            return Err(Error::Checksum {
                url: self.url.to_owned(),
            });
        }
        fs::rename(&self.part, target).map_err(|error| Error::io(target, error))
    }

    fn disk(&self, error: std::io::Error) -> Failure {
        Failure::Final(Error::io(&self.part, error))
    }

    fn refused(&self, reason: &str) -> Failure {
        Failure::Final(Error::Refused {
            url: self.url.to_owned(),
            reason: reason.to_owned(),
        })
    }
}

/// The number behind the last such sign in a header, up to what is no digit.
fn number_after(headers: &HeaderMap, name: &str, sign: char) -> Option<u64> {
    let value = headers.get(name)?.to_str().ok()?;
    let value = value.rsplit(sign).next()?.trim();
    let end = value
        .find(|sign: char| !sign.is_ascii_digit())
        .unwrap_or(value.len());
    value[..end].parse().ok()
}

/// Scheme and host of an address.
fn origin(url: &str) -> Option<&str> {
    let host = url.find("://")? + 3;
    let end = url[host..]
        .find('/')
        .map_or(url.len(), |slash| host + slash);
    Some(&url[..end])
}

/// Where a redirect leads.
fn join(url: &str, location: &str) -> Option<String> {
    if location.starts_with("https://") || location.starts_with("http://") {
        // What came over an encrypted connection goes on over one.
        let is_downgrade = url.starts_with("https://") && location.starts_with("http://");
        return (!is_downgrade).then(|| location.to_owned());
    }
    location
        .starts_with('/')
        .then(|| format!("{}{location}", origin(url).unwrap_or_default()))
}
