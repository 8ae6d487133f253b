//! The loop that talks to clients: one thread, which never waits for any single one of them.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::api;
use super::connection::{Connection, Progress};
use super::http::{Request, response};
use super::life::WorkerLock;
use super::place::WorkerInfo;
use super::pool::Pool;
use super::shared::{Presence, Shared};
use crate::host::Host;

/// Maximum number of clients at once, if the system allows so many files.
const MAX_CONNECTIONS: u64 = 1024;
/// Files that are not connections: the store's, the index's, and some to spare.
const OTHER_FILES: u64 = 128;
/// Clients that are accepted before the connections that are open are served again.
const MAX_CLIENTS_AT_ONCE: usize = 64;
/// Bytes of all answers together that wait to be taken.
const MAX_OUTGOING_BYTES: usize = 8 << 20;
/// Interval at which the worker checks whether it should stay.
const TICK: Duration = Duration::from_secs(1);
/// The same while it finishes requests, for the end of rounds does not wake it.
const DRAIN_INTERVAL: Duration = Duration::from_millis(20);
/// Time in which requests are finished after the worker is told to leave.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// The loop and all that it looks after.
struct Server {
    info: WorkerInfo,
    connections: BTreeMap<u64, Connection>,
    next: u64,
    most: usize,
    quick: Pool,
    slow: Pool,
    started: Instant,
    requests: u64,
    /// Time of the last activity.
    active: Instant,
    leaving: bool,
    tick: Duration,
}

/// Catches the signals that stop a worker; each writes a byte to the stream that is returned.
pub fn catch_signals() -> io::Result<UnixStream> {
    let (signals, raise) = UnixStream::pair()?;
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::low_level::pipe::register(signal, raise.try_clone()?)?;
    }
    signals.set_nonblocking(true)?;
    Ok(signals)
}

/// Serves until there is a reason to leave: a signal, a request, nothing to do for `idle`, or a store that is gone.
pub fn serve(
    held: &WorkerLock,
    listener: UnixListener,
    signals: &UnixStream,
    info: WorkerInfo,
    host: Arc<dyn Host>,
    idle: Duration,
) -> io::Result<()> {
    let (wakes, wake) = UnixStream::pair()?;
    for stream in [&wakes, &wake] {
        stream.set_nonblocking(true)?;
    }
    listener.set_nonblocking(true)?;
    let presence = Presence::new(held.known().clone());
    let shared = Arc::new(Shared { host, presence });
    let mut server = Server {
        info,
        connections: BTreeMap::new(),
        next: 0,
        most: most_connections(),
        quick: Pool::start(2, 64, &shared, &wake)?,
        slow: Pool::start(1, 8, &shared, &wake)?,
        started: Instant::now(),
        requests: 0,
        active: Instant::now(),
        leaving: false,
        tick: TICK,
    };
    let rounds = start_rounds(&shared)?;
    let mut looked = Instant::now();
    while !server.leaving {
        server.turn(Some(&listener), signals, &wakes)?;
        if looked.elapsed() >= TICK {
            looked = Instant::now();
            if shared.presence.take_work() {
                server.active = looked;
            }
            server.leaving |= !shared.presence.has_store() || server.active.elapsed() >= idle;
        }
    }
    // From here on nobody finds us; what is in hand is finished, and then the lock goes.
    held.clean();
    drop(listener);
    shared.presence.leave();
    let until = Instant::now() + DRAIN_TIMEOUT;
    server.tick = DRAIN_INTERVAL;
    server
        .connections
        .retain(|_, connection| !connection.is_reading());
    while !(server.connections.is_empty() && rounds.is_finished()) && Instant::now() < until {
        server.turn(None, signals, &wakes)?;
    }
    Ok(())
}

/// Starts the thread of the program's own work, which ends when the worker leaves.
fn start_rounds(shared: &Arc<Shared>) -> io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    std::thread::Builder::new()
        .name("rounds".to_string())
        .spawn(move || shared.host.run_rounds(&shared.presence))
}

impl Server {
    /// Waits until something happens, and does what is to be done about it.
    fn turn(
        &mut self,
        listener: Option<&UnixListener>,
        mut signals: &UnixStream,
        mut wakes: &UnixStream,
    ) -> io::Result<()> {
        let (signaled, ready) = {
            let mut polled = vec![
                PollFd::new(signals.as_fd(), PollFlags::POLLIN),
                PollFd::new(wakes.as_fd(), PollFlags::POLLIN),
            ];
            if let Some(listener) = listener {
                polled.push(PollFd::new(listener.as_fd(), PollFlags::POLLIN));
            }
            let others = polled.len();
            let mut ids = Vec::new();
            for (id, connection) in &self.connections {
                if let Some(interest) = connection.interest() {
                    ids.push(*id);
                    polled.push(PollFd::new(connection.descriptor(), interest));
                }
            }
            let timeout = PollTimeout::try_from(self.patience()).unwrap_or(PollTimeout::ZERO);
            match poll(&mut polled, timeout) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            let is_ready = |polled: &PollFd<'_>| polled.any().unwrap_or(true);
            let ready = ids.into_iter().zip(&polled[others..]);
            let ready = ready.filter(|(_, polled)| is_ready(polled));
            (
                is_ready(&polled[0]),
                ready.map(|(id, _)| id).collect::<Vec<u64>>(),
            )
        };
        if signaled && signals.read(&mut [0; 64]).is_ok() {
            self.leaving = true;
        }
        while wakes.read(&mut [0; 256]).is_ok_and(|read| read > 0) {}
        for id in ready {
            self.look_at(id);
        }
        if let Some(listener) = listener {
            self.let_in(listener);
        }
        self.hand_on();
        let now = Instant::now();
        self.connections
            .retain(|_, connection| connection.until().is_none_or(|until| until > now));
        Ok(())
    }

