//! One client of the worker: what it has sent so far, and what is left to be sent to it.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{Uid, geteuid};

use super::http::{MAX_REQUEST_BYTES, Parsed, Request, parse_request};

/// Time that a client has to send its request, and to take its answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A client.
pub(super) struct Connection {
    stream: UnixStream,
    process: i32,
    state: State,
}

enum State {
    /// Its request comes in.
    Reading { bytes: Vec<u8>, until: Instant },
    /// Its request is being answered.
    Waiting,
    /// Its answer goes out.
    Writing {
        bytes: Vec<u8>,
        sent: usize,
        until: Instant,
    },
}

/// Result of reading from or writing to a connection.
pub(super) enum Progress {
    /// Nothing to do until more comes or goes.
    Waits,
    /// A whole request, to be answered.
    Asks(Request),
    /// No valid request, and the status to refuse it with.
    Errs(u16),
    /// Over, one way or the other.
    Ends,
}

impl Connection {
    /// Takes a connection, if it is one of our own user.
    pub(super) fn new(stream: UnixStream) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        let (user, process) = peer(&stream)?;
        (user == geteuid()).then(|| Connection {
            stream,
            process,
            state: State::Reading {
                bytes: Vec::new(),
                until: Instant::now() + PATIENCE,
            },
        })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Returns the events to poll for. A connection that is being answered is left alone: a client that is gone would wake us again
    /// and again.
    pub(super) fn interest(&self) -> Option<PollFlags> {
        match self.state {
            State::Reading { .. } => Some(PollFlags::POLLIN),
            State::Waiting => None,
            State::Writing { .. } => Some(PollFlags::POLLOUT),
        }
    }

    /// Returns the time at which it is closed, whatever the client does.
    pub(super) fn until(&self) -> Option<Instant> {
        match self.state {
            State::Reading { until, .. } | State::Writing { until, .. } => Some(until),
            State::Waiting => None,
        }
    }

    /// The process at the other end.
    pub(super) fn process(&self) -> i32 {
        self.process
    }

    /// Returns whether nobody is there to take an answer. Only Linux tells such a client from one that has sent its request and waits.
    pub(super) fn is_gone(&self) -> bool {
        let mut polled = [PollFd::new(self.stream.as_fd(), PollFlags::empty())];
        let polling = poll(&mut polled, PollTimeout::ZERO);
        let hung_up = polled[0]
            .revents()
            .is_some_and(|events| events.contains(PollFlags::POLLHUP));
        cfg!(target_os = "linux") && polling.is_ok() && hung_up
    }

    pub(super) fn is_reading(&self) -> bool {
        matches!(self.state, State::Reading { .. })
    }

    /// Bytes that wait to be taken by the client.
    pub(super) fn outgoing(&self) -> usize {
        match &self.state {
            State::Writing { bytes, .. } => bytes.len(),
            _ => 0,
        }
    }

    /// Reads or writes what can be without waiting.
    pub(super) fn go_on(&mut self) -> Progress {
        match &mut self.state {
            State::Reading { bytes, .. } => match read(&mut self.stream, bytes) {
                Progress::Asks(request) => {
                    self.state = State::Waiting;
                    Progress::Asks(request)
                }
                progress => progress,
            },
            State::Waiting => Progress::Waits,
            State::Writing { bytes, sent, .. } => write(&mut self.stream, bytes, sent),
        }
    }

    /// Begins to send an answer.
    pub(super) fn answer(&mut self, bytes: Vec<u8>) -> Progress {
        self.state = State::Writing {
            bytes,
            sent: 0,
            until: Instant::now() + PATIENCE,
        };
        self.go_on()
    }
}

fn read(stream: &mut UnixStream, bytes: &mut Vec<u8>) -> Progress {
    let mut piece = [0; 4 << 10];
    loop {
        let room = (MAX_REQUEST_BYTES - bytes.len()).min(piece.len());
        match stream.read(&mut piece[..room]) {
            Ok(0) => return Progress::Ends,
            Ok(read) => {
                bytes.extend_from_slice(&piece[..read]);
                match parse_request(bytes) {
                    Parsed::Partial => {}
                    Parsed::Whole(request) => return Progress::Asks(request),
                    Parsed::Wrong(status) => return Progress::Errs(status),
                }
            }
            Err(error) => match waits(&error) {
                Some(true) => return Progress::Waits,
                Some(false) => {}
                None => return Progress::Ends,
            },
        }
    }
}

fn write(stream: &mut UnixStream, bytes: &[u8], sent: &mut usize) -> Progress {
    while *sent < bytes.len() {
        match stream.write(&bytes[*sent..]) {
            Ok(written) => *sent += written,
            Err(error) => match waits(&error) {
                Some(true) => return Progress::Waits,
                Some(false) => {}
                None => return Progress::Ends,
            },
        }
    }
    Progress::Ends
}

/// Returns whether to wait or to try again at once; `None` when the connection is over.
fn waits(error: &io::Error) -> Option<bool> {
    match error.kind() {
        ErrorKind::WouldBlock => Some(true),
        ErrorKind::Interrupted => Some(false),
        _ => None,
    }
}

/// Returns the user at the other end, and the process where the system says.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn peer(stream: &UnixStream) -> Option<(Uid, i32)> {
    use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
    let credentials = getsockopt(stream, PeerCredentials).ok()?;
    Some((Uid::from_raw(credentials.uid()), credentials.pid()))
}

/// Returns the user at the other end, and the process where the system says.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn peer(stream: &UnixStream) -> Option<(Uid, i32)> {
    let (user, _) = nix::unistd::getpeereid(stream).ok()?;
    Some((user, 0))
}
