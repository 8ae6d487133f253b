//! Vectors of passages, for programs that compare them on their own.

use std::collections::HashMap;

use backstory_embed::Model;
use backstory_event::{Seq, SessionId, SessionName};

use super::embed::VectorSet;
use crate::Models;
use crate::error::Result;

/// Vector of a passage of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct PassageVector {
    /// Session of the event.
    pub session: SessionName,
    /// Number of the event in its session.
    pub seq: Seq,
    /// Number of the passage in the event, from 0.
    pub passage: u32,
    /// The vector: of length one, each value rounded to twelve bits.
    pub vector: Vec<f32>,
}

impl Models<'_> {
    /// Calls `each` with the vectors of a model, in the order in which they were made. Vectors of events that have changed since are left out.
    pub fn visit_vectors(&self, name: &str, mut each: impl FnMut(PassageVector)) -> Result<()> {
        let model = Model::open(&self.folder(name))?;
        let weights = self.known_weights(name, &model)?;
        let weights = weights.as_ref().map(|(_, weights)| weights);
        let set = VectorSet::new(self.vectors_folder(name), &model, weights);
        let store = &self.memory.store;
        let consumer = store.lag().find(&crate::derive::vectors_consumer(name))?;
        let mut sessions: HashMap<SessionId, Option<(SessionName, Seq)>> = HashMap::new();
        let mut problem = None;
        let visited = set.open()?.visit(|key, vector| {
            let known = sessions.entry(key.session).or_insert_with(|| {
                let found = store.session_heads([key.session]).and_then(|heads| {
                    let head = heads.into_values().next();
                    let last = match consumer {
                        Some(consumer) => store.lag().seen_to(consumer, key.session)?,
                        None => Seq::ZERO,
                    };
                    Ok(head.map(|head| (head.name(), last)))
                });
                found.unwrap_or_else(|error| {
                    problem = Some(error);
                    None
                })
            });
            if let Some((session, _)) = known.as_ref().filter(|(_, last)| key.seq <= *last) {
                each(PassageVector {
                    session: session.clone(),
                    seq: key.seq,
                    passage: key.chunk,
                    vector,
                });
            }
        });
        match problem {
            Some(error) => Err(error.into()),
            None => Ok(visited?),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

    use crate::trial::{Trial, id, prompt};

    #[test]
    fn vectors_are_given_with_their_events() {
        let mut trial = Trial::new();
        trial.append(&id(1), &[prompt(1, 1, 1, "a car by the sea")]);
        trial.append(&id(2), &[prompt(2, 1, 1, "a hut by the sea")]);
        trial.sweep();
        trial.add_model("words");
        trial.memory.models().embed("words", &mut |_| {}).unwrap();
        let mut found = Vec::new();
        let models = trial.memory.models();
        models
            .visit_vectors("words", |row| found.push(row))
            .unwrap();
        let sessions: Vec<&str> = found.iter().map(|row| &*row.session.id).collect();
        assert_eq!(sessions.len(), 2);
        assert!(sessions.contains(&id(1).as_str()) && sessions.contains(&id(2).as_str()));
        for row in &found {
            let length: f32 = row.vector.iter().map(|value| value * value).sum();
            assert!((length - 1.0).abs() < 1e-4, "{row:?}");
        }
    }
}
