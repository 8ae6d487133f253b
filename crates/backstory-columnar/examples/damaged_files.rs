//! Damages session files and Parquet files, and does with each what the commands do: show, read, add to. A process that ends early is
//! started again behind the file that it ended with. Reported are those files, and those that take more than the limits of time and memory.
//!
//! ```text
//! python crates/backstory-columnar/tests/damage_seeds.py SEEDS
//! cargo build --release -p backstory-columnar --features fuzzing --example damaged_files
//! (ulimit -v 2000000; target/release/examples/damaged_files SEEDS 0 100000)
//! target/release/examples/damaged_files SEEDS write 4711 FILE     the damaged file of a number
//! ```
//!
//! SEEDS has `.h5` and `.parquet` files; `seeds` in place of a number adds those that we write.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::panic, clippy::exit)]

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use backstory_agents::sample;
use backstory_columnar::{
    Artifact, LogFile, Message, SessionColumns, SessionFile, Table, TableOptions, ToolCall,
    WriteOptions, export_table, find_sealed_blocks, inspect_table, reseal_blocks, reseal_checksums,
    unpack_logs, write_sessions,
};
use backstory_memory::{
    ImportOptions, LogMemory, SessionFilter, Sources, TemporaryFolder, TimeMs, read_logs,
};

/// Processor time that a file may take.
const MAX_SECONDS: f64 = 2.0;
/// Memory that a process may have while it has a file, MiB.
const MAX_MEBIBYTES: u64 = 300;
/// Time without progress after which a process is ended.
const HANG_SECONDS: u64 = 60;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [seeds, "seeds"] => write_seeds(Path::new(seeds)),
        [seeds, "write", number, file] => {
            let (_, bytes) = Seeds::read(Path::new(seeds)).damage(number.parse().unwrap());
            std::fs::write(file, bytes).unwrap();
        }
        [seeds, "work", first, end] => {
            work(
                Path::new(seeds),
                first.parse().unwrap()..end.parse().unwrap(),
            );
        }
        [seeds, first, count] => {
            let first: u64 = first.parse().unwrap();
            supervise(seeds, first..first + count.parse::<u64>().unwrap());
        }
        _ => println!("usage: damaged_files SEEDS FIRST COUNT"),
    }
}

