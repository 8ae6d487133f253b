//! Cutting files into chunks of whole records.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::mpsc;

use backstory_session::{MAX_RECORD_BYTES, Shape, SourceName};
use backstory_store::{BLOCK_BYTES, Cursor};
use memchr::{memchr, memrchr};

use super::fragments::OpenTexts;
use super::work::{Baton, Task};
use super::{Budget, Job};
use crate::discover::{Found, Problem, fingerprint};
use crate::trusted::open_log;

/// How much of the beginning of a file, and of what lies before the cursor, is hashed to know it again.
const MARK_BYTES: u64 = 4096;

/// A compressed log may grow to so many times its size, and a bit: more is a bomb.
const MOST_EXPANSION: u64 = 24;
const EXPANSION_ALLOWANCE: u64 = 16 << 20;

/// Reads all files in order and sends their chunks.
pub(super) fn feed<'a>(
    jobs: &'a [Job<'a>],
    budget: &Budget,
    tasks: mpsc::SyncSender<Task<'a>>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut feeder = Feeder {
        budget,
        tasks,
        number: 0,
    };
    for job in jobs {
        match feeder.file(job) {
            Ok(()) => {}
            Err(Stop::Problem(reason)) => problems.push(Problem {
                path: job.found.shown_path(),
                reason,
            }),
            Err(Stop::Closed) => break,
        }
    }
    problems
}

/// Why a file is not read further.
enum Stop {
    /// It cannot be.
    Problem(String),
    /// Nobody listens any more.
    Closed,
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Stop::Problem(error.to_string())
    }
}

struct Feeder<'a, 'b> {
    budget: &'b Budget,
    tasks: mpsc::SyncSender<Task<'a>>,
    number: u64,
}

impl<'a> Feeder<'a, '_> {
    fn file(&mut self, job: &'a Job<'a>) -> Result<(), Stop> {
        match job.found.shape {
            Shape::Lines => self.lines(job),
            Shape::Document => self.document(job),
        }
    }

    fn lines(&mut self, job: &'a Job<'a>) -> Result<(), Stop> {
        let mut source = Source::open(job.found)?;
        let resumed = match &job.cursor {
            Some(cursor) => source.resume(cursor)?,
            None => false,
        };
        let mut file = Following::start(job, resumed, source.fingerprint);
        if !resumed {
            if job.cursor.is_some() {
                source = Source::open(job.found)?;
            }
            file.cursor.head = source.head()?;
        }
        let mut buffer = Vec::new();
        let mut wanted = BLOCK_BYTES;
        loop {
            let more = source.fill(&mut buffer, wanted)?;
            let mut end = memrchr(b'\n', &buffer).map_or(0, |newline| newline + 1);
            // What the file ends with may have no newline yet: a whole object is a record, half of one waits.
            if !more && is_whole_object(&buffer[end..]) {
                end = buffer.len();
            }
            if end > 0 {
                let rest = buffer.split_off(end);
                let chunk = std::mem::replace(&mut buffer, rest);
                self.send(&mut file, chunk, 0, false)?;
                wanted = BLOCK_BYTES.max(buffer.len());
            } else if buffer.len() > MAX_RECORD_BYTES {
                let length = source.skip_record(&mut buffer)?;
                self.send(&mut file, Vec::new(), length, false)?;
                wanted = BLOCK_BYTES;
            } else {
                // A long record: read on until its end.
                wanted = buffer.len() + BLOCK_BYTES;
            }
            if !more && buffer.len() <= MAX_RECORD_BYTES {
                break;
            }
        }
        self.send(&mut file, Vec::new(), 0, true)
    }

    fn document(&mut self, job: &'a Job<'a>) -> Result<(), Stop> {
        let mut source = Source::open(job.found)?;
        let mut bytes = Vec::new();
        if source.fill(&mut bytes, MAX_RECORD_BYTES)? {
            return Err(Stop::Problem(format!(
                "a document of more than {} MiB",
                MAX_RECORD_BYTES >> 20
            )));
        }
        let head = (bytes.len() as u64, *blake3::hash(&bytes).as_bytes());
        let same = job
            .cursor
            .as_ref()
            .is_some_and(|cursor| cursor.head == head);
        let mut file = Following::start(job, same, source.fingerprint);
        file.cursor.head = head;
        if same {
            return self.send(&mut file, Vec::new(), 0, true);
        }
        self.send(&mut file, bytes, 0, true)
    }

    /// Sends one chunk. `skipped` is the length of a record that was too long to keep, which the chunk stands for then.
    fn send(
        &mut self,
        file: &mut Following<'a>,
        bytes: Vec<u8>,
        skipped: u64,
        last: bool,
    ) -> Result<(), Stop> {
        if !self.budget.take(bytes.len()) {
            return Err(Stop::Closed);
        }
        file.cursor.offset += bytes.len() as u64 + skipped;
        if !bytes.is_empty() {
            let mark = &bytes[bytes.len().saturating_sub(MARK_BYTES as usize)..];
            file.cursor.tail = (mark.len() as u64, *blake3::hash(mark).as_bytes());
        } else if skipped > 0 {
            file.cursor.tail = (0, [0; 32]);
        }
        let mut cursor = file.cursor.clone();
        if !last {
            // Not read to its end yet: should this be where the sweep is stopped, the file must not look unchanged.
            cursor.fingerprint = backstory_store::Fingerprint::default();
        }
        let (pass_on, next) = mpsc::channel();
        let task = Task {
            number: self.number,
            found: file.found,
            begins: std::mem::replace(&mut file.begins, false),
            last,
            bytes,
            skipped,
            cursor,
            baton: std::mem::replace(&mut file.baton, next),
            pass_on,
        };
        self.number += 1;
        self.tasks.send(task).map_err(|_| Stop::Closed)
    }
}