    /// Returns the time until something has to be done.
    fn patience(&self) -> Duration {
        let soonest = self
            .connections
            .values()
            .filter_map(Connection::until)
            .min();
        let left = soonest.map(|until| until.saturating_duration_since(Instant::now()));
        // Rounded up, or the last millisecond would be spent asking.
        left.map_or(self.tick, |left| {
            self.tick.min(left + Duration::from_millis(1))
        })
    }

    /// Takes answers from the threads, and gives them what waits.
    fn hand_on(&mut self) {
        while let Some((id, answer)) = self.quick.finished().or_else(|| self.slow.finished()) {
            self.active = Instant::now();
            self.answer(id, answer);
        }
        let connections = &self.connections;
        let is_gone = |id: u64| connections.get(&id).is_none_or(Connection::is_gone);
        let mut gone = self.quick.hand_out(is_gone);
        gone.extend(self.slow.hand_out(is_gone));
        for id in gone {
            self.connections.remove(&id);
        }
    }

    fn let_in(&mut self, listener: &UnixListener) {
        for _ in 0..MAX_CLIENTS_AT_ONCE {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // Others hold so many files that there is none left for us.
                Err(_) => {
                    if !self.drop_oldest() {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    return;
                }
            };
            if self.connections.len() >= self.most && !self.drop_oldest() {
                continue;
            }
            if let Some(connection) = Connection::new(stream) {
                let id = self.next;
                self.next += 1;
                self.connections.insert(id, connection);
                // Its request is there already, nearly always.
                self.look_at(id);
            }
        }
    }

    /// Drops the client that has been sending its request for the longest time.
    fn drop_oldest(&mut self) -> bool {
        let mut reading = self.connections.iter();
        let oldest = reading.find(|(_, connection)| connection.is_reading());
        let oldest = oldest.map(|(id, _)| *id);
        oldest.is_some_and(|id| self.connections.remove(&id).is_some())
    }

    fn look_at(&mut self, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        match connection.go_on() {
            Progress::Waits => {}
            Progress::Ends => {
                self.connections.remove(&id);
            }
            Progress::Errs(status) => self.answer(id, api::failure(status, "no valid request")),
            Progress::Asks(request) => self.route(id, request),
        }
    }

    fn route(&mut self, id: u64, request: Request) {
        self.requests += 1;
        let known = (request.method.as_str(), request.path.as_str());
        let pool = match known {
            // Answered here, so that it is even while all threads are at work.
            ("GET", "/health") => {
                let health = self.health();
                return self.answer(id, health);
            }
            ("POST", "/api/leave") => {
                self.leaving = true;
                return self.answer(id, response(200, br#"{"leaving":true}"#));
            }
            ("GET", "/api/search" | "/api/context") | ("POST", "/api/search") => &mut self.quick,
            ("POST", "/api/summarize") => &mut self.slow,
            (_, "/health" | "/api/leave" | "/api/search" | "/api/context" | "/api/summarize") => {
                return self.answer(id, api::failure(405, "this path has another method"));
            }
            _ => return self.answer(id, api::failure(404, "there is no such path")),
        };
        self.active = Instant::now();
        let process = self.connections.get(&id).map_or(0, Connection::process);
        if let Some(refused) = pool.wait(process, id, request) {
            self.answer(refused, api::failure(503, "too much to do"));
        }
    }

    fn answer(&mut self, id: u64, mut answer: Vec<u8>) {
        let outgoing = self.connections.values().map(Connection::outgoing);
        if outgoing.sum::<usize>() + answer.len() > MAX_OUTGOING_BYTES {
            answer = api::failure(503, "too many answers wait to be taken");
        }
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        if let Progress::Ends = connection.answer(answer) {
            self.connections.remove(&id);
        }
    }

    fn health(&self) -> Vec<u8> {
        let health = json!({
            "ok": true,
            "version": self.info.version,
            "pid": self.info.pid,
            "started_at": self.info.started_at,
            "uptime_seconds": self.started.elapsed().as_secs(),
            "requests": self.requests,
            "connections": self.connections.len(),
            "rss_bytes": resident_bytes(),
        });
        response(200, health.to_string().as_bytes())
    }
}

/// Returns the maximum number of clients, after asking the system for more files.
fn most_connections() -> usize {
    let wanted = MAX_CONNECTIONS + OTHER_FILES;
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return 64;
    };
    let files =
        if soft < wanted && setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard).is_ok() {
            wanted.min(hard)
        } else {
            soft
        };
    files.saturating_sub(OTHER_FILES).clamp(16, MAX_CONNECTIONS) as usize
}

/// Returns the worker's resident memory, where the system says.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
