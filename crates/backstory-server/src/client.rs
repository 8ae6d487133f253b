//! Client of a worker, which may be busy, stopped, of another version or dead: the client gets an answer in time or none.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use backstory_memory::trusted::check_socket;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use nix::unistd::geteuid;

use super::connection::peer;
use super::http::{self, Response};
use super::place::WorkerInfo;

/// A worker that lives takes a connection at once.
const CONNECT_WITHIN: Duration = Duration::from_millis(20);

/// A queue of connections that is full may have room a moment later.
const CONNECT_AGAIN: Duration = Duration::from_millis(1);

/// Size of the largest answer that is read.
const MAX_RESPONSE_BYTES: usize = 8 << 20;

/// Request to a worker.
pub struct WorkerRequest<'a> {
    /// Method of HTTP.
    pub method: &'a str,
    /// The route.
    pub path: &'a str,
    /// Body, in JSON.
    pub body: &'a [u8],
    /// Maximum time until the whole answer is there.
    pub within: Duration,
}

impl WorkerRequest<'_> {
    /// Returns a request without a body.
    pub(super) fn plain(method: &'static str, path: &'static str, within: Duration) -> Self {
        WorkerRequest {
            method,
            path,
            body: b"",
            within,
        }
    }
}

/// Asks a worker; `None` when there is no whole answer in time, whatever the reason.
pub fn ask_worker(worker: &WorkerInfo, question: &WorkerRequest<'_>) -> Option<Response> {
    let deadline = Instant::now() + question.within;
    let mut stream = connected(&worker.socket, deadline)?;
    let WorkerRequest {
        method, path, body, ..
    } = question;
    let request = http::request(method, path, body);
    let mut rest = &request[..];
    while !rest.is_empty() {
        match stream.write(rest) {
            Ok(0) => return None,
            Ok(written) => rest = &rest[written..],
            Err(error) => waited(&error, &stream, PollFlags::POLLOUT, deadline)?,
        }
    }
    let mut bytes = Vec::new();
    let mut piece = [0; 16 << 10];
    loop {
        match stream.read(&mut piece) {
            // The worker closes when all is said.
            Ok(0) => return http::parse_response(&bytes),
            Ok(read) if bytes.len() + read > MAX_RESPONSE_BYTES => return None,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
            Err(error) => waited(&error, &stream, PollFlags::POLLIN, deadline)?,
        }
    }
}

/// A connection to a worker of our own user that never blocks. The usual way to connect would: for as long as the worker is stopped and its queue is full.
fn connected(path: &Path, deadline: Instant) -> Option<UnixStream> {
    check_socket(path).ok()?;
    let address = UnixAddr::new(path).ok()?;
    let flags = SockFlag::empty();
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None).ok()?;
    fcntl(&socket, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).ok()?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(true).ok()?;
    let deadline = deadline.min(Instant::now() + CONNECT_WITHIN);
    loop {
        match connect(stream.as_raw_fd(), &address) {
            Ok(()) => {
                // Whoever else listens there could answer anything.
                let (user, _) = peer(&stream)?;
                return (user == geteuid()).then_some(stream);
            }
            Err(Errno::EAGAIN | Errno::EINTR) if Instant::now() < deadline => {
                std::thread::sleep(CONNECT_AGAIN);
            }
            Err(_) => return None,
        }
    }
}

/// Waits until a connection can go on; `None` when it cannot, or not in time.
fn waited(
    error: &std::io::Error,
    stream: &UnixStream,
    what: PollFlags,
    deadline: Instant,
) -> Option<()> {
    match error.kind() {
        ErrorKind::Interrupted => return Some(()),
        ErrorKind::WouldBlock => {}
        _ => return None,
    }
    let left = deadline.checked_duration_since(Instant::now())?;
    let mut polled = [PollFd::new(stream.as_fd(), what)];
    // Never zero, or the last millisecond would be spent asking.
    let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).ok()?;
    match poll(&mut polled, timeout) {
        Ok(0) => None,
        Ok(_) | Err(Errno::EINTR) => Some(()),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_socket_where_others_can_put_one_is_not_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let _listener = UnixListener::bind(&path).unwrap();
        let is_asked = |mode| {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(folder.path(), permissions).unwrap();
            connected(&path, Instant::now() + Duration::from_secs(10)).is_some()
        };
        assert!(is_asked(0o700));
        assert!(!is_asked(0o755));
        assert!(!is_asked(0o777));
    }
}
