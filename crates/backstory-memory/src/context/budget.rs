//! Who gets how much of the budget: each layer its share, and what one leaves goes to the others.

use backstory_analysis::count_tokens;

use super::item::{Candidate, LeftOut, LeftOutReason, MIN_RELEVANCE};
use super::layer::Layer;

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) tokens: usize,
    pub(super) characters: usize,
}

impl Room {
    fn of(text: &str) -> Self {
        Room {
            tokens: count_tokens(text),
            // As agents count them that cut by characters.
            characters: text.encode_utf16().count(),
        }
    }

    pub(super) fn without(self, text: &str) -> Option<Self> {
        let needed = Room::of(text);
        Some(Room {
            tokens: self.tokens.checked_sub(needed.tokens)?,
            characters: self.characters.checked_sub(needed.characters)?,
        })
    }

    fn share(self, share: usize, shares: usize) -> Self {
        // Some agents know no bound: whole numbers would not hold the product.
        let part = |whole: usize| (whole as u128 * share as u128 / shares.max(1) as u128) as usize;
        Room {
            tokens: part(self.tokens),
            characters: part(self.characters),
        }
    }

    fn less(self, used: Room) -> Self {
        Room {
            tokens: self.tokens.saturating_sub(used.tokens),
            characters: self.characters.saturating_sub(used.characters),
        }
    }

    fn fits(self, used: Room) -> bool {
        used.tokens <= self.tokens && used.characters <= self.characters
    }

    fn plus(self, other: Room) -> Self {
        Room {
            tokens: self.tokens + other.tokens,
            characters: self.characters + other.characters,
        }
    }
}

/// The items that a layer would have, the most relevant first.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) layer: Layer,
    pub(super) share: usize,
    pub(super) items: Vec<Candidate>,
    /// Items that were left out whatever room there is.
    pub(super) left_out: Vec<LeftOut>,
}

impl Offer {
    /// Takes what is relevant enough, as many as the layer may have.
    pub(super) fn new(layer: Layer, share: usize, mut items: Vec<Candidate>) -> Self {
        let all = items.len();
        items.retain(|item| item.relevance >= MIN_RELEVANCE);
        let relevant = items.len();
        items.truncate(layer.max_items());
        let mut offer = Offer {
            layer,
            share,
            items,
            left_out: Vec::new(),
        };
        offer.leave_out(all - relevant, LeftOutReason::Irrelevant);
        let fewer = relevant - offer.items.len();
        offer.leave_out(fewer, LeftOutReason::MoreRelevantOnes);
        offer
    }

    fn leave_out(&mut self, items: usize, reason: LeftOutReason) {
        let known = self.left_out.iter_mut().find(|left| left.reason == reason);
        match known {
            _ if items == 0 => {}
            Some(known) => known.items += items,
            None => self.left_out.push(LeftOut {
                layer: self.layer,
                items,
                reason,
            }),
        }
    }

    /// Returns what was left out if so many items were taken; why there was none if that is so.
    pub(super) fn left_out(&self, taken: usize, calls: bool) -> Vec<LeftOut> {
        let mut left_out = self.left_out.clone();
        let left = |items, reason| LeftOut {
            layer: self.layer,
            items,
            reason,
        };
        if taken < self.items.len() {
            left_out.push(left(self.items.len() - taken, LeftOutReason::NoRoom));
        }
        if self.items.is_empty() && left_out.is_empty() {
            left_out.push(match self.layer {
                Layer::Calls if !calls => left(0, LeftOutReason::NotAskedFor),
                _ => left(0, LeftOutReason::NothingKnown),
            });
        }
        left_out
    }
}

/// Maximum number of items of those layers together of which every item costs attention: two good ones beat forty.
const MAX_ITEMS: usize = 8;

/// Leaves out the least relevant items of what earlier sessions say, where there are too many of all layers together.
pub(super) fn limit_items(offers: &mut [Offer]) {
    let is_limited = |layer| matches!(layer, Layer::Sessions | Layer::Files | Layer::Observations);
    let mut limited: Vec<&mut Offer> = (offers.iter_mut())
        .filter(|offer| is_limited(offer.layer))
        .collect();
    while limited.iter().map(|offer| offer.items.len()).sum::<usize>() > MAX_ITEMS {
        let last = |offer: &&mut Offer| offer.items.last().map_or(f64::MAX, |item| item.relevance);
        let least = limited
            .iter_mut()
            .min_by(|a, b| last(a).total_cmp(&last(b)));
        let Some(offer) = least else { return };
        offer.items.pop();
        offer.leave_out(1, LeftOutReason::MoreRelevantOnes);
    }
}

