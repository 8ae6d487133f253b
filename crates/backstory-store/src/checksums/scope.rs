//! What is covered by checksums: every table, in scopes of rows that are summed and verified together.

use crate::code::UNIT_SHIFT;

/// A kind of stored row. The numbers are those of the table `checksums` and its triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    Sessions = 1,
    Events = 2,
    Blocks = 3,
    Notes = 4,
    Snapshots = 5,
    Observations = 6,
    Summaries = 7,
    KeptObservations = 8,
    Queue = 9,
    SourceFiles = 10,
    Streams = 11,
    Names = 12,
    Paths = 13,
    Projects = 14,
    CodeFiles = 15,
    RunEdges = 16,
    EventLog = 17,
    Compressions = 18,
    Settings = 19,
    Forgotten = 20,
    LooseTitles = 21,
    EventKeys = 22,
    Responses = 23,
    Lag = 24,
    Billing = 25,
    Consumers = 26,
}

/// How the rows of a scope are divided into units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Units {
    /// A unit for each session.
    Session,
    /// A unit for each session, whose rows are numbered and only ever added at the end.
    SessionEvents,
    /// A unit for each row of a table, by this key.
    Row(&'static str),
    /// A unit for `1 << shift` neighbouring numbers of a key.
    Chunk {
        table: &'static str,
        key: &'static str,
        shift: u32,
        /// Whether new rows always get numbers above all others.
        grows: bool,
    },
    /// One unit for the whole table.
    Whole,
    /// One unit for the whole table, kept up to date by whoever adds rows: see [`super::add_to_sum`].
    Running,
}

/// Rows of one table that belong to a unit: `?1` is the unit; where rows are numbered, `?2 < number <= ?3`.
pub(super) struct Part {
    pub(super) table: &'static str,
    pub(super) columns: &'static str,
    pub(super) condition: &'static str,
}

impl Part {
    /// The table and each of the columns.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let columns = self.columns.split(", ").map(str::trim);
        columns.map(|column| (self.table, column))
    }
}

const SESSION: &str = "session = ?1";

const SESSION_PARTS: &[Part] = &[
    Part {
        table: "sessions",
        columns: "id, agent, session, parent, parent_kind, parent_seq, title, title_rank, project, cwd, branch, started_at, ended_at, \
             turns, events, machine, pinned, evicted, evicted_at, captured_at, closed_at, transcript, compressed, agent_version, permission_mode, \
             context_window, tokens_injected",
        condition: "id = ?1",
    },
    Part {
        table: "session_models",
        columns: "session, model",
        condition: SESSION,
    },
    Part {
        table: "session_streams",
        columns: "session, stream",
        condition: SESSION,
    },
    Part {
        table: "open_calls",
        columns: "session, call, seq",
        condition: SESSION,
    },
    Part {
        table: "usage",
        columns: "session, slot, model, branch, billing, input, output, cache_read, cache_write, reasoning, cache_write_1h, \
             web_searches, web_fetches",
        condition: SESSION,
    },
    Part {
        table: "session_meta",
        columns: "session, stream, offset, length, fields",
        condition: SESSION,
    },
    Part {
        table: "telemetry",
        columns: "session, seq, stream, offset, length",
        condition: SESSION,
    },
    Part {
        table: "digests",
        columns: "session, outcome",
        condition: SESSION,
    },
    Part {
        table: "symbol_changes",
        columns: "session, turn, file, name, kind, change, earlier, at",
        condition: SESSION,
    },
];

const EVENT_PARTS: &[Part] = &[
    Part {
        table: "events",
        columns: "session, seq, turn, kind, at, stream, offset, length, part, model, tool, call, parent, error, exit_code, duration_ms, \
             command",
        condition: "session = ?1 AND seq > ?2 AND seq <= ?3",
    },
    Part {
        table: "touches",
        columns: "path, session, seq, action",
        condition: "session = ?1 AND seq > ?2 AND seq <= ?3",
    },
];

const STREAM_PARTS: &[Part] = &[
    Part {
        table: "streams",
        columns: "id, source, generation, length, redactions, replaying, read_version",
        condition: "id = ?1",
    },
    Part {
        table: "skipped_records",
        columns: "stream, line, offset, length, reason",
        condition: "stream = ?1",
    },
    Part {
        table: "block_lines",
        columns: "stream, start, line",
        condition: "stream = ?1",
    },
    Part {
        table: "backfill",
        columns: "stream, offset, lines, state",
        condition: "stream = ?1",
    },
];

