//! Review of digests: shows each session with its evidence, and takes a person's verdicts.

use std::collections::HashSet;
use std::io::{IsTerminal, Write};

use backstory_event::SessionName;
use backstory_memory::digest::{
    Digest, DigestEvidence, DigestItem, DigestVerdict, Grade, ItemVerdict, Outcome, Statement,
};
use backstory_memory::upkeep::WithDamage;
use backstory_memory::{Memory, SessionRow};

use crate::error::Error;
use crate::keys::Answers;
use crate::naming::short_id;
use crate::output::{BOLD, DIM, GREEN, counted, local_time, one_line, say, stdout, warn};
use crate::setting::now;

/// Outcomes by their keys, which are none of `y`, `u`, `s` and `q`.
const OUTCOME_KEYS: [(&str, Outcome); 7] = [
    ("o", Outcome::Success),
    ("p", Outcome::Partial),
    ("f", Outcome::Failed),
    ("a", Outcome::Abandoned),
    ("l", Outcome::Planned),
    ("r", Outcome::Running),
    ("x", Outcome::Unknown),
];

const GRADE_KEYS: [(&str, &str, Grade); 3] = [
    ("g", "good", Grade::Good),
    ("m", "middling", Grade::Middling),
    ("p", "poor", Grade::Poor),
];

/// Maximum number of answers in a row that are no verdicts: then nobody is answering.
const MAX_BAD_ANSWERS: usize = 100;

/// Maximum number of characters of the first request, and of each end of the last reply.
const MAX_REQUEST_CHARACTERS: usize = 600;
const MAX_REPLY_CHARACTERS: usize = 400;
/// Maximum number of characters of a line.
const MAX_LINE_CHARACTERS: usize = 160;
/// Maximum number of later prompts that are shown of each end of a session, and of checks.
const MAX_LATER: usize = 15;
const MAX_CHECKS: usize = 8;

/// A session under review.
struct Sheet {
    row: SessionRow,
    digest: WithDamage<Digest>,
    evidence: DigestEvidence,
    verdict: DigestVerdict,
}

/// A verdict that can be taken back.
struct Step {
    /// Place of the session among the sheets.
    place: usize,
    /// Verdicts about the session without this one.
    before: DigestVerdict,
}

/// End of asking about one session.
enum End {
    Done,
    Undo,
    Quit,
}

/// Answer to a question.
enum Answer {
    /// A verdict and its name.
    Verdict(ItemVerdict, &'static str),
    Undo,
    Skip,
    Quit,
    Unknown,
}

/// Review of a sample.
struct Review<'m> {
    memory: &'m Memory,
    answers: Answers,
    /// Sessions that were not looked at, the next one last.
    rows: Vec<SessionRow>,
    /// Verdicts of earlier reviews.
    known: Vec<DigestVerdict>,
    sheets: Vec<Sheet>,
    steps: Vec<Step>,
}

/// Asks for verdicts about a sample until it is judged or nobody answers. Each verdict is kept at once.
pub(super) fn run(memory: &Memory, sessions: usize, seed: u64) -> Result<(), Error> {
    let verdicts = memory.digest_verdicts();
    let mut rows = verdicts.sample(sessions, seed)?;
    // Of other samples, only what changed is asked.
    let mut names: HashSet<SessionName> = rows.iter().map(SessionRow::name).collect();
    let judged = verdicts.judged_sessions()?.into_iter();
    rows.extend(judged.filter(|row| names.insert(row.name())));
    if rows.is_empty() {
        return say("there is nothing to judge: no session of a person is stored with its text");
    }
    rows.reverse();
    let is_by_key = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let mut review = Review {
        memory,
        answers: Answers::open(is_by_key),
        rows,
        known: verdicts.list()?,
        sheets: Vec::new(),
        steps: Vec::new(),
    };
    review.run()?;
    if review.sheets.is_empty() {
        return say(
            "all of this sample is judged; --sessions makes it larger, --seed draws another\n",
        );
    }
    say(&format!(
        "{} kept in {}\n",
        counted(review.steps.len() as u64, "verdict"),
        verdicts.path().display()
    ))
}

