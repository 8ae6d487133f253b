//! Cutting files into chunks of whole records.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::mpsc;

use backstory_agents::{MAX_RECORD_BYTES, Shape, SourceName};
use backstory_event::StreamId;
use backstory_store::{BLOCK_BYTES, Cursor};
use memchr::{memchr, memrchr};

use super::content::{ContentHasher, skip_hole};
use super::fragments::OpenTexts;
use super::work::{Baton, Task};
use super::{Budget, Job};
use crate::import::discover::{Found, Problem, fingerprint};
use crate::trusted::open_log;

/// Bytes at the beginning of a file, and before the cursor, that are hashed to recognise it.
const MARK_BYTES: u64 = 4096;

/// Of a file that has grown this much is compared with what was read before, which takes a fraction of a millisecond. More is
/// compared only when the file may have been replaced.
const MAX_COMPARED_GROWN_BYTES: u64 = 1 << 20;

/// Limits for what a compressed log expands to. Memory is bounded without them, for logs are read piece by piece: they bound the time
/// and the room that a small file can take. Honest logs that repeat themselves expand to hundreds of times their size, zeros to 32,000.
const MAX_EXPANSION_FACTOR: u64 = 10_000;
const EXPANSION_ALLOWANCE_BYTES: u64 = 16 << 20;
const MAX_EXPANDED_BYTES: u64 = 4 << 30;

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

/// Reason why a file is not read further.
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
        let content = match &job.cursor {
            Some(cursor) => source.resume(cursor)?,
            None => None,
        };
        let resumed = content.is_some();
        let mut file = Following::start(job, content, source.fingerprint);
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
                let length = source.skip_record(&mut buffer, &mut file.content)?;
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
        source.check_end()?;
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
        source.check_end()?;
        let head = (bytes.len() as u64, *blake3::hash(&bytes).as_bytes());
        let same = job
            .cursor
            .as_ref()
            .is_some_and(|cursor| cursor.head == head);
        // The hash of its beginning is that of all of it.
        let content = same.then(ContentHasher::default);
        let mut file = Following::start(job, content, source.fingerprint);
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
        file.content.update(&bytes);
        file.cursor.content_hash = Some(file.content.value());
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
    /// Hash of all that is before the cursor.
    content: ContentHasher,
    baton: mpsc::Receiver<Baton>,
}

impl<'a> Following<'a> {
    /// Begins a file, or goes on with one of which what was read before has this hash.
    fn start(
        job: &'a Job<'a>,
        content: Option<ContentHasher>,
        fingerprint: backstory_store::Fingerprint,
    ) -> Self {
        let found = job.found;
        let resumed = content.is_some();
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
                content_hash: None,
                lines: 0,
                state: String::new(),
                stream: StreamId::default(),
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
            content: content.unwrap_or_default(),
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
    /// Why a compressed file is not read to its end. What comes before is read.
    broken: Option<String>,
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
            let left = fingerprint
                .size
                .saturating_mul(MAX_EXPANSION_FACTOR)
                .saturating_add(EXPANSION_ALLOWANCE_BYTES)
                .min(MAX_EXPANDED_BYTES);
            Input::Compressed { decoder, left }
        } else {
            Input::Plain(file)
        };
        Ok(Source {
            input,
            fingerprint,
            ahead: Vec::new(),
            broken: None,
        })
    }

    /// Goes to the cursor if the file is still the one that was read up to there; returns the hash of what was read then.
    fn resume(&mut self, cursor: &Cursor) -> Result<Option<ContentHasher>, Stop> {
        match &mut self.input {
            Input::Plain(file) => resume_plain(file, cursor, &self.fingerprint),
            Input::Compressed { .. } => self.resume_compressed(cursor),
        }
    }

    /// The bytes before the cursor must be decompressed anyway, so all of them are compared.
    fn resume_compressed(&mut self, cursor: &Cursor) -> Result<Option<ContentHasher>, Stop> {
        let (head_length, head_hash) = cursor.head;
        let (tail_length, tail_hash) = cursor.tail;
        let mut read = Vec::new();
        self.fill(&mut read, head_length as usize)?;
        if (read.len() as u64) < head_length {
            self.check_end()?;
        }
        if *blake3::hash(&read).as_bytes() != head_hash {
            return Ok(None);
        }
        // The mark may reach beyond the cursor.
        let at_cursor = (read.len() as u64).min(cursor.offset);
        self.ahead = read.split_off(at_cursor as usize);
        let mut content = ContentHasher::default();
        content.update(&read);
        let mut passed = at_cursor;
        while passed < cursor.offset {
            // Only what lies right before the cursor is needed of what is passed.
            let keep = read.len().saturating_sub(MARK_BYTES as usize);
            read.drain(..keep);
            let before = read.len();
            let wanted = before + ((cursor.offset - passed) as usize).min(BLOCK_BYTES);
            self.fill(&mut read, wanted)?;
            if read.len() == before {
                // What was read of it before is not thrown away for what may be mended.
                self.check_end()?;
                return Ok(None);
            }
            content.update(&read[before..]);
            passed += (read.len() - before) as u64;
        }
        let same = match cursor.content_hash {
            Some(hash) => content.value() == hash,
            None => {
                let tail = &read[read.len().saturating_sub(tail_length as usize)..];
                tail_length == 0 || *blake3::hash(tail).as_bytes() == tail_hash
            }
        };
        Ok(same.then_some(content))
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

    /// The reason why a file was not read to its end, once nothing more comes.
    fn check_end(&self) -> Result<(), Stop> {
        match &self.broken {
            Some(reason) => Err(Stop::Problem(reason.clone())),
            None => Ok(()),
        }
    }

    /// Reads until the buffer holds `wanted` bytes; false when the file ends before, or cannot be read further.
    fn fill(&mut self, buffer: &mut Vec<u8>, wanted: usize) -> Result<bool, Stop> {
        buffer.append(&mut self.ahead);
        let missing = wanted.saturating_sub(buffer.len());
        buffer.reserve_exact(missing);
        let read = match &mut self.input {
            Input::Plain(file) => file.take(missing as u64).read_to_end(buffer)?,
            Input::Compressed { decoder, left } => {
                let before = buffer.len();
                // One byte more tells that there is more.
                let wanted = left.saturating_add(1).min(missing as u64);
                if self.broken.is_none()
                    && let Err(error) = decoder.take(wanted).read_to_end(buffer)
                {
                    let reason = format!("it cannot be decompressed to its end: {error}");
                    self.broken = Some(reason);
                }
                let read = (buffer.len() - before) as u64;
                if read > *left {
                    self.broken = Some(expansion_problem());
                    buffer.truncate(before + *left as usize);
                }
                *left = left.saturating_sub(read);
                buffer.len() - before
            }
        };
        Ok(read == missing)
    }

    /// Passes over a record that is too long to keep, up to and with its newline. Returns its length.
    fn skip_record(
        &mut self,
        buffer: &mut Vec<u8>,
        content: &mut ContentHasher,
    ) -> Result<u64, Stop> {
        let mut length = 0;
        loop {
            if let Some(newline) = memchr(b'\n', buffer) {
                content.update(&buffer[..=newline]);
                buffer.drain(..=newline);
                return Ok(length + newline as u64 + 1);
            }
            content.update(buffer);
            length += buffer.len() as u64;
            if let Input::Plain(file) = &mut self.input {
                // What a crash left of a file can be a hole of any size.
                let zeros = skip_hole(file, u64::MAX)?;
                content.update_zeros(zeros);
                length += zeros;
            }
            buffer.clear();
            buffer.shrink_to(BLOCK_BYTES);
            if !self.fill(buffer, BLOCK_BYTES)? && buffer.is_empty() {
                return Ok(length);
            }
        }
    }
}

