//! Writes session files from rows in JSON, and reads them: for measurements and for comparison with the Python package.
//!
//! ```text
//! session_rows write ROWS.jsonl FILE.h5 [THREADS]     a session a line
//! session_rows inspect FILE.h5
//! session_rows tail FILE.h5 SESSION N
//! session_rows sum FILE.h5 SESSION
//! session_rows newest FILE.h5
//! session_rows add FILE.h5 SESSION                    a session of one message
//! session_rows read FILE.h5
//! ```
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Instant;

use backstory_columnar::{
    Artifact, LogFile, Message, SessionAttributes, SessionColumns, SessionFile, TokenUsage,
    ToolCall, WriteOptions, write_sessions,
};
use serde_json::{Value, json};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["write", rows, file, ..] => {
            let start = Instant::now();
            let lines = BufReader::new(File::open(rows).unwrap()).lines();
            let sessions =
                lines.map(|line| Ok(session_from(&serde_json::from_str(&line.unwrap()).unwrap())));
            let threads = arguments
                .get(3)
                .map_or(1, |threads| threads.parse().unwrap());
            // With `parsed` as last argument, the time without parsing is measured.
            let options = WriteOptions {
                threads,
                ..WriteOptions::default()
            };
            if arguments.contains(&"parsed") {
                let sessions: Vec<_> = sessions.collect();
                let start = Instant::now();
                let report = write_sessions(Path::new(file), "test", sessions, &options).unwrap();
                println!("{report:?} {:.3} s", start.elapsed().as_secs_f64());
            } else {
                let report = write_sessions(Path::new(file), "test", sessions, &options).unwrap();
                println!("{report:?} {:.3} s", start.elapsed().as_secs_f64());
            }
        }
        ["inspect", file] => {
            for summary in SessionFile::open(Path::new(file))
                .unwrap()
                .sessions()
                .unwrap()
            {
                println!("{summary:?}");
            }
        }
        ["newest", file] => {
            let file = SessionFile::open(Path::new(file)).unwrap();
            println!("{:?}", file.newest_session().unwrap());
        }
        ["add", file, session] => {
            let added = SessionColumns {
                id: session.to_string(),
                messages: vec![Message::default()],
                ..SessionColumns::default()
            };
            let options = WriteOptions::default();
            println!(
                "{:?}",
                write_sessions(Path::new(file), "test", [Ok(added)], &options)
            );
        }
        ["tail", file, session, count] => {
            let file = SessionFile::open(Path::new(file)).unwrap();
            for message in file
                .session(session)
                .unwrap()
                .tail(count.parse().unwrap())
                .unwrap()
            {
                println!(
                    "{} {} {}",
                    message.uuid,
                    message.role,
                    message
                        .text
                        .chars()
                        .take(40)
                        .collect::<String>()
                        .replace('\n', " ")
                );
            }
        }
        ["sum", file, session] => println!(
            "{:?}",
            SessionFile::open(Path::new(file))
                .unwrap()
                .session(session)
                .unwrap()
                .sum_usage()
                .unwrap()
        ),
        ["read", file] => {
            let file = SessionFile::open(Path::new(file)).unwrap();
            for id in file.session_ids().unwrap() {
                println!("{}", json_from(&file.session(&id).unwrap().read().unwrap()));
            }
        }
        _ => println!("usage: session_rows write|inspect|tail|sum|read FILE …"),
    }
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