/// Which items of each offer are taken: whole ones, in their order. Layers stand in the order of their use: what is left after each
/// has taken its share goes to the first that wants it.
pub(super) fn choose(offers: &[Offer], room: Room) -> Vec<Vec<usize>> {
    let wanting = offers.iter().filter(|offer| !offer.items.is_empty());
    let shares = wanting.map(|offer| offer.share).sum();
    let mut taken: Vec<Vec<usize>> = vec![Vec::new(); offers.len()];
    let mut left = room;
    for (offer, taken) in offers.iter().zip(&mut taken) {
        let used = fill(offer, taken, room.share(offer.share, shares));
        left = left.less(used);
    }
    for (offer, taken) in offers.iter().zip(&mut taken) {
        let used = fill(offer, taken, left);
        left = left.less(used);
    }
    taken
}

/// Takes lines that fit and were not taken yet; returns what they need, the heading of the layer included.
fn fill(offer: &Offer, taken: &mut Vec<usize>, room: Room) -> Room {
    let mut used = Room {
        tokens: 0,
        characters: 0,
    };
    for (place, item) in offer.items.iter().enumerate() {
        if taken.contains(&place) {
            continue;
        }
        // A token may span the end of one line and the beginning of the next, but never costs more for it.
        let mut needed = Room::of(&format!("{}\n", item.text));
        if taken.is_empty() {
            needed = needed.plus(Room::of(&format!("{}\n", offer.layer.heading())));
        }
        if room.fits(used.plus(needed)) {
            used = used.plus(needed);
            taken.push(place);
        }
    }
    taken.sort_unstable();
    used
}

#[cfg(test)]
mod tests {
    use backstory_event::TurnNo;

    use super::*;
    use crate::context::item::Reason;

    fn candidate(text: &str, relevance: f64) -> Candidate {
        Candidate {
            text: text.to_string(),
            reason: Reason::LatestWork,
            relevance,
            session: String::new(),
            turn: TurnNo::FIRST,
        }
    }

    fn check(offers: &[(usize, &[&str])], characters: usize, expect: &[&[usize]]) {
        let offers: Vec<Offer> = offers
            .iter()
            .map(|(share, lines)| {
                let items = lines.iter().map(|line| candidate(line, 1.0));
                Offer::new(Layer::Files, *share, items.collect())
            })
            .collect();
        let room = Room {
            tokens: 10_000,
            characters,
        };
        let taken = choose(&offers, room);
        assert_eq!(taken, expect);
    }

    #[test]
    fn what_is_not_relevant_is_left_out_whatever_room_there_is() {
        let items =
            [1.0, 0.9, 0.8, 0.7, 0.5, 0.4, 0.3, 0.2].map(|relevance| candidate("x", relevance));
        let offer = Offer::new(Layer::Files, 1, items.to_vec());
        let left_out = offer.left_out.iter().map(|left| (left.items, left.reason));
        assert_eq!(
            (offer.items.len(), left_out.collect::<Vec<_>>()),
            (
                4,
                vec![
                    (2, LeftOutReason::Irrelevant),
                    (2, LeftOutReason::MoreRelevantOnes)
                ]
            )
        );
    }

    #[test]
    fn each_layer_gets_its_share_and_passes_on_what_is_left() {
        // The heading takes fourteen characters, a line of eight takes nine.
        check(
            &[
                (50, &["12345678", "22345678"]),
                (50, &["32345678", "42345678"]),
            ],
            46,
            &[&[0], &[0]],
        );
        check(
            &[(50, &["12345678", "22345678"]), (50, &[])],
            32,
            &[&[0, 1], &[]],
        );
        check(
            &[(50, &[]), (50, &["12345678", "22345678"])],
            32,
            &[&[], &[0, 1]],
        );
        // What does not fit is left out, what comes after it may fit.
        check(&[(100, &["123456789012", "1234"])], 22, &[&[1]]);
        check(&[(100, &["12345678"])], 5, &[&[]]);
        check(&[], 5, &[]);
    }
}
