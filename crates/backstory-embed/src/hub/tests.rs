use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use data_encoding::HEXLOWER;
use ring::digest;

use super::*;
use crate::Family;
use crate::tests::Folder;

/// What a server is asked.
#[derive(Debug, Clone, PartialEq)]
struct Request {
    path: String,
    /// From which byte on.
    from: Option<usize>,
}

/// What it answers.
#[derive(Default)]
struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// After how many bytes of the body the connection ends.
    cut: Option<usize>,
}

/// The answer of a server that knows ranges.
fn ranged(content: &[u8], request: &Request) -> Answer {
    let Some(from) = request.from else {
        return Answer {
            status: 200,
            body: content.to_vec(),
            ..Answer::default()
        };
    };
    if from >= content.len() {
        return Answer {
            status: 416,
            headers: vec![("Content-Range", format!("bytes */{}", content.len()))],
            ..Answer::default()
        };
    }
    let range = format!("bytes {from}-{}/{}", content.len() - 1, content.len());
    Answer {
        status: 206,
        headers: vec![("Content-Range", range)],
        body: content[from..].to_vec(),
        cut: None,
    }
}

/// A server that answers every request by a function, which is also told how many there were before. It lives until the tests end.
struct Server {
    url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    fn new(answer: impl Fn(&Request, usize) -> Answer + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = read(&stream) else {
                    continue;
                };
                let before = log.lock().unwrap().len();
                log.lock().unwrap().push(request.clone());
                write(&mut stream, &answer(&request, before));
            }
        });
        Server { url, requests }
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let mut from = None;
    for line in lines.take_while(|line| !line.is_empty()) {
        let line = line.to_ascii_lowercase();
        if let Some(range) = line.strip_prefix("range: bytes=") {
            from = range.trim_end_matches('-').parse().ok();
        }
    }
    Some(Request { path, from })
}

fn write(stream: &mut TcpStream, answer: &Answer) {
    let mut head = format!(
        "HTTP/1.1 {} X\r\nConnection: close\r\nContent-Length: {}\r\n",
        answer.status,
        answer.body.len()
    );
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let end = answer.cut.unwrap_or(answer.body.len());
    // The other side may be gone before it has read everything.
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(&answer.body[..end]);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.read_to_end(&mut Vec::new());
}

fn entry(files: &'static [HubFile]) -> Entry {
    Entry {
        name: "m",
        repository: "who/m",
        revision: "main",
        files,
        family: Family::Bert,
        dimensions: 1,
        licence: "MIT",
        description: "a test",
        megabytes: 1,
    }
}

const WEIGHTS: &[HubFile] = &[HubFile {
    name: "model.safetensors",
    sha256: None,
}];

fn pull(url: &str, files: &'static [HubFile], folder: &Folder) -> Result<()> {
    let agent = download::agent(None);
    let target = folder.path("m");
    pull_with(
        &agent,
        &entry(files),
        url,
        &target,
        &mut |_| {},
        Duration::from_millis(1),
    )
}

fn content() -> Vec<u8> {
    (0..100_000u32)
        .flat_map(|number| (number * 7).to_le_bytes())
        .collect()
}

fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn tagged(mut answer: Answer, checksum: &str) -> Answer {
    answer.headers.push(("ETag", format!("\"{checksum}\"")));
    answer
}

