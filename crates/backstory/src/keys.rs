//! Answers of a person: single keys on a terminal, lines otherwise.

use std::io::{BufRead, BufReader, Read, Stdin};

#[cfg(unix)]
use self::terminal::KeyReader;

/// Maximum length of an answer in bytes; the rest counts as the next one.
const MAX_ANSWER_BYTES: u64 = 256;

/// Source of answers.
pub(crate) enum Answers {
    /// Keys of a terminal.
    #[cfg(unix)]
    Keys(KeyReader),
    /// Lines of standard input.
    Lines(BufReader<Stdin>),
}

impl Answers {
    /// Opens the answers of standard input. Its terminal, if it is one and keys are wanted, is restored when this is dropped.
    pub(crate) fn open(is_by_key: bool) -> Self {
        #[cfg(unix)]
        if is_by_key && let Ok(keys) = KeyReader::open() {
            return Answers::Keys(keys);
        }
        #[cfg(not(unix))]
        let _ = is_by_key;
        Answers::Lines(BufReader::new(std::io::stdin()))
    }

    /// Returns the next answer in lower case, a key as one character and Enter as an empty text; `None` at the end of input and when
    /// the process is to end.
    pub(crate) fn next_answer(&mut self) -> std::io::Result<Option<String>> {
        match self {
            #[cfg(unix)]
            Answers::Keys(keys) => keys.next_key(),
            Answers::Lines(lines) => next_line(lines),
        }
    }
}

fn next_line(lines: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut line = Vec::new();
    lines
        .by_ref()
        .take(MAX_ANSWER_BYTES)
        .read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    Ok(Some(
        String::from_utf8_lossy(&line).trim().to_ascii_lowercase(),
    ))
}

#[cfg(unix)]
mod terminal {
    use std::collections::VecDeque;
    use std::io::stdin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
    use signal_hook::SigId;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    const ESCAPE: u8 = 0x1b;
    /// Ctrl-C and Ctrl-D.
    const END_KEYS: [u8; 2] = [0x03, 0x04];

    /// Reader of single keys, without Enter and without echo.
    pub(crate) struct KeyReader {
        before: Termios,
        waiting: VecDeque<u8>,
        /// True once a signal asked the process to end: the terminal must be restored first.
        is_to_end: Arc<AtomicBool>,
        signals: Vec<SigId>,
    }

    impl KeyReader {
        pub(super) fn open() -> std::io::Result<Self> {
            let before = tcgetattr(stdin())?;
            let mut reader = KeyReader {
                before: before.clone(),
                waiting: VecDeque::new(),
                is_to_end: Arc::default(),
                signals: Vec::new(),
            };
            for signal in [SIGHUP, SIGINT, SIGTERM] {
                let flag = Arc::clone(&reader.is_to_end);
                reader
                    .signals
                    .push(signal_hook::flag::register(signal, flag)?);
            }
            let mut modes = before;
            // Ctrl-C must come as a key: it ends the review like `q`.
            modes
                .local_modes
                .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
            tcsetattr(stdin(), OptionalActions::Now, &modes)?;
            Ok(reader)
        }

        pub(super) fn next_key(&mut self) -> std::io::Result<Option<String>> {
            loop {
                while let Some(key) = self.waiting.pop_front() {
                    match key {
                        b'\r' | b'\n' => return Ok(Some(String::new())),
                        key if END_KEYS.contains(&key) => return Ok(None),
                        b' '..=b'~' => {
                            let key = char::from(key).to_ascii_lowercase();
                            return Ok(Some(key.to_string()));
                        }
                        // An arrow or another key that is none of ours.
                        ESCAPE => self.drop_sequence(),
                        _ => {}
                    }
                }
                if self.is_to_end.load(Ordering::Relaxed) || !self.read_keys()? {
                    return Ok(None);
                }
            }
        }

        /// Drops what a terminal sends behind Escape for a key: `[` or `O`, parameters, a last byte.
        fn drop_sequence(&mut self) {
            if matches!(self.waiting.front(), Some(b'[' | b'O')) {
                self.waiting.pop_front();
                while let Some(key) = self.waiting.pop_front() {
                    if matches!(key, b'@'..=b'~') {
                        return;
                    }
                }
            }
        }

        /// Waits for keys; false at the end of input.
        fn read_keys(&mut self) -> std::io::Result<bool> {
            let input = stdin();
            // Unlike a read, this is not taken up again behind a signal.
            match poll(&mut [PollFd::new(&input, PollFlags::IN)], None) {
                Err(Errno::INTR) => return Ok(true),
                polled => polled?,
            };
            let mut keys = [0; 64];
            match rustix::io::read(&input, &mut keys) {
                Err(Errno::INTR | Errno::AGAIN) => Ok(true),
                // The terminal is gone.
                Ok(0) | Err(Errno::IO) => Ok(false),
                Err(error) => Err(error.into()),
                Ok(count) => {
                    self.waiting.extend(&keys[..count]);
                    Ok(true)
                }
            }
        }
    }

    impl Drop for KeyReader {
        fn drop(&mut self) {
            // A terminal that is gone needs no restoring.
            let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
            for signal in self.signals.drain(..) {
                signal_hook::low_level::unregister(signal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_to_their_end_and_no_further_than_an_answer_is_long() {
        let endless = "x".repeat(300);
        let text = format!("Y\r\n\n \u{1b}[31m\n{endless}\nq");
        let mut input = text.as_bytes();
        let mut answers = Vec::new();
        while let Some(answer) = next_line(&mut input).unwrap() {
            answers.push(answer);
        }
        assert_eq!(answers.len(), 6);
        assert_eq!((&*answers[0], &*answers[1], &*answers[5]), ("y", "", "q"));
    }
}
