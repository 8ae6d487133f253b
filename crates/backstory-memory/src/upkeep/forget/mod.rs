//! Forgetting: sessions leave every file of the store, and do not come back.
//!
//! Their ids are recorded first, so that an interrupted process leaves the rest to the next one. Files beside the store (pattern
//! catalogue, published blocks, spool, event log, verdicts) are changed while the store still knows what they quote. Then, in one
//! transaction, rows and streams of their own are deleted. What other sessions' files repeat of them is blanked out of the stored bytes, their
//! ids are masked everywhere, and database, vectors and the segments of the index that had them are written anew. In the end every
//! file is searched for what is not there any more.

mod copies;
mod outside;
mod proof;
mod record;
mod sieve;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use backstory_event::SessionId;
use backstory_store::{SessionFilter, SessionHead, lock_file};

use self::copies::CopySearch;
use self::outside::{Intent, is_logged_of};
use self::proof::{Probes, SearchedPlaces};
use self::sieve::{Names, Sieve, blank};
use crate::Upkeep;
use crate::capture::Spool;
use crate::error::Result;
use crate::import::discover::Problem;
use crate::path_text::container_of_log;
use crate::random::random_key;
use crate::redaction::redactor_of_store;
use crate::search::{Mode, Need, Query, SearchOptions, index_folder};
use crate::upkeep::disk_bytes;

pub use outside::{ForgetPlace, ForgetPlaces, ForgetPlan, Leftover, RewrittenFile};
pub use proof::Proof;
pub use record::{ForgetRecord, ForgottenSession, ProofRecord};