impl Review<'_> {
    fn run(&mut self) -> Result<(), Error> {
        let mut place = 0;
        let mut is_shown = false;
        while place < self.sheets.len() || self.open_next()? {
            match self.judge_session(place, is_shown)? {
                End::Done => {
                    place += 1;
                    is_shown = false;
                }
                End::Undo => {
                    let before = self.undo()?.unwrap_or(place);
                    is_shown = before == place;
                    place = before;
                }
                End::Quit => return Ok(()),
            }
        }
        Ok(())
    }

    /// Opens the next session that has something to judge; false if there is none.
    fn open_next(&mut self) -> Result<bool, Error> {
        while let Some(row) = self.rows.pop() {
            let session = self.memory.sessions().open(row);
            let row = session.row().clone();
            let read = session
                .digest()
                .and_then(|digest| Ok((digest, session.digest_evidence()?)));
            let (digest, evidence) = match read {
                Ok(read) => read,
                // It costs this session and no other.
                Err(error) => {
                    let id = short_id(self.memory, &row.agent, &row.session);
                    warn(&format!("{id} is left out: {error}"));
                    continue;
                }
            };
            let is_current =
                |known: &&DigestVerdict| known.name() == row.name() && known.events == row.events;
            let known = self.known.iter().find(is_current).cloned();
            let verdict = known.unwrap_or_else(|| DigestVerdict::new(&row));
            if !verdict.pending(&digest).is_empty() {
                for damage in &digest.damage {
                    warn(damage);
                }
                self.sheets.push(Sheet {
                    row,
                    digest,
                    evidence,
                    verdict,
                });
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Shows a session unless it is shown already, and asks about all that has no verdict.
    fn judge_session(&mut self, place: usize, is_shown: bool) -> Result<End, Error> {
        let Sheet {
            row,
            digest,
            evidence,
            verdict,
        } = &mut self.sheets[place];
        let mut out = stdout();
        let questions = verdict.pending(digest).len();
        if questions > 0 && !is_shown {
            let id = short_id(self.memory, &row.agent, &row.session);
            print_sheet(&mut out, &id, digest, evidence, questions)?;
        }
        let mut bad_answers = 0;
        while let Some(item) = verdict.pending(digest).first().copied() {
            print_question(&mut out, item)?;
            let text = self.answers.next_answer()?;
            let answer = text.map_or(Answer::Quit, |text| parse_answer(&text, item));
            match answer {
                Answer::Verdict(judged, name) => {
                    writeln!(out, "{GREEN}{name}{GREEN:#}")?;
                    bad_answers = 0;
                    let before = verdict.clone();
                    verdict.judge(item, judged);
                    verdict.judged_at = Some(now());
                    verdict.version = env!("CARGO_PKG_VERSION").to_string();
                    self.memory.digest_verdicts().save(row, verdict)?;
                    self.steps.push(Step { place, before });
                }
                Answer::Undo if self.steps.is_empty() => {
                    writeln!(out, "nothing to undo")?;
                }
                Answer::Undo => {
                    writeln!(out, "undo")?;
                    out.flush()?;
                    return Ok(End::Undo);
                }
                Answer::Skip => {
                    writeln!(out, "skip")?;
                    break;
                }
                Answer::Quit => {
                    writeln!(out, "quit\n")?;
                    out.flush()?;
                    return Ok(End::Quit);
                }
                Answer::Unknown => {
                    writeln!(out, "?")?;
                    bad_answers += 1;
                    if bad_answers == MAX_BAD_ANSWERS {
                        out.flush()?;
                        warn(&format!("{bad_answers} answers in a row are no verdicts"));
                        return Ok(End::Quit);
                    }
                }
            }
        }
        if questions > 0 {
            writeln!(out)?;
        }
        out.flush()?;
        Ok(End::Done)
    }

    /// Takes the last verdict back, and returns the place of its session.
    fn undo(&mut self) -> Result<Option<usize>, Error> {
        let Some(Step { place, before }) = self.steps.pop() else {
            return Ok(None);
        };
        let sheet = &mut self.sheets[place];
        let verdicts = self.memory.digest_verdicts();
        if before == DigestVerdict::new(&sheet.row) {
            verdicts.remove(&sheet.row)?;
        } else {
            verdicts.save(&sheet.row, &before)?;
        }
        sheet.verdict = before;
        Ok(Some(place))
    }
}

/// Returns what an answer means for a part of a digest.
fn parse_answer(text: &str, item: DigestItem<'_>) -> Answer {
    match text {
        "u" | "undo" => return Answer::Undo,
        "s" | "skip" => return Answer::Skip,
        "q" | "quit" => return Answer::Quit,
        _ => {}
    }
    let verdict = match item {
        DigestItem::Outcome(given) => {
            let named = OUTCOME_KEYS
                .iter()
                .find(|(key, outcome)| text == *key || text == outcome.name());
            let outcome = match text {
                "" | "y" | "yes" => Some(given),
                _ => named.map(|(_, outcome)| *outcome),
            };
            outcome.map(|outcome| (ItemVerdict::Outcome(outcome), outcome.name()))
        }
        DigestItem::Title(_) | DigestItem::Headline(_) => {
            let named = GRADE_KEYS
                .iter()
                .find(|(key, name, _)| text == *key || text == *name);
            named.map(|(_, name, grade)| (ItemVerdict::Grade(*grade), *name))
        }
        DigestItem::Decision(_) | DigestItem::Problem(_) => match text {
            "y" | "yes" => Some((ItemVerdict::Right(true), "right")),
            "n" | "no" => Some((ItemVerdict::Right(false), "wrong")),
            _ => None,
        },
    };
    verdict.map_or(Answer::Unknown, |(verdict, name)| {
        Answer::Verdict(verdict, name)
    })
}

/// Asks about a part of a digest; the answer stands in the same line.
fn print_question(out: &mut impl Write, item: DigestItem<'_>) -> Result<(), Error> {
    let grades = || {
        GRADE_KEYS
            .map(|(key, name, _)| format!("{key} {name}"))
            .join(", ")
    };
    let statement = |said: &Statement| format!("{}{}", line(&said.text), cite(said));
    let (question, keys) = match item {
        DigestItem::Outcome(outcome) => {
            let others = OUTCOME_KEYS.map(|(key, outcome)| format!("{key} {}", outcome.name()));
            let keys = format!("Enter or y right, else {}", others.join(", "));
            (format!("outcome {}", outcome.name()), keys)
        }
        DigestItem::Title(text) => (format!("title: {}", line(text)), grades()),
        DigestItem::Headline(text) => (format!("headline: {}", line(text)), grades()),
        DigestItem::Decision(said) => (
            format!("decision: {}", statement(said)),
            "y right, n wrong".to_string(),
        ),
        DigestItem::Problem(said) => (
            format!("still a problem: {}", statement(said)),
            "y right, n wrong".to_string(),
        ),
    };
    writeln!(out, "{BOLD}{question}{BOLD:#}")?;
    write!(out, "  {DIM}{keys}; u undo, s skip, q quit:{DIM:#} ")?;
    out.flush()?;
    Ok(())
}

/// Prints a session: the evidence first, then the digest.
fn print_sheet(
    out: &mut impl Write,
    id: &str,
    digest: &Digest,
    evidence: &DigestEvidence,
    questions: usize,
) -> Result<(), Error> {
    let session = &digest.session;
    let project = session.project.as_deref().unwrap_or("no project");
    writeln!(
        out,
        "{BOLD}Session {id}{BOLD:#}  {DIM}{} · {} · {} · {}{DIM:#}",
        session.agent,
        one_line(project),
        local_time(session.started_at),
        counted(questions as u64, "question")
    )?;
    writeln!(out, "{BOLD}Evidence{BOLD:#}")?;
    if let Some(said) = &evidence.first_request {
        let text = cut(&one_line(&said.text), MAX_REQUEST_CHARACTERS);
        print_line(out, "request", &format!("{text}{}", cite(said)))?;
    }
    let later = evidence.later.len();
    for (number, said) in evidence.later.iter().enumerate() {
        if number < MAX_LATER || number + MAX_LATER >= later {
            print_line(out, "then", &format!("{}{}", line(&said.text), cite(said)))?;
        } else if number == MAX_LATER {
            let count = later - 2 * MAX_LATER;
            print_line(out, "", &format!("({count} more)"))?;
        }
    }
    if let Some(said) = &evidence.last_reply {
        let text = both_ends(&one_line(&said.text), MAX_REPLY_CHARACTERS);
        print_line(out, "last reply", &format!("{text}{}", cite(said)))?;
    }
    let hidden = evidence.checks.len().saturating_sub(MAX_CHECKS);
    for check in &evidence.checks[hidden..] {
        print_line(
            out,
            "check",
            &format!("{}{}", line(&check.text), cite(check)),
        )?;
    }
    writeln!(out, "{BOLD}Digest{BOLD:#}")?;
    let title = session.title.as_deref().unwrap_or("untitled");
    print_line(out, "title", &one_line(title))?;
    if let Some(headline) = &digest.headline {
        print_line(out, "headline", &one_line(&headline.text))?;
    }
    print_line(out, "outcome", digest.outcome.name())?;
    for (name, statements) in [
        ("because", &digest.reasons),
        ("done", &digest.done),
        ("decided", &digest.decisions),
        ("problem", &digest.problems),
        ("open", &digest.next_steps),
    ] {
        for said in statements {
            print_line(out, name, &format!("{}{}", line(&said.text), cite(said)))?;
        }
    }
    writeln!(out)?;
    Ok(())
}

fn print_line(out: &mut impl Write, name: &str, text: &str) -> Result<(), Error> {
    writeln!(out, "  {DIM}{name:<10}{DIM:#} {text}")?;
    Ok(())
}

fn cite(said: &Statement) -> String {
    said.turn.map_or(String::new(), |turn| format!("  #{turn}"))
}

/// Returns a text as a line that is not too long.
fn line(text: &str) -> String {
    cut(&one_line(text), MAX_LINE_CHARACTERS)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_string(),
    }
}

/// Returns the beginning and the end of a text, each of at most so many characters.
fn both_ends(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= 2 * most {
        return text.to_string();
    }
    let end: String = text.chars().skip(count - most).collect();
    format!("{} {}", cut(text, most), end.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_outcomes_are_distinct_and_of_all() {
        let mut keys: Vec<&str> = OUTCOME_KEYS.iter().map(|(key, _)| *key).collect();
        keys.extend(["y", "u", "s", "q", "n"]);
        let distinct: HashSet<&str> = keys.iter().copied().collect();
        assert_eq!(distinct.len(), keys.len());
        for outcome in Outcome::ALL {
            assert!(OUTCOME_KEYS.iter().any(|(_, known)| *known == outcome));
        }
    }

    #[test]
    fn long_texts_show_both_ends() {
        assert_eq!(both_ends("äöü", 2), "äöü");
        assert_eq!(both_ends("äbcdefü", 2), "äb… fü");
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("ä öü", 2), "ä…");
    }
}