const SNAPSHOT_PARTS: &[Part] = &[
    Part {
        table: "snapshots",
        columns: "file, part, place, session, turn, at, gone, broken_at",
        condition: "file > ?2 AND file <= ?3",
    },
    Part {
        table: "snapshot_states",
        columns: "id, states",
        // Its number is that of the file, shifted, and of the part.
        condition: "id >= (?2 + 1) << 20 AND id < (?3 + 1) << 20",
    },
];

macro_rules! one_part {
    ($table:literal, $columns:literal, $condition:expr) => {
        &[Part {
            table: $table,
            columns: $columns,
            condition: $condition,
        }]
    };
}

const NUMBERED: &str = "id > ?2 AND id <= ?3";

impl Scope {
    pub(crate) const ALL: [Scope; 26] = [
        Scope::Sessions,
        Scope::Events,
        Scope::Blocks,
        Scope::Notes,
        Scope::Snapshots,
        Scope::Observations,
        Scope::Summaries,
        Scope::KeptObservations,
        Scope::Queue,
        Scope::SourceFiles,
        Scope::Streams,
        Scope::Names,
        Scope::Paths,
        Scope::Projects,
        Scope::CodeFiles,
        Scope::RunEdges,
        Scope::EventLog,
        Scope::Compressions,
        Scope::Settings,
        Scope::Forgotten,
        Scope::LooseTitles,
        Scope::EventKeys,
        Scope::Responses,
        Scope::Lag,
        Scope::Billing,
        Scope::Consumers,
    ];