/// A file whose chunks are being sent.
struct Following<'a> {
    found: &'a Found,
    begins: bool,
    cursor: Cursor,
    baton: mpsc::Receiver<Baton>,
}

impl<'a> Following<'a> {
    fn start(job: &'a Job<'a>, resumed: bool, fingerprint: backstory_store::Fingerprint) -> Self {
        let found = job.found;
        let old = job.cursor.as_ref().filter(|_| resumed);
        let cursor = match old {
            Some(cursor) => Cursor {
                fingerprint,
                ..cursor.clone()
            },
            None => Cursor {
                source: 0,
                agent: found.agent().to_string(),
                fingerprint,
                head: (0, [0; 32]),
                tail: (0, [0; 32]),
                offset: 0,
                lines: 0,
                state: String::new(),
                stream: 0,
                stored: 0,
            },
        };
        let state = old.map(|cursor| cursor.state.as_str());
        let reading = found.reader.begin(
            &SourceName {
                path: Path::new(&found.key),
            },
            state,
        );
        let open_texts = match &job.stored_end {
            Some(end) if resumed => OpenTexts::at_end(found, end),
            _ => OpenTexts::default(),
        };
        let (sender, baton) = mpsc::channel();
        // The receiver is right here: this cannot fail.
        let _ = sender.send(Baton {
            reading,
            stored: cursor.stored,
            lines: cursor.lines,
            open_texts,
        });
        Following {
            found,
            begins: !resumed,
            cursor,
            baton,
        }
    }
}

/// An open source file, decompressed if need be.
struct Source {
    input: Input,
    fingerprint: backstory_store::Fingerprint,
    /// Bytes that were read ahead to make the mark of the beginning.
    ahead: Vec<u8>,
}

enum Input {
    Plain(File),
    Compressed {
        decoder: Box<zstd::stream::read::Decoder<'static, std::io::BufReader<File>>>,
        left: u64,
    },
}

impl Source {
    fn open(found: &Found) -> Result<Self, Stop> {
        let file = open_log(&found.path, found.origin)?;
        let metadata = file.metadata()?;
        // Taken before reading: what is appended meanwhile makes the file look changed next time.
        let fingerprint = fingerprint(&metadata);
        let input = if found
            .path
            .extension()
            .is_some_and(|extension| extension == "zst")
        {
            let decoder = Box::new(zstd::stream::read::Decoder::new(file)?);
            let left = fingerprint.size.saturating_mul(MOST_EXPANSION) + EXPANSION_ALLOWANCE;
            Input::Compressed { decoder, left }
        } else {
            Input::Plain(file)
        };
        Ok(Source {
            input,
            fingerprint,
            ahead: Vec::new(),
        })
    }