/// Selection of sessions to forget; their subagents are forgotten with them.
#[derive(Debug, Clone, Copy)]
pub enum Forget<'a> {
    /// The one whose id begins so.
    Session(&'a str),
    /// Those of a project, named as in [`SessionFilter`].
    Project(&'a str),
    /// Those with a turn that has all the words of a query.
    Query(&'a str),
}

/// Result of forgetting.
#[derive(Debug, Clone)]
pub struct ForgetReport {
    /// Number of bytes by which the files on disk became smaller.
    pub freed_bytes: u64,
    /// Bytes that the store takes on disk now.
    pub final_usage_bytes: u64,
    /// True if another process was in the way, so that the next sweep has to clean up what is left in its files.
    pub unclean: bool,
    /// The agents' own logs that are still there, with the text in them.
    pub agent_logs: Vec<PathBuf>,
    /// Files beside the store that were not changed.
    pub left: Vec<Leftover>,
    /// Published files that were not found on this machine, as the catalogue names them.
    pub missing: Vec<String>,
    /// Files and folders that were written anew or removed.
    pub rewritten: Vec<RewrittenFile>,
    /// That nothing is left.
    pub proof: Proof,
}

/// Forgetting that one process began and another one finished.
#[derive(Debug, Clone)]
pub struct ResumedForget {
    /// The sessions; none when they were gone already and only traces of them in files were left.
    pub sessions: Vec<SessionHead>,
    /// Ids of the sessions, also of those that were gone already; none when nobody knows them any more.
    pub ids: Vec<String>,
    /// Report of it. Nothing is verified when the sessions were gone: nobody knows their words any more.
    pub report: ForgetReport,
}

impl ResumedForget {
    /// Returns whether this forgot all that a selection means, which meant these sessions before.
    pub fn covers(&self, which: Forget<'_>, before: &[SessionHead]) -> bool {
        match which {
            Forget::Session(prefix) => self.ids.iter().any(|id| id.starts_with(prefix)),
            _ => before
                .iter()
                .any(|session| self.ids.contains(&session.session)),
        }
    }

    /// Places that may still have text of the sessions, for a sweep that finished this on the way. `unclean` is whether that sweep
    /// could not clean up the store in `home` either.
    pub(crate) fn into_problems(self, home: &Path, unclean: bool) -> Vec<Problem> {
        let report = self.report;
        let remains = report.unexpected_remains().into_iter();
        let remains = remains.map(|place| Problem {
            path: PathBuf::from(place),
            reason: "it still has text of forgotten sessions".to_string(),
        });
        let mut problems: Vec<Problem> = remains.collect();
        let unsearched = report.proof.unsearched.iter().map(|damage| Problem {
            path: home.join("backstory.db"),
            reason: format!("not searched for text of forgotten sessions: {damage}"),
        });
        problems.extend(unsearched);
        if unclean {
            problems.push(Problem {
                path: home.to_path_buf(),
                reason: "another process keeps old states of its files, with text of forgotten sessions; stop it and run \
                         `backstory sweep` again"
                    .to_string(),
            });
        }
        let left = report.left.into_iter().map(|left| Problem {
            path: left.path,
            reason: format!("it may have text of forgotten sessions: {}", left.reason),
        });
        let missing = report.missing.into_iter().map(|target| Problem {
            path: PathBuf::from(target),
            reason: "a pattern of forgotten sessions was published there, and it was not found"
                .to_string(),
        });
        problems.extend(left.chain(missing));
        problems
    }
}

impl ForgetReport {
    /// Returns places where text was found, without those that are known to be left.
    pub fn unexpected_remains(&self) -> Vec<&str> {
        let is_left = |place: &str| {
            let mut left = self.left.iter();
            left.any(|left| left.path.display().to_string() == place)
        };
        let remains = self.proof.remains.iter().map(String::as_str);
        remains.filter(|place| !is_left(place)).collect()
    }
}

/// Documents to remove from the index when sessions are forgotten.
pub(crate) struct IndexRemoval {
    removed: Vec<SessionId>,
    /// Other sessions of which a text changed.
    changed: BTreeSet<SessionId>,
}

/// Result of writing the files of the store anew.
pub(crate) struct CleanUp {
    /// True if all were: else another process was in the way.
    pub(crate) is_complete: bool,
    rewritten: Vec<RewrittenFile>,
}

impl Upkeep<'_> {
    /// The sessions that would be forgotten.
    pub fn to_forget(&self, which: Forget<'_>) -> Result<Vec<SessionHead>> {
        let rows = match which {
            Forget::Session(prefix) => vec![self.memory.sessions().row(prefix)?.id],
            Forget::Project(project) => self.memory.store.session_rows(&SessionFilter {
                project: Some(project.to_string()),
                ..SessionFilter::default()
            })?,
            Forget::Query(text) => {
                let mut query = Query::parse(text);
                for clause in &mut query.clauses {
                    if clause.need == Need::Wanted {
                        clause.need = Need::Required;
                    }
                }
                let options = SearchOptions {
                    mode: Mode::Keyword,
                    ..SearchOptions::default()
                };
                let hits = self.memory.search().run(&query, &options)?.hits;
                hits.into_iter().map(|hit| hit.session.id).collect()
            }
        };
        let rows = self.memory.store.with_subagents(&rows)?;
        let mut heads = self.memory.store.session_heads(rows.iter().copied())?;
        Ok(rows.iter().filter_map(|row| heads.remove(row)).collect())
    }

    /// Forgets sessions in the store and in other places, and verifies it. Of published files only those in `allowed` change.
    ///
    /// Stopped at any instant, they are forgotten or about to be: the next sweep or [`Upkeep::resume_forget`] does the rest.
    pub fn forget(
        &self,
        sessions: &[SessionHead],
        places: &ForgetPlaces,
        allowed: &[PathBuf],
    ) -> Result<ForgetReport> {
        let _lock = lock_file(&self.memory.home.join("sweep.lock"), || {})?;
        let plan = self.plan_forget(sessions, places)?;
        let (published, declined): (Vec<PathBuf>, Vec<PathBuf>) = plan
            .published
            .into_iter()
            .partition(|path| allowed.contains(path));
        let spool = places.spool.as_ref().map(Spool::private_folders);
        let intent = Intent {
            sessions: sessions
                .iter()
                .map(|session| (session.id, session.session.clone()))
                .collect(),
            catalogue: places.catalogue.clone(),
            published,
            spool: spool.unwrap_or_default(),
            declined,
            missing: plan.missing,
            ..Intent::default()
        };
        let json = serde_json::to_vec(&intent).map_err(std::io::Error::from)?;
        self.memory.store.keep_forget_intent(&json)?;
        self.forget_intended(sessions, &intent)
    }

    /// Replaces keys of the store that are damaged, so that it can be swept again. Nothing is known of forgotten sessions any more if the
    /// damage is theirs. Returns the names of what was damaged.
    pub fn renew_keys(&self) -> Result<Vec<String>> {
        let _lock = lock_file(&self.memory.home.join("sweep.lock"), || {})?;
        Ok(self.memory.store.renew_keys()?)
    }

    /// Returns whether [`Upkeep::resume_forget`] has something to do.
    pub fn has_unfinished_forget(&self) -> Result<bool> {
        Ok(self.memory.store.is_unclean()?)
    }

    /// Finishes what an interrupted process was forgetting; `None` when there was nothing.
    pub fn resume_forget(&self) -> Result<Option<ResumedForget>> {
        let _lock = lock_file(&self.memory.home.join("sweep.lock"), || {})?;
        match self.memory.store.is_unclean()? {
            true => self.finish_forgetting().map(Some),
            false => Ok(None),
        }
    }

    /// Forgets what was to be forgotten and cleans up. The caller holds the lock.
    pub(crate) fn finish_forgetting(&self) -> Result<ResumedForget> {
        let Some(json) = self.memory.store.forget_intent()? else {
            return self.clean_up_traces(Intent::default());
        };
        let intent: Intent = serde_json::from_slice(&json).unwrap_or_default();
        let mut heads = self
            .memory
            .store
            .session_heads(intent.sessions.iter().map(|(row, _)| *row))?;
        let sessions = intent.sessions.iter().filter_map(|(row, name)| {
            let head = heads.remove(row)?;
            (head.session == *name).then_some(head)
        });
        let sessions: Vec<SessionHead> = sessions.collect();
        if sessions.is_empty() {
            return self.clean_up_traces(intent);
        }
        let report = self.forget_intended(&sessions, &intent)?;
        Ok(ResumedForget {
            sessions,
            ids: intent.ids(),
            report,
        })
    }

    /// Writes anew what may hold traces of sessions that are gone, and reports what the process that forgot them could not.
    fn clean_up_traces(&self, intent: Intent) -> Result<ResumedForget> {
        let before = disk_bytes(&self.memory.home);
        let cleaned = self.clean_up(None)?;
        let final_usage_bytes = disk_bytes(&self.memory.home);
        let ids = intent.ids();
        let left = intent.all_left();
        Ok(ResumedForget {
            sessions: Vec::new(),
            ids,
            report: ForgetReport {
                freed_bytes: before.saturating_sub(final_usage_bytes),
                final_usage_bytes,
                unclean: !cleaned.is_complete,
                agent_logs: existing(intent.agent_logs),
                left,
                missing: intent.missing,
                rewritten: cleaned.rewritten,
                proof: Proof::default(),
            },
        })
    }

    fn forget_intended(&self, sessions: &[SessionHead], intent: &Intent) -> Result<ForgetReport> {
        self.forget_unread_logs()?;
        let before = disk_bytes(&self.memory.home);
        let names = Names::new(sessions);
        let probes = Probes::new(&self.memory.store, sessions, &names)?;
        let rows: Vec<SessionId> = sessions.iter().map(|session| session.id).collect();
        let mut logs = self.memory.store.logs_of_sessions(&rows)?;
        let mut places = SearchedPlaces {
            folders: intent.spool.clone(),
            published: [&intent.published[..], &intent.declined[..]].concat(),
            ..SearchedPlaces::default()
        };
        places.folders.extend(intent.catalogue.clone());
        // Until the sessions are gone: a verdict that is saved later finds that they are.
        let lock = self.memory.digest_verdicts().lock()?;
        let outside = self.forget_outside(sessions, intent, &names, &probes, &lock)?;
        let redactor = redactor_of_store(Some(&self.memory.store))?;
        // What an earlier process left in the index is not known by session.
        let has_traces = self.memory.store.has_traces()?;
        let suspects = CopySearch::new(&self.memory.store, sessions, &names)?
            .find_suspects(&self.memory.home, &self.memory.store)?;
        let forgetting = self.memory.store.forget(&rows, random_key())?;
        let remaining = forgetting.remaining()?.into_iter();
        for stream in remaining.filter(|stream| suspects.contains(&stream.id)) {
            let mut sieve = Sieve::new(&stream, &names, forgetting.keys());
            forgetting.rewrite(stream.id, |start, bytes| sieve.block(start, bytes))?;
            if sieve.has_blanked() {
                let mut reading = None;
                forgetting.rewrite(stream.id, |start, bytes| {
                    let says = |line: &[u8]| probes.has_said(line);
                    let copied = sieve.copied_titles(&mut reading, start, bytes, says);
                    let blanked = copied.into_iter().map(|range| blank(&mut bytes[range]));
                    blanked.fold(false, |changed, blanked| changed | blanked)
                })?;
                let remaining = sieve.remaining(&redactor, |each| {
                    Ok(forgetting.rewrite(stream.id, |start, bytes| {
                        each(start, bytes);
                        false
                    })?)
                })?;
                forgetting.relearn(stream.id, &remaining.lost, &remaining.facts)?;
                places.blanked.insert(stream.id);
                places.kept.extend(remaining.kept);
                if !logs.contains(&stream.path) {
                    logs.push(stream.path);
                }
            }
        }
        forgetting.rewrite_texts(
            |text| names.masked(text),
            |session, data| {
                let is_one = |session: &str| {
                    names.has_id(session) || names.masked(session.as_bytes()).is_some()
                };
                session.is_some_and(is_one) || is_logged_of(data, &names, &probes)
            },
        )?;
        let committed = Intent {
            agent_logs: logs.into_iter().map(PathBuf::from).collect(),
            left: outside.left,
            ..intent.clone()
        };
        let json = serde_json::to_vec(&committed).map_err(std::io::Error::from)?;
        let changed = forgetting.commit(&json)?;
        let removal = IndexRemoval {
            removed: rows,
            changed,
        };
        let cleaned = self.clean_up((!has_traces).then_some(&removal))?;
        let mut rewritten = cleaned.rewritten;
        rewritten.extend(outside.rewritten);
        let final_usage_bytes = disk_bytes(&self.memory.home);
        let proof = probes.prove(&self.memory.home, &self.memory.store, &places)?;
        self.note_damage(&proof.unsearched);
        Ok(ForgetReport {
            freed_bytes: before.saturating_sub(final_usage_bytes),
            final_usage_bytes,
            unclean: !cleaned.is_complete,
            left: committed.all_left(),
            agent_logs: existing(committed.agent_logs),
            missing: committed.missing,
            rewritten,
            proof,
        })
    }

    /// Writes anew what may still hold something that was forgotten. Without a `removal` that is all of the index.
    pub(crate) fn clean_up(&self, removal: Option<&IndexRemoval>) -> Result<CleanUp> {
        self.memory.open_index.take();
        self.memory.open_model.take();
        // An index that cannot be mended is made anew.
        let is_removed = removal.is_some_and(|removal| {
            let rows = removal.removed.iter().chain(&removal.changed).copied();
            self.memory.search().remove_sessions(rows).is_ok()
        });
        if !is_removed {
            self.memory.search().rebuild_index()?;
        }
        let rewritten_file = RewrittenFile::new;
        let mut rewritten = vec![rewritten_file(
            ForgetPlace::Index,
            index_folder(&self.memory.home),
        )];
        let vectors = self.memory.models().remove_missing_sessions()?;
        let mut is_complete = false;
        if let Some(folders) = vectors {
            let folders = folders.into_iter();
            rewritten.extend(folders.map(|folder| rewritten_file(ForgetPlace::Vectors, folder)));
            is_complete = self.memory.store.scrub()? && self.memory.store.settle_forgotten()?;
        }
        if is_complete {
            let database = self.memory.home.join("backstory.db");
            rewritten.push(rewritten_file(ForgetPlace::Database, database));
        }
        rewritten.sort();
        Ok(CleanUp {
            is_complete,
            rewritten,
        })
    }
}

/// Returns the files of logs that are there; of a log inside of another file, that one.
fn existing(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in paths {
        let file = match path.exists() {
            true => Some(path),
            false => path.to_str().and_then(container_of_log),
        };
        files.extend(file.filter(|file| !files.contains(file)));
    }
    files
}
