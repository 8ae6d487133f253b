//! Threads that answer requests, a fixed number of them with a fixed number of requests that wait.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use super::api::Answers;
use super::http::Request;
use super::shared::Shared;

/// Threads and what waits for them.
pub(super) struct Pool {
    waiting: SyncSender<(u64, Request)>,
}

/// How finished answers come back to the loop: through a channel, and a byte that wakes it.
#[derive(Debug)]
pub(super) struct Returns {
    pub(super) finished: Sender<(u64, Vec<u8>)>,
    pub(super) wake: UnixStream,
}

impl Returns {
    pub(super) fn try_clone(&self) -> std::io::Result<Self> {
        Ok(Returns {
            finished: self.finished.clone(),
            wake: self.wake.try_clone()?,
        })
    }
}

impl Pool {
    /// Starts so many threads; at most `room` requests wait for them.
    pub(super) fn start(
        threads: usize,
        room: usize,
        shared: &Arc<Shared>,
        returns: &Returns,
    ) -> std::io::Result<Self> {
        let (waiting, requests) = sync_channel(room);
        let requests = Arc::new(Mutex::new(requests));
        for _ in 0..threads {
            let (requests, shared) = (Arc::clone(&requests), Arc::clone(shared));
            let returns = returns.try_clone()?;
            std::thread::Builder::new()
                .name("answers".to_string())
                .spawn(move || answer_all(&requests, &shared, &returns))?;
        }
        Ok(Pool { waiting })
    }

    /// Lets a request of a connection be answered; gives back whether there is room for it.
    pub(super) fn take(&self, connection: u64, request: Request) -> bool {
        self.waiting.try_send((connection, request)).is_ok()
    }
}

fn answer_all(requests: &Mutex<Receiver<(u64, Request)>>, shared: &Shared, returns: &Returns) {
    let mut answers = Answers::new(shared);
    loop {
        let next = requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok((connection, request)) = next else {
            return;
        };
        let answer = answers.answer(&request);
        if returns.finished.send((connection, answer)).is_err() {
            return;
        }
        // When no byte can be added there are enough of them to wake anybody.
        let _ = (&returns.wake).write(&[0]);
    }
}