/// Runs processes that work through the numbers.
fn supervise(seeds: &str, numbers: Range<u64>) {
    let mut next = numbers.start;
    let (mut ended_early, mut over_limits, mut accepted) = (0, 0, 0);
    let (mut most_seconds, mut most_mebibytes) = (0.0_f64, 0);
    while next < numbers.end {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([seeds, "work", &next.to_string(), &numbers.end.to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
        let mut seed = String::new();
        for line in lines.map_while(Result::ok) {
            let parts: Vec<&str> = line.split(' ').collect();
            match parts[..] {
                ["begin", number, name] => {
                    next = number.parse().unwrap();
                    seed = name.to_string();
                }
                ["end", seconds, mebibytes, is_accepted] => {
                    let (seconds, mebibytes): (f64, u64) =
                        (seconds.parse().unwrap(), mebibytes.parse().unwrap());
                    accepted += u64::from(is_accepted == "true");
                    let is_record = seconds > most_seconds || mebibytes > most_mebibytes;
                    most_seconds = most_seconds.max(seconds);
                    most_mebibytes = most_mebibytes.max(mebibytes);
                    let is_over = seconds > MAX_SECONDS || mebibytes > MAX_MEBIBYTES;
                    over_limits += u64::from(is_over);
                    if is_over || is_record {
                        println!("{next} of {seed}: {seconds:.2} s, {mebibytes} MiB");
                    }
                    next += 1;
                    if next.is_multiple_of(1000) {
                        println!(
                            "{next}: {accepted} read whole, {ended_early} ended early, {over_limits} over the limits, at most {most_seconds:.2} s and {most_mebibytes} MiB"
                        );
                    }
                }
                _ => {}
            }
        }
        let output = child.wait_with_output().unwrap();
        if !output.status.success() {
            ended_early += 1;
            let error = String::from_utf8_lossy(&output.stderr);
            let error: Vec<&str> = error.lines().take(4).collect();
            println!("{next} of {seed}: {}: {}", output.status, error.join(" | "));
            next += 1;
        }
    }
    println!(
        "{} files: {accepted} read whole, {ended_early} ended early, {over_limits} over the limits, at most {most_seconds:.2} s and {most_mebibytes} MiB",
        numbers.end - numbers.start
    );
}

/// Works through the numbers, and says on standard output where it is.
fn work(seeds: &Path, numbers: Range<u64>) {
    static CURRENT: AtomicU64 = AtomicU64::new(0);
    std::thread::spawn(|| {
        loop {
            let before = CURRENT.load(Ordering::Relaxed);
            std::thread::sleep(Duration::from_secs(HANG_SECONDS));
            if CURRENT.load(Ordering::Relaxed) == before {
                std::process::exit(3);
            }
        }
    });
    let seeds = Seeds::read(seeds);
    let folder = TemporaryFolder::create(&std::env::temp_dir()).unwrap();
    let memory = sample_memory(folder.path());
    for number in numbers {
        CURRENT.store(number + 1, Ordering::Relaxed);
        let (seed, bytes) = seeds.damage(number);
        println!("begin {number} {}", seed.name);
        let file = folder.path().join(&seed.name);
        std::fs::write(&file, bytes).unwrap();
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let start = processor_seconds();
        let is_accepted = match seed.table {
            Some(table) => use_table(&file, table, &memory),
            None => use_session_file(&file, folder.path()),
        };
        let seconds = processor_seconds() - start;
        println!("end {seconds} {} {is_accepted}", peak_mebibytes());
    }
}

/// Does what commands do with an HDF5 file; returns whether all of it was read.
fn use_session_file(path: &Path, folder: &Path) -> bool {
    let is_read = read_session_file(path).is_ok();
    let logs = folder.join("logs");
    std::fs::create_dir_all(&logs).unwrap();
    let is_unpacked = unpack_logs(path, &logs).is_ok();
    std::fs::remove_dir_all(&logs).unwrap();
    let added = ["s", "added"].map(|id| {
        Ok(SessionColumns {
            messages: vec![message(0), message(1000)],
            ..session(id, 0)
        })
    });
    if write_sessions(path, "damaged_files", added, &WriteOptions::default()).is_ok() {
        let file = SessionFile::open(path).unwrap();
        let read = file.session("added").unwrap().read().unwrap();
        assert_eq!(read.messages.len(), 2, "what was added is there");
    }
    is_read && is_unpacked
}

fn read_session_file(path: &Path) -> backstory_columnar::Result<()> {
    let file = SessionFile::open(path)?;
    file.repeats_usage()?;
    let mut failed = None;
    let listed = file.session_ids().and_then(|_| file.sessions());
    failed = failed.or(listed.err());
    for session in file.all_sessions()? {
        let read = session
            .tail(5)
            .and_then(|_| session.summary())
            .and_then(|_| session.read())
            .map(|_| ());
        failed = failed.or(read.err());
    }
    failed.map_or(Ok(()), Err)
}

/// Does what commands do with a Parquet file; returns whether it was read.
fn use_table(path: &Path, table: Table, memory: &LogMemory) -> bool {
    let is_read = inspect_table(path).is_ok();
    let sessions = memory.sessions().list(&SessionFilter::default()).unwrap();
    let options = TableOptions::new(TimeMs::new(1_900_000_000_000));
    let written = export_table(memory, &sessions, table, path, &options, &mut |_| {});
    if written.is_ok() {
        inspect_table(path).unwrap();
    }
    is_read
}

/// Sessions that the seeds do not have.
fn sample_memory(folder: &Path) -> LogMemory {
    write_logs(folder, 3);
    logs_memory(folder)
}

fn write_logs(folder: &Path, seed: u64) {
    for file in sample::logs(seed, 30_000) {
        let path = folder.join("logs-to-add").join(&file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &file.bytes).unwrap();
    }
}

fn logs_memory(folder: &Path) -> LogMemory {
    let options = ImportOptions::new(Sources::paths([folder.join("logs-to-add")]));
    read_logs(folder, None, &options, &mut |_| {}).unwrap()
}

/// Seconds of processor time of this thread.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text
        .split(' ')
        .next()
        .and_then(|number| number.parse::<f64>().ok());
    first.unwrap_or_default() / 1e9
}

fn peak_mebibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kibibytes
        .and_then(|number| number.parse::<u64>().ok())
        .unwrap_or_default()
        / 1024
}

/// Undamaged file.
struct Seed {
    name: String,
    table: Option<Table>,
    bytes: Vec<u8>,
    blocks: Vec<Range<usize>>,
    /// Places in structures, where damage matters most.
    structures: Vec<Range<usize>>,
}

struct Seeds(Vec<Seed>);

impl Seeds {
    fn read(folder: &Path) -> Seeds {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        Seeds(paths.iter().filter_map(|path| Seed::read(path)).collect())
    }

    /// Returns the damaged file of a number, and what it was before.
    fn damage(&self, number: u64) -> (&Seed, Vec<u8>) {
        let seed = &self.0[(number % self.0.len() as u64) as usize];
        (seed, seed.damage(number))
    }
}