fn expansion_problem() -> String {
    format!(
        "read only in part: a compressed log may expand to {MAX_EXPANSION_FACTOR} times its size and {} MiB more, at most to {} GiB; \
         decompress it, and it is read whole",
        EXPANSION_ALLOWANCE_BYTES >> 20,
        MAX_EXPANDED_BYTES >> 30
    )
}

/// Goes to the cursor if the file is still the one that was read up to there; returns the hash of what was read then.
///
/// A file whose times or inode changed, but that did not grow, is compared as a whole. One that has grown is compared as a whole
/// when it is short or another inode; else by its first and last bytes before the cursor, for logs are appended to.
fn resume_plain(
    file: &mut File,
    cursor: &Cursor,
    now: &backstory_store::Fingerprint,
) -> Result<Option<ContentHasher>, Stop> {
    let (head_length, head_hash) = cursor.head;
    let (tail_length, tail_hash) = cursor.tail;
    if now.size < cursor.offset || mark(file, 0, head_length)? != head_hash {
        return Ok(None);
    }
    let tail_start = cursor.offset - tail_length.min(cursor.offset);
    if tail_length > 0 && mark(file, tail_start, tail_length)? != tail_hash {
        return Ok(None);
    }
    let before = &cursor.fingerprint;
    let has_grown = now.size > before.size;
    let compares_all = match has_grown {
        true => before.inode != now.inode || cursor.offset <= MAX_COMPARED_GROWN_BYTES,
        false => !before.has_same_times(now),
    };
    let content = match cursor.content_hash {
        Some(hash) if compares_all => {
            let content = ContentHasher::of_file(file, cursor.offset)?;
            content.filter(|content| content.value() == hash)
        }
        Some(hash) => {
            let length = ContentHasher::rest_length(cursor.offset);
            let mut rest = Vec::new();
            file.seek(SeekFrom::Start(cursor.offset - length))?;
            file.take(length).read_to_end(&mut rest)?;
            ContentHasher::resume(&hash, &rest)
        }
        // An older version read it.
        None => ContentHasher::of_file(file, cursor.offset)?,
    };
    file.seek(SeekFrom::Start(cursor.offset))?;
    Ok(content)
}

fn mark(file: &mut File, at: u64, length: u64) -> Result<[u8; 32], Stop> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at))?;
    file.take(length).read_to_end(&mut bytes)?;
    Ok(*blake3::hash(&bytes).as_bytes())
}

/// Returns whether these bytes are one complete JSON object: nothing that follows can change it, so it need not wait for its newline.
fn is_whole_object(bytes: &[u8]) -> bool {
    bytes.first() == Some(&b'{') && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}