#[test]
fn fetches_every_file_once() {
    let other = Server::new(|request, _| {
        assert_eq!(request.path, "/blob?signature=1");
        tagged(ranged(&content(), request), &"0".repeat(64))
    });
    let blob = format!("{}/blob?signature=1", other.url);
    let server = Server::new(move |request, _| match request.path.as_str() {
        "/who/m/resolve/main/1_Pooling/config.json" => Answer {
            status: 307,
            headers: vec![("Location", "/cache/config.json".to_owned())],
            ..Answer::default()
        },
        // The name that Git gives to these bytes.
        "/cache/config.json" => tagged(
            ranged(b"hello\n", request),
            "ce013625030ba8dba906f756967f9e9ca394464a",
        ),
        "/who/m/resolve/main/model.safetensors" => Answer {
            status: 302,
            headers: vec![
                ("X-Linked-ETag", format!("\"{}\"", sha256(&content()))),
                ("Location", blob.clone()),
            ],
            ..Answer::default()
        },
        other => panic!("asked for {other}"),
    });
    let files: &[HubFile] = &[
        HubFile {
            name: "1_Pooling/config.json",
            sha256: None,
        },
        HubFile {
            name: "model.safetensors",
            sha256: None,
        },
    ];
    let folder = Folder::new();
    let mut last = Vec::new();
    let mut progress = |progress: Progress<'_>| {
        last.retain(|(file, _, _)| file != progress.file);
        last.push((progress.file.to_owned(), progress.done, progress.total));
    };
    let agent = download::agent(None);
    let target = folder.path("m");
    let entry = entry(files);
    pull_with(
        &agent,
        &entry,
        &server.url,
        &target,
        &mut progress,
        Duration::ZERO,
    )
    .unwrap();
    assert_eq!(
        fs::read(target.join("1_Pooling/config.json")).unwrap(),
        b"hello\n"
    );
    assert_eq!(
        fs::read(target.join("model.safetensors")).unwrap(),
        content()
    );
    let expected = [("1_Pooling/config.json", 6), ("model.safetensors", 400_000)];
    let expected = expected.map(|(name, size)| (name.to_owned(), size, Some(size)));
    assert_eq!(last, expected);
    assert!(!target.join("model.safetensors.part").exists());

    let asked = server.requests().len();
    pull_with(
        &agent,
        &entry,
        &server.url,
        &target,
        &mut |_| {},
        Duration::ZERO,
    )
    .unwrap();
    assert_eq!(server.requests().len(), asked);
}

#[test]
fn goes_on_after_an_interruption() {
    // Ends the connection more often on the way than it may without anything arriving.
    let server = Server::new(|request, before| {
        let mut answer = tagged(ranged(&content(), request), &sha256(&content()));
        answer.cut = (before < 7).then_some(answer.body.len() / 2);
        answer
    });
    let folder = Folder::new();
    pull(&server.url, WEIGHTS, &folder).unwrap();
    assert_eq!(
        fs::read(folder.path("m/model.safetensors")).unwrap(),
        content()
    );
    let starts: Vec<Option<usize>> = server
        .requests()
        .iter()
        .map(|request| request.from)
        .collect();
    assert_eq!(starts.len(), 8);
    assert_eq!(starts[..3], [None, Some(200_000), Some(300_000)]);
}

#[test]
fn goes_on_from_an_earlier_run() {
    let server = Server::new(|request, _| tagged(ranged(&content(), request), &sha256(&content())));
    let folder = Folder::new();
    folder.write("m/model.safetensors.part", &content()[..1000]);
    pull(&server.url, WEIGHTS, &folder).unwrap();
    assert_eq!(
        fs::read(folder.path("m/model.safetensors")).unwrap(),
        content()
    );
    assert_eq!(server.requests()[0].from, Some(1000));

    // Everything had arrived, only the name was missing.
    fs::rename(
        folder.path("m/model.safetensors"),
        folder.path("m/model.safetensors.part"),
    )
    .unwrap();
    pull(&server.url, WEIGHTS, &folder).unwrap();
    assert_eq!(
        fs::read(folder.path("m/model.safetensors")).unwrap(),
        content()
    );
}

#[test]
fn starts_again_where_it_cannot_go_on() {
    let is_whole = |server: &Server, present: &[u8]| {
        let folder = Folder::new();
        folder.write("m/model.safetensors.part", present);
        pull(&server.url, WEIGHTS, &folder).unwrap();
        assert_eq!(
            fs::read(folder.path("m/model.safetensors")).unwrap(),
            content()
        );
    };
    let without_ranges = Server::new(|request, _| {
        let request = Request {
            path: request.path.clone(),
            from: None,
        };
        tagged(ranged(&content(), &request), &sha256(&content()))
    });
    is_whole(&without_ranges, &content()[..1000]);
    let without_checksum = Server::new(|request, _| ranged(&content(), request));
    is_whole(&without_checksum, b"of another file");
    let with_less =
        Server::new(|request, _| tagged(ranged(&content(), request), &sha256(&content())));
    is_whole(&with_less, &[0; 500_000]);
}

