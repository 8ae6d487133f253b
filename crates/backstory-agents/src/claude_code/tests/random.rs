//! Random records: nothing that they name is lost between the log and what is put out.

use std::collections::HashSet;

use backstory_event::{Event, EventBody, Response, SessionFacts, TelemetryItem, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A name as an agent may write it: any printable characters, marked by what it names so that no other field can stand in for it.
fn name(of: &'static str) -> impl Strategy<Value = String> {
    "\\PC{0,20}".prop_map(move |rest| format!("{of}:{rest}!"))
}

/// A field that is there or not.
fn maybe(of: &'static str) -> impl Strategy<Value = Option<String>> {
    prop::option::of(name(of))
}

/// What most records have.
#[derive(Debug, Clone)]
struct Envelope {
    uuid: String,
    parent: Option<String>,
    cwd: Option<String>,
    branch: Option<String>,
    version: Option<String>,
    mode: Option<String>,
    effort: Option<String>,
}

fn envelope() -> impl Strategy<Value = Envelope> {
    let names = (
        name("uuid"),
        maybe("parent"),
        maybe("cwd"),
        maybe("branch"),
        maybe("version"),
        maybe("mode"),
        maybe("effort"),
    );
    names.prop_map(
        |(uuid, parent, cwd, branch, version, mode, effort)| Envelope {
            uuid,
            parent,
            cwd,
            branch,
            version,
            mode,
            effort,
        },
    )
}

impl Envelope {
    fn record(&self, kind: &str, more: &Value) -> Value {
        let mut record = json!({
            "type": kind, "uuid": self.uuid, "parentUuid": self.parent, "cwd": self.cwd, "sessionId": SESSION,
            "gitBranch": self.branch, "version": self.version, "permissionMode": self.mode, "effort": self.effort,
        });
        let more = more.as_object().cloned().unwrap_or_default();
        record.as_object_mut().unwrap().extend(more);
        record
    }

    /// What every event of the record says.
    fn check_event(&self, body: &EventBody) {
        assert_eq!(body.identity.uuid.as_ref(), Some(&self.uuid));
        assert_eq!(body.identity.parent_uuid, self.parent);
        assert_eq!(body.effort, self.effort);
    }
}

fn read_record(record: &Value) -> Output {
    read(FILE, record.to_string().as_bytes())
}

/// The one event of a record.
fn only_event(out: &Output) -> &Event {
    let [event] = &out.events[..] else {
        panic!("{} events", out.events.len())
    };
    event
}

fn counts() -> impl Strategy<Value = Usage> {
    let count = || 0_u64..1 << 40;
    let tokens = (count(), count(), count(), count(), count(), count());
    (tokens, count(), count()).prop_map(|((input, output, read, minutes, hour, think), s, f)| {
        Usage {
            input,
            output,
            cache_read: read,
            cache_write: minutes + hour,
            cache_write_1h: hour,
            reasoning: think,
            web_searches: s,
            web_fetches: f,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn prompts_lose_nothing(
        envelope in envelope(),
        text in name("text"),
        level in maybe("level"),
        images in prop::collection::vec((name("media"), "[A-Za-z0-9+/]{0,40}"), 0..3),
    ) {
        let mut blocks: Vec<Value> = images
            .iter()
            .map(|(media, data)| json!({"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}))
            .collect();
        blocks.push(json!({"type": "text", "text": text}));
        let record = envelope.record("user", &json!({
            "message": {"role": "user", "content": blocks}, "thinkingMetadata": {"level": level},
        }));
        let out = read_record(&record);
        let body = &only_event(&out).body;
        envelope.check_event(body);
        prop_assert!(body.text.ends_with(&text));
        let found: Vec<_> = body.images.iter().map(|image| (image.media_type.clone().unwrap(), image.encoded_bytes)).collect();
        let planted: Vec<_> = images.iter().map(|(media, data)| (media.clone(), data.len() as u64)).collect();
        prop_assert_eq!(found, planted);
        let context = body.context.clone().unwrap_or_default();
        prop_assert_eq!(&context.cwd, &envelope.cwd);
        prop_assert_eq!(&context.branch, &envelope.branch);
        prop_assert_eq!(&context.agent_version, &envelope.version);
        prop_assert_eq!(&context.permission_mode, &envelope.mode);
        prop_assert_eq!(context.effort, envelope.effort.clone().or(level));
        let facts = out.facts.first().cloned().unwrap_or_default();
        prop_assert_eq!((&facts.cwd, &facts.branch), (&envelope.cwd, &envelope.branch));
        prop_assert_eq!((&facts.agent_version, &facts.permission_mode), (&envelope.version, &envelope.mode));
        check_meta(&facts, &record);
    }

    #[test]
    fn responses_lose_nothing(
        envelope in envelope(),
        usage in counts(),
        [id, request, tool, call, path] in [name("id"), name("request"), name("tool"), name("call"), name("path")],
        stop in maybe("stop"),
        billing in (maybe("tier"), maybe("speed"), maybe("geo")),
    ) {
        let (tier, speed, geo) = billing;
        let input = json!({"file_path": path, "more": [1, {"deep": tool}]});
        let record = envelope.record("assistant", &json!({
            "requestId": request,
            "message": {
                "id": id, "model": "opus", "stop_reason": stop,
                "content": [{"type": "tool_use", "id": call, "name": tool, "input": input}],
                "usage": {
                    "input_tokens": usage.input, "output_tokens": usage.output,
                    "cache_read_input_tokens": usage.cache_read, "cache_creation_input_tokens": usage.cache_write,
                    "cache_creation": {
                        "ephemeral_5m_input_tokens": usage.cache_write_5m(), "ephemeral_1h_input_tokens": usage.cache_write_1h,
                    },
                    "output_tokens_details": {"thinking_tokens": usage.reasoning},
                    "server_tool_use": {"web_search_requests": usage.web_searches, "web_fetch_requests": usage.web_fetches},
                    "service_tier": tier, "speed": speed, "inference_geo": geo,
                },
            },
        }));
        let out = read_record(&record);
        let event = only_event(&out);
        envelope.check_event(&event.body);
        prop_assert_eq!(&event.body.stop_reason, &stop);
        prop_assert_eq!(event.body.identity.tool_use_id.as_ref(), Some(&call));
        prop_assert_eq!(event.tool.as_ref(), Some(&tool));
        prop_assert_eq!(serde_json::from_str::<Value>(&event.body.text).unwrap(), input);
        let [Response { event: of, branch, usage: used, billing, .. }] = &out.responses[..] else {
            panic!("{} responses", out.responses.len())
        };
        prop_assert_eq!(*of, Some(event.key));
        prop_assert_eq!(*used, usage);
        prop_assert_eq!(branch.as_deref(), envelope.branch.as_deref());
        prop_assert_eq!(billing.service_tier.as_deref(), tier.as_deref());
        prop_assert_eq!(billing.speed.as_deref(), speed.as_deref());
        prop_assert_eq!(billing.inference_geo.as_deref(), geo.as_deref());
    }

    #[test]
    fn results_lose_nothing(
        envelope in envelope(),
        [call, text] in [name("call"), name("text")],
        status in maybe("status"),
        denial in maybe("denial"),
        duration in 0_i64..1 << 40,
        error in any::<bool>(),
    ) {
        let block = json!({"type": "tool_result", "tool_use_id": call, "content": text, "is_error": error});
        let out = read_record(&envelope.record("user", &json!({
            "message": {"content": [block]},
            "toolUseResult": {"status": status, "durationMs": duration},
            "toolDenialKind": denial,
        })));
        let event = only_event(&out);
        envelope.check_event(&event.body);
        prop_assert_eq!(event.body.identity.tool_use_id.as_ref(), Some(&call));
        prop_assert_eq!(&event.body.text, text.trim());
        prop_assert_eq!(&event.body.status, &status.or(denial.clone()));
        prop_assert_eq!((event.error, event.duration_ms), (error, Some(duration)));
        prop_assert_eq!(out.telemetry.is_empty(), denial.is_none() && envelope.mode.is_none());
    }

    #[test]
    fn telemetry_loses_nothing(
        envelope in envelope(),
        subtype in name("subtype"),
        fields in prop::collection::hash_map(name("field"), name("value"), 0..4),
        duration in 0_i64..1 << 40,
    ) {
        let more = json!({"subtype": subtype, "durationMs": duration, "more": fields});
        for subtype in [subtype.as_str(), "compact_boundary", "stop_hook_summary", "turn_duration"] {
            let mut record = envelope.record("system", &more);
            record["subtype"] = json!(subtype);
            let record = record.to_string();
            prop_assert_eq!(read(FILE, record.as_bytes()).telemetry.len(), 1);
            let items = ClaudeCode.telemetry(record.as_bytes());
            let value = match &items[0].item {
                TelemetryItem::Other { name, value } => {
                    prop_assert_eq!(name, subtype);
                    value
                }
                TelemetryItem::Compaction { value } => value,
                TelemetryItem::TurnEnd { duration_ms, .. } => {
                    prop_assert_eq!(*duration_ms, Some(duration));
                    continue;
                }
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(&value["more"], &json!(fields));
            prop_assert_eq!(&value["uuid"], &json!(envelope.uuid));
        }
    }
}

/// The session's own record has every field of the record but content, as it is written.
fn check_meta(facts: &SessionFacts, record: &Value) {
    let record = record.as_object().unwrap();
    if record["version"].is_null() && record["cwd"].is_null() {
        assert_eq!(facts.meta, None);
        return;
    }
    let meta: Value = serde_json::from_str(facts.meta.as_ref().unwrap()).unwrap();
    let names: HashSet<&String> = meta.as_object().unwrap().keys().collect();
    for (name, value) in record {
        let is_content = name == "message";
        assert_eq!(names.contains(name), !is_content, "{name}");
        assert!(is_content || meta[name] == *value, "{name}");
    }
}