    /// What people call the rows.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Scope::Sessions => "rows",
            Scope::Events => "events",
            Scope::Blocks => "stored bytes",
            Scope::Notes => "notes",
            Scope::Snapshots => "code snapshots",
            Scope::Observations => "observations",
            Scope::Summaries => "summary",
            Scope::KeptObservations => "kept observations",
            Scope::Queue => "captured events",
            Scope::SourceFiles => "source files",
            Scope::Streams => "streams",
            Scope::Names => "names of models and tools",
            Scope::Paths => "paths",
            Scope::Projects => "projects",
            Scope::CodeFiles => "names of code files",
            Scope::RunEdges => "calls seen in stack traces",
            Scope::EventLog => "event log",
            Scope::Compressions => "ledger of model requests",
            Scope::Settings => "settings",
            Scope::Forgotten => "hashes of forgotten sessions",
            Scope::LooseTitles => "titles",
            Scope::EventKeys => "event keys",
            Scope::Responses => "API responses",
            Scope::Lag => "what indexes lack",
            Scope::Billing => "billing of responses",
            Scope::Consumers => "list of indexes",
        }
    }

    pub(super) fn units(self) -> Units {
        let grows = |table, shift| Units::Chunk {
            table,
            key: "id",
            shift,
            grows: true,
        };
        match self {
            Scope::Sessions | Scope::Lag => Units::Session,
            Scope::Events => Units::SessionEvents,
            Scope::Notes | Scope::Summaries | Scope::KeptObservations => Units::Row("session"),
            Scope::Snapshots => Units::Chunk {
                table: "snapshots",
                key: "file",
                shift: UNIT_SHIFT,
                grows: false,
            },
            Scope::Blocks
            | Scope::Observations
            | Scope::Queue
            | Scope::SourceFiles
            | Scope::Streams => Units::Row("id"),
            Scope::Names => grows("names", 6),
            Scope::Paths => grows("paths", 6),
            Scope::Projects => grows("projects", 4),
            Scope::CodeFiles => grows("code_files", 6),
            Scope::EventLog => grows("logged_events", 8),
            Scope::Compressions => grows("compressions", 6),
            Scope::RunEdges => Units::Chunk {
                table: "run_edges",
                key: "file",
                shift: 3,
                grows: false,
            },
            Scope::Settings
            | Scope::Forgotten
            | Scope::LooseTitles
            | Scope::Billing
            | Scope::Consumers => Units::Whole,
            Scope::EventKeys | Scope::Responses => Units::Running,
        }
    }

    /// The unit of a row, by its key.
    pub(crate) fn unit_of(self, key: i64) -> i64 {
        match self.units() {
            Units::Chunk { shift, .. } => key >> shift,
            _ => key,
        }
    }

    /// The table of the scope's first part.
    pub(super) fn table(self) -> &'static str {
        self.parts().first().map_or("", |part| part.table)
    }

    pub(super) fn parts(self) -> &'static [Part] {
        match self {
            Scope::Sessions => SESSION_PARTS,
            Scope::Events => EVENT_PARTS,
            Scope::Lag => one_part!("lag", "session, consumer, from_seq, changes", SESSION),
            Scope::Streams => STREAM_PARTS,
            Scope::Blocks => {
                one_part!("blocks", "id, stream, start, length, cuts, data", "id = ?1")
            }
            Scope::Notes => one_part!("notes", "session, notes", SESSION),
            Scope::Snapshots => SNAPSHOT_PARTS,
            Scope::Observations => {
                one_part!(
                    "observations",
                    "id, session, seq, model, at, body",
                    "id = ?1"
                )
            }
            Scope::Summaries => {
                one_part!("summaries", "session, events, model, at, body", SESSION)
            }
            Scope::KeptObservations => {
                one_part!("kept_observations", "session, observations", SESSION)
            }
            Scope::Queue => one_part!(
                "queue",
                "id, key, kind, session, at, state, attempts, last_error, not_before, name, seq, body",
                "id = ?1"
            ),
            Scope::SourceFiles => one_part!(
                "source_files",
                "id, agent, path, device, inode, size, modified_ns, head_length, head_hash, tail_length, tail_hash, offset, lines, \
                 state, stream, content_hash, changed_ns",
                "id = ?1"
            ),
            Scope::Names => one_part!("names", "id, name", NUMBERED),
            Scope::Paths => one_part!("paths", "id, path", NUMBERED),
            Scope::Projects => one_part!("projects", "id, root, remote", NUMBERED),
            Scope::CodeFiles => one_part!("code_files", "id, project, name, moved_from", NUMBERED),
            Scope::RunEdges => one_part!(
                "run_edges",
                "file, caller, callee, session, seq, seen, at",
                "file > ?2 AND file <= ?3"
            ),
            Scope::EventLog => one_part!(
                "logged_events",
                "id, at, event_type, agent, duration_us, tokens_out, data, session_id, tokens_in",
                NUMBERED
            ),
            Scope::Compressions => one_part!(
                "compressions",
                "id, at, day, tier, model, about, seq, state, input_tokens, output_tokens, micro_usd, latency_ms, faithfulness, \
                 compression, coverage, error",
                NUMBERED
            ),
            Scope::Settings => one_part!("settings", "name, value", "1"),
            Scope::Forgotten => one_part!("forgotten", "hash", "1"),
            Scope::LooseTitles => one_part!("loose_titles", "key, title", "1"),
            Scope::Billing => one_part!(
                "billing",
                "id, service_tier, speed, inference_geo, context_tier",
                "1"
            ),
            Scope::Consumers => one_part!(
                "consumers",
                "id, name, version, before_eviction, follows_titles",
                "1"
            ),
            Scope::EventKeys => one_part!("event_keys", "key, session, seq", "1"),
            Scope::Responses => one_part!(
                "responses",
                "key, session, slot, model, input, output, cache_read, cache_write, reasoning, seq, cache_write_1h, web_searches, \
                 web_fetches, branch, billing",
                "1"
            ),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::open::Store;
    use crate::schema;

    #[test]
    fn every_column_of_every_table_is_in_a_scope() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        for (table, column) in schema::columns(&store.connection).unwrap() {
            // Attachments have a hash of their own; the other two are what checks and repairs, and so are sums.
            if matches!(table.as_str(), "attachments" | "checksums" | "damaged") || column == "sum"
            {
                continue;
            }
            let covered = Scope::ALL
                .iter()
                .flat_map(|scope| scope.parts().iter().flat_map(Part::columns))
                .any(|covered| covered == (table.as_str(), column.as_str()));
            assert!(covered, "{table}.{column}");
        }
    }
}