    /// Goes to the cursor if the file is still the one that was read up to there.
    fn resume(&mut self, cursor: &Cursor) -> Result<bool, Stop> {
        let (head_length, head_hash) = cursor.head;
        let (tail_length, tail_hash) = cursor.tail;
        if let Input::Plain(file) = &mut self.input {
            if self.fingerprint.size < cursor.offset {
                return Ok(false);
            }
            let head = mark(file, 0, head_length)?;
            let tail = mark(
                file,
                cursor.offset - tail_length.min(cursor.offset),
                tail_length,
            )?;
            file.seek(SeekFrom::Start(cursor.offset))?;
            return Ok(head == head_hash && (tail_length == 0 || tail == tail_hash));
        }
        let mut read = Vec::new();
        self.fill(&mut read, head_length as usize)?;
        let head = *blake3::hash(&read[..read.len().min(head_length as usize)]).as_bytes();
        let mut passed = read.len() as u64;
        while passed < cursor.offset {
            // Only what lies right before the cursor is needed of what is passed.
            let keep = read.len().saturating_sub(MARK_BYTES as usize);
            read.drain(..keep);
            let before = read.len();
            let wanted = before + ((cursor.offset - passed) as usize).min(BLOCK_BYTES);
            self.fill(&mut read, wanted)?;
            if read.len() == before {
                return Ok(false);
            }
            passed += (read.len() - before) as u64;
        }
        let tail =
            *blake3::hash(&read[read.len().saturating_sub(tail_length as usize)..]).as_bytes();
        Ok(head == head_hash && (tail_length == 0 || tail == tail_hash))
    }

    /// The mark of the beginning; what is read for it is given again by `fill`.
    fn head(&mut self) -> Result<(u64, [u8; 32]), Stop> {
        let mut head = Vec::new();
        self.fill(&mut head, MARK_BYTES as usize)?;
        let hash = *blake3::hash(&head).as_bytes();
        let length = head.len() as u64;
        self.ahead = head;
        Ok((length, hash))
    }

    /// Reads until the buffer holds `wanted` bytes; false when the file ends before.
    fn fill(&mut self, buffer: &mut Vec<u8>, wanted: usize) -> Result<bool, Stop> {
        buffer.append(&mut self.ahead);
        let missing = wanted.saturating_sub(buffer.len());
        buffer.reserve_exact(missing);
        let read = match &mut self.input {
            Input::Plain(file) => file.take(missing as u64).read_to_end(buffer)?,
            Input::Compressed { decoder, left } => {
                if (missing as u64) > *left {
                    return Err(Stop::Problem(format!(
                        "expands to more than {MOST_EXPANSION} times its size"
                    )));
                }
                let read = decoder.take(missing as u64).read_to_end(buffer)?;
                *left -= read as u64;
                read
            }
        };
        Ok(read == missing)
    }

    /// Passes over a record that is too long to keep, up to and with its newline. Returns its length.
    fn skip_record(&mut self, buffer: &mut Vec<u8>) -> Result<u64, Stop> {
        let mut length = 0;
        loop {
            if let Some(newline) = memchr(b'\n', buffer) {
                buffer.drain(..=newline);
                return Ok(length + newline as u64 + 1);
            }
            length += buffer.len() as u64;
            buffer.clear();
            buffer.shrink_to(BLOCK_BYTES);
            if !self.fill(buffer, BLOCK_BYTES)? && buffer.is_empty() {
                return Ok(length);
            }
        }
    }
}

fn mark(file: &mut File, at: u64, length: u64) -> Result<[u8; 32], Stop> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at))?;
    file.take(length).read_to_end(&mut bytes)?;
    Ok(*blake3::hash(&bytes).as_bytes())
}

/// Whether these bytes are one complete JSON object: nothing that follows can change it, so it need not wait for its newline.
fn is_whole_object(bytes: &[u8]) -> bool {
    bytes.first() == Some(&b'{') && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}
