//! Who gets how much of the budget: each layer its share, and what one leaves goes to the others.

use backstory_analysis::count_tokens;

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

/// The lines that a layer would say, the most useful first.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) layer: Layer,
    pub(super) heading: &'static str,
    pub(super) share: usize,
    pub(super) lines: Vec<String>,
}

/// Which lines of each offer are taken: whole ones, in their order. Layers stand in the order of their use: what is left after each
/// has taken its share goes to the first that wants it.
pub(super) fn choose(offers: &[Offer], room: Room) -> Vec<Vec<usize>> {
    let wanting = offers.iter().filter(|offer| !offer.lines.is_empty());
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
    for (place, line) in offer.lines.iter().enumerate() {
        if taken.contains(&place) {
            continue;
        }
        // A token may span the end of one line and the beginning of the next, but never costs more for it.
        let mut needed = Room::of(&format!("{line}\n"));
        if taken.is_empty() {
            needed = needed.plus(Room::of(&format!("{}\n", offer.heading)));
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
    use super::*;

    fn check(offers: &[(usize, &[&str])], characters: usize, expect: &[&[usize]]) {
        let offers: Vec<Offer> = offers
            .iter()
            .map(|(share, lines)| Offer {
                layer: Layer::Files,
                heading: "h",
                share: *share,
                lines: lines.iter().map(ToString::to_string).collect(),
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
    fn each_layer_gets_its_share_and_passes_on_what_is_left() {
        // A heading takes two characters, a line of eight takes nine.
        check(
            &[
                (50, &["12345678", "22345678"]),
                (50, &["32345678", "42345678"]),
            ],
            22,
            &[&[0], &[0]],
        );
        check(
            &[(50, &["12345678", "22345678"]), (50, &[])],
            20,
            &[&[0, 1], &[]],
        );
        check(
            &[(50, &[]), (50, &["12345678", "22345678"])],
            20,
            &[&[], &[0, 1]],
        );
        // What does not fit is left out, what comes after it may fit.
        check(&[(100, &["123456789012", "1234"])], 10, &[&[1]]);
        check(&[(100, &["12345678"])], 5, &[&[]]);
        check(&[], 5, &[]);
    }
}