#[test]
fn asks_again_for_a_part_that_it_did_not_ask_for() {
    let server = Server::new(|request, before| {
        let mut request = request.clone();
        if before == 0 {
            request.from = Some(5000);
        }
        tagged(ranged(&content(), &request), &sha256(&content()))
    });
    let folder = Folder::new();
    folder.write("m/model.safetensors.part", &content()[..1000]);
    pull(&server.url, WEIGHTS, &folder).unwrap();
    assert_eq!(
        fs::read(folder.path("m/model.safetensors")).unwrap(),
        content()
    );
}

#[test]
fn tags_of_other_hosts_are_no_checksums() {
    let other = Server::new(|request, _| tagged(ranged(&content(), request), &"0".repeat(64)));
    let location = other.url;
    let server = Server::new(move |_, _| Answer {
        status: 302,
        headers: vec![("Location", format!("{location}/x"))],
        ..Answer::default()
    });
    let folder = Folder::new();
    pull(&server.url, WEIGHTS, &folder).unwrap();
    assert_eq!(
        fs::read(folder.path("m/model.safetensors")).unwrap(),
        content()
    );
}

#[test]
fn wrong_bytes_are_removed() {
    let server = Server::new(|request, _| {
        let mut wrong = content();
        wrong[5] ^= 1;
        tagged(ranged(&wrong, request), &sha256(&content()))
    });
    let folder = Folder::new();
    let error = pull(&server.url, WEIGHTS, &folder).err().unwrap();
    assert!(
        matches!(&error, Error::Checksum { url } if url.ends_with("/resolve/main/model.safetensors"))
    );
    assert_eq!(fs::read_dir(folder.path("m")).unwrap().count(), 0);
}

#[test]
fn a_pinned_checksum_counts_more_than_the_hubs() {
    let files: &[HubFile] = &[HubFile {
        name: "model.safetensors",
        sha256: Some("53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
    }];
    let server = Server::new(|request, _| tagged(ranged(&content(), request), &sha256(&content())));
    let folder = Folder::new();
    assert!(matches!(
        pull(&server.url, files, &folder),
        Err(Error::Checksum { .. })
    ));
}

#[test]
fn tries_again_and_then_says_so() {
    let busy = Server::new(|request, before| match before {
        0 | 1 => Answer {
            status: 503,
            ..Answer::default()
        },
        _ => ranged(&content(), request),
    });
    let folder = Folder::new();
    pull(&busy.url, WEIGHTS, &folder).unwrap();
    assert_eq!(busy.requests().len(), 3);

    let broken = Server::new(|request, before| {
        let mut answer = tagged(ranged(&content(), request), &sha256(&content()));
        answer.cut = Some(if before == 0 { 1000 } else { 0 });
        answer
    });
    let folder = Folder::new();
    let error = pull(&broken.url, WEIGHTS, &folder).err().unwrap();
    assert!(matches!(error, Error::Download { .. }));
    assert!(error.to_string().contains("goes on from there"));
    assert_eq!(
        fs::read(folder.path("m/model.safetensors.part")).unwrap(),
        &content()[..1000]
    );
}

#[test]
fn a_refusal_is_final() {
    let empty = Server::new(|_, _| Answer {
        status: 404,
        ..Answer::default()
    });
    let error = pull(&empty.url, WEIGHTS, &Folder::new()).err().unwrap();
    assert!(error.to_string().contains("404"), "{error}");
    assert_eq!(empty.requests().len(), 1);

    let round = Server::new(|request, _| Answer {
        status: 302,
        headers: vec![("Location", request.path.clone())],
        ..Answer::default()
    });
    assert!(matches!(
        pull(&round.url, WEIGHTS, &Folder::new()),
        Err(Error::Refused { .. })
    ));
}

#[test]
fn the_catalogue_can_be_imported() {
    for entry in CATALOGUE {
        assert_eq!(
            find(&entry.name.to_uppercase()).map(|found| found.name),
            Some(entry.name)
        );
        let has = |name: &str| entry.files.iter().any(|file| file.name == name);
        assert!(has("tokenizer.json") && has("model.safetensors") && has("config.json"));
        let pinned = entry.files.iter().filter_map(|file| file.sha256);
        assert!(pinned.into_iter().all(|hash| hash.len() == 64));
    }
}