impl Seed {
    fn read(path: &Path) -> Option<Seed> {
        let name = path.file_name()?.to_str()?.to_string();
        let bytes = std::fs::read(path).unwrap();
        if let Some(name_of_table) = name.strip_suffix(".parquet") {
            let table = Table::from_name(name_of_table).unwrap();
            let tail = bytes[bytes.len() - 8..].first_chunk().unwrap();
            let footer = u32::from_le_bytes(*tail) as usize + 8;
            let footer = bytes.len() - footer..bytes.len();
            return Some(Seed {
                name,
                table: Some(table),
                bytes,
                blocks: Vec::new(),
                structures: Vec::from([footer]),
            });
        }
        name.strip_suffix(".h5")?;
        let blocks = find_sealed_blocks(&bytes);
        let mut structures = blocks.clone();
        for signature in [b"TREE", b"SNOD", b"HEAP", b"GCOL"] {
            let starts = bytes
                .windows(4)
                .enumerate()
                .filter(|(_, four)| *four == signature);
            structures.extend(starts.map(|(start, _)| start..bytes.len().min(start + 256)));
        }
        // Object headers of version 1 have no signature: the first block of a file has most of them, and each a zero behind the version.
        let is_first_version =
            |start: &usize| bytes[*start..].starts_with(&[1, 0]) && start.is_multiple_of(8);
        let headers = (96..bytes.len() - 64).filter(is_first_version);
        structures.extend(headers.map(|start| start..start + 64));
        Some(Seed {
            name,
            table: None,
            bytes,
            blocks,
            structures,
        })
    }

    fn damage(&self, number: u64) -> Vec<u8> {
        let mut random = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            random.below(2);
        }
        let mut bytes = self.bytes.clone();
        for _ in 0..=random.below(4) {
            self.change(&mut bytes, &mut random);
        }
        if random.below(20) == 0 {
            bytes.truncate(random.below(self.bytes.len()));
        }
        if self.table.is_none() && random.below(5) > 0 {
            reseal_blocks(&mut bytes, &self.blocks);
            reseal_checksums(&mut bytes);
        }
        bytes
    }

    fn change(&self, bytes: &mut [u8], random: &mut Random) {
        let place = match random.below(4) {
            0 => random.below(bytes.len()),
            _ => {
                let range = self.structures[random.below(self.structures.len())].clone();
                range.start + random.below(range.len())
            }
        };
        let number = random.number(bytes);
        let bits = 1 << random.below(8);
        let width = [1, 1, 2, 4, 8][random.below(5)];
        let Some(target) = bytes.get_mut(place..place + width) else {
            return;
        };
        match random.below(4) {
            0 => target[0] ^= bits,
            1 => target[0] = target[0].wrapping_add([1, 255][random.below(2)]),
            2 => {
                // A number of eight bytes that stands elsewhere, such as the address of another object.
                let from = random.below(self.bytes.len() - 8);
                target.copy_from_slice(&self.bytes[from..from + width]);
            }
            _ => target.copy_from_slice(&number.to_le_bytes()[..width]),
        }
    }
}

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    /// A number that readers may not expect.
    fn number(&mut self, bytes: &[u8]) -> u64 {
        let length = bytes.len() as u64;
        match self.below(6) {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << self.below(64),
            3 => (1 << self.below(64)) - 1,
            4 => length - self.below(64) as u64,
            _ => self.below(bytes.len()) as u64,
        }
    }
}

fn message(number: u32) -> Message {
    Message {
        seq: number + 1,
        uuid: format!("u{number}"),
        kind: "user".into(),
        role: "user".into(),
        text: format!("text {number}"),
        json: format!("\"text {number}\""),
        timestamp: f64::from(number),
        embedding: (number < 1000).then(|| vec![1.0, 2.0, 3.0]),
        ..Message::default()
    }
}

fn session(id: &str, rows: u32) -> SessionColumns {
    SessionColumns {
        id: id.into(),
        messages: (0..rows).map(message).collect(),
        tool_calls: vec![
            ToolCall {
                tool_use_id: "call".into(),
                args: "{}".into(),
                ..ToolCall::default()
            };
            rows as usize / 10
        ],
        artifacts: vec![Artifact {
            name: "a".into(),
            bytes: vec![7; 30],
            ..Artifact::default()
        }],
        logs: vec![LogFile {
            path: "log".into(),
            agent: "toy".into(),
            bytes: b"{\"text\":1}\n".repeat(20),
            rows: vec![(0, 0), (11, 1)],
        }],
        ..SessionColumns::default()
    }
}

/// Writes seeds of our own: few and many sessions, and tables.
fn write_seeds(folder: &Path) {
    let write = |name: &str, sessions: Vec<SessionColumns>| {
        let path = folder.join(name);
        let _ = std::fs::remove_file(&path);
        let sessions = sessions.into_iter().map(Ok);
        write_sessions(&path, "damaged_files", sessions, &WriteOptions::default()).unwrap();
    };
    write("ours.h5", vec![session("s", 80), session("t", 2)]);
    let many = (0..40).map(|number| session(&format!("session-{number}"), 2));
    write("ours-many.h5", many.collect());
    write("ours-long.h5", vec![session("s", 1500)]);
    let work = TemporaryFolder::create(&std::env::temp_dir()).unwrap();
    write_logs(work.path(), 7);
    let memory = logs_memory(work.path());
    let sessions = memory.sessions().list(&SessionFilter::default()).unwrap();
    let options = TableOptions::new(TimeMs::new(1_900_000_000_000));
    for table in Table::ALL {
        let path = folder.join(format!("{}.parquet", table.name()));
        let _ = std::fs::remove_file(&path);
        export_table(&memory, &sessions, table, &path, &options, &mut |_| {}).unwrap();
    }
}