fn session_from(value: &Value) -> SessionColumns {
    let rows = |name: &str| value[name].as_array().cloned().unwrap_or_default();
    let attributes = &value["attributes"];
    SessionColumns {
        id: text(value, "id"),
        attributes: SessionAttributes {
            agent: text(attributes, "agent"),
            model: text(attributes, "model"),
            created_at: attributes["created_at"].as_f64().unwrap_or_default(),
            summary: text(attributes, "summary"),
            cwd: text(attributes, "cwd"),
            git_branch: text(attributes, "git_branch"),
            agent_version: text(attributes, "agent_version"),
            permission_mode: attributes["permission_mode"].as_str().map(str::to_owned),
            session_id_original: attributes["session_id_original"]
                .as_str()
                .map(str::to_owned),
            ..SessionAttributes::default()
        },
        messages: rows("messages")
            .iter()
            .enumerate()
            .map(|(number, row)| message_from(number, row))
            .collect(),
        tool_calls: rows("tool_calls").iter().map(call_from).collect(),
        artifacts: rows("artifacts")
            .iter()
            .map(|row| Artifact {
                name: text(row, "name"),
                media_type: text(row, "media_type"),
                origin: text(row, "origin"),
                bytes: text(row, "text").into_bytes(),
            })
            .collect(),
        logs: rows("logs").iter().map(log_from).collect(),
        ..SessionColumns::default()
    }
}

fn message_from(number: usize, row: &Value) -> Message {
    let tokens = |name: &str| row["usage"][name].as_i64().unwrap_or_default();
    Message {
        seq: number as u32 + 1,
        uuid: text(row, "uuid"),
        parent_uuid: text(row, "parent_uuid"),
        kind: text(row, "type"),
        role: text(row, "role"),
        model: text(row, "model"),
        timestamp: row["timestamp"].as_f64().unwrap_or_default(),
        usage: TokenUsage {
            input_tokens: tokens("input_tokens"),
            output_tokens: tokens("output_tokens"),
            cache_creation_input_tokens: tokens("cache_creation_input_tokens"),
            cache_read_input_tokens: tokens("cache_read_input_tokens"),
        },
        text: text(row, "text"),
        json: text(row, "json"),
        embedding: row["embedding"].as_array().map(|numbers| {
            numbers
                .iter()
                .map(|number| number.as_f64().unwrap() as f32)
                .collect()
        }),
    }
}

fn call_from(row: &Value) -> ToolCall {
    ToolCall {
        tool_use_id: text(row, "tool_use_id"),
        message_uuid: text(row, "message_uuid"),
        name: text(row, "name"),
        result_uuid: text(row, "result_uuid"),
        timestamp: row["timestamp"].as_f64().unwrap_or_default(),
        is_error: row["is_error"].as_bool().unwrap_or_default(),
        args: text(row, "args"),
        result: text(row, "result"),
    }
}

fn log_from(row: &Value) -> LogFile {
    let path = text(row, "path");
    let pairs = row["rows"].as_array().unwrap();
    LogFile {
        bytes: std::fs::read(&path).unwrap(),
        rows: pairs
            .iter()
            .map(|pair| (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap() as u32))
            .collect(),
        agent: text(row, "agent"),
        path,
    }
}

fn json_from(session: &SessionColumns) -> Value {
    let messages: Vec<Value> = session.messages.iter().map(|row| {
        let usage = [row.usage.input_tokens, row.usage.output_tokens, row.usage.cache_creation_input_tokens, row.usage.cache_read_input_tokens];
        json!({"seq": row.seq, "uuid": row.uuid, "parent_uuid": row.parent_uuid, "type": row.kind, "role": row.role, "model": row.model,
               "timestamp": row.timestamp, "usage": usage, "text": row.text, "json": row.json, "embedding": row.embedding})
    }).collect();
    let calls: Vec<Value> = session.tool_calls.iter().map(|row| {
        json!({"tool_use_id": row.tool_use_id, "message_uuid": row.message_uuid, "name": row.name, "result_uuid": row.result_uuid,
               "timestamp": row.timestamp, "is_error": row.is_error, "args": row.args, "result": row.result})
    }).collect();
    let artifacts: Vec<Value> = session
        .artifacts
        .iter()
        .map(|row| json!({"name": row.name, "bytes": row.bytes}))
        .collect();
    let logs: Vec<Value> = session
        .logs
        .iter()
        .map(|log| json!({"path": log.path, "bytes": log.bytes.len()}))
        .collect();
    json!({"id": session.id, "model": session.attributes.model, "cwd": session.attributes.cwd, "created_at": session.attributes.created_at,
           "messages": messages, "tool_calls": calls, "artifacts": artifacts, "logs": logs})
}
