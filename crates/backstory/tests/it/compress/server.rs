//! A server on this machine that speaks the Messages API, as a test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// What every good answer says that it took.
pub(super) const INPUT_TOKENS: u64 = 500;
pub(super) const OUTPUT_TOKENS: u64 = 100;
pub(super) const TOKENS: u64 = INPUT_TOKENS + OUTPUT_TOKENS;

/// What was asked.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
    /// As it came.
    pub(super) text: String,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// What a model was shown.
    pub(super) fn shown(&self) -> &str {
        self.body["messages"][0]["content"].as_str().unwrap()
    }

    pub(super) fn model(&self) -> &str {
        self.body["model"].as_str().unwrap()
    }

    pub(super) fn is_summary(&self) -> bool {
        self.body["tool_choice"]["name"] == "record_summary"
    }
}

/// What is answered.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
    /// After so many bytes of the body the connection ends.
    pub(super) cut: Option<usize>,
    /// Whether no answer ever comes.
    pub(super) holds: bool,
}

impl Reply {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Reply {
            status,
            headers: vec![("Content-Type", "application/json".to_string())],
            body: body.to_string().into_bytes(),
            cut: None,
            holds: false,
        }
    }

    /// An error as the API tells it; whoever comes again need not wait.
    pub(super) fn error(status: u16) -> Self {
        let body =
            json!({"type": "error", "error": {"type": "some_error", "message": "no, sorry"}});
        Reply::json(status, &body).with("Retry-After", "0")
    }

    /// A tool call with these fields.
    pub(super) fn call(request: &Request, fields: &Value) -> Self {
        Reply::json(200, &message(request, fields))
    }

    /// A good answer.
    pub(super) fn good(request: &Request) -> Self {
        let fields = if request.is_summary() {
            json!({"title": "Counting the till", "summary": "The till was counted.", "next": "Count it again."})
        } else {
            json!({"title": "Counted the till", "summary": "It was counted.", "detail": "All of it was counted."})
        };
        Reply::call(request, &fields)
    }

    /// No answer, for as long as anybody waits.
    pub(super) fn never() -> Self {
        Reply {
            holds: true,
            ..Reply::json(200, &Value::Null)
        }
    }

    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_string()));
        self
    }
}

/// A whole answer with a tool call.
pub(super) fn message(request: &Request, fields: &Value) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": request.model(), "stop_reason": "tool_use",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": request.body["tool_choice"]["name"], "input": fields}],
        "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS},
    })
}

/// A server that answers every request by a function, which is also told how many there were before. It lives until the tests end.
pub(super) struct Server {
    pub(super) url: String,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    pub(super) fn new(answer: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server {
            url: format!("http://{}", listener.local_addr().unwrap()),
            connections: Arc::default(),
            requests: Arc::default(),
        };
        let (connections, requests) = (server.connections.clone(), server.requests.clone());
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                connections.fetch_add(1, Ordering::SeqCst);
                let (requests, answer) = (requests.clone(), answer.clone());
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let Some(request) = read(&stream) else { return };
                    let before = {
                        let mut requests = requests.lock().unwrap();
                        requests.push(request.clone());
                        requests.len() - 1
                    };
                    write(&mut stream, &answer(&request, before));
                });
            }
        });
        server
    }

    /// One that answers all that it is asked.
    pub(super) fn good() -> Self {
        Server::new(|request, _| Reply::good(request))
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_string();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_lowercase(), value.to_string())),
            None => break,
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length?.1.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Request {
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap(),
        text: String::from_utf8(body).unwrap(),
    })
}

fn write(stream: &mut TcpStream, reply: &Reply) {
    if !reply.holds {
        let mut head = format!(
            "HTTP/1.1 {} X\r\nConnection: close\r\nContent-Length: {}\r\n",
            reply.status,
            reply.body.len()
        );
        for (name, value) in &reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let end = reply.cut.unwrap_or(reply.body.len());
        // The other side may be gone before it has read everything.
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&reply.body[..end]);
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
    // Until the other side has had enough.
    let _ = stream.read_to_end(&mut Vec::new());
}
