//! Texts that change bit by bit.

use proptest::prelude::*;

use super::language;
use crate::{Parsed, outline};

const SOURCES: [(&str, &str); 4] = [
    (
        "python",
        "import os\n\n@cached\nclass A(B):\n    limit = 1\n\n    def f(self, x):\n        '''Doc.'''\n        return [y for y in x]\n\n    async def g(self):\n        pass\n\n\ndef h(a, *b):\n    def inner():\n        return a\n    return inner\n",
    ),
    (
        "rust",
        "use std::io;\n\n/// Doc.\n#[derive(Debug)]\nstruct A {\n    x: u32,\n}\n\nimpl A {\n    fn f(&self) -> u32 {\n        self.x\n    }\n}\n\nasync fn g<T: Clone>(t: T) -> T {\n    t.clone()\n}\n",
    ),
    (
        "typescript",
        "import { x } from './x';\n\nexport class A<T> {\n  f(a: T): string {\n    return `a ${a}`;\n  }\n}\n\nexport const g = async (a: number) => {\n  return a + 1;\n};\n",
    ),
    (
        "go",
        "package main\n\nimport \"fmt\"\n\ntype A struct {\n\tx int\n}\n\nfunc (a *A) f() int {\n\treturn a.x\n}\n\nfunc main() {\n\tfmt.Println(1)\n}\n",
    ),
];

proptest! {
    #[test]
    fn what_became_of_a_text_is_seen_as_if_it_were_new(
        which in 0..SOURCES.len(),
        edits in prop::collection::vec((0..40_usize, 0..40_usize, 0..4_usize, any::<bool>()), 1..6),
        ends in any::<bool>(),
    ) {
        let (name, source) = SOURCES[which];
        let language = language(name);
        let mut lines: Vec<&str> = source.lines().collect();
        let mut parsed = Parsed::new(language, source.to_string()).unwrap();
        for (from, to, count, insert) in edits {
            let (from, to) = (from % (lines.len() + 1), to % (lines.len() + 1));
            let end = (from + count).min(lines.len());
            let moved: Vec<&str> = match insert {
                true => lines[from..end].to_vec(),
                false => lines.drain(from..end).collect(),
            };
            let at = to.min(lines.len());
            lines.splice(at..at, moved);
            let mut text = lines.join("\n");
            if ends {
                text.push('\n');
            }
            parsed = parsed.then(text.clone()).unwrap();
            let whole = outline(language, text.as_bytes()).unwrap();
            let seen = parsed.symbols();
            prop_assert_eq!(&seen.symbols, &whole.symbols, "{}", text);
            prop_assert_eq!(seen.has_errors, whole.has_errors);
            prop_assert_eq!(parsed.outline(), whole, "{}", text);
        }
    }
}

/// Comparing these line by line would take minutes.
#[test]
fn long_texts_that_have_little_in_common_are_not_compared() {
    let text = |name: &str, lines: usize| {
        let lines = (0..lines).map(|line| format!("{name}_{line} = {line}\n"));
        format!(
            "def first():\n    pass\n\n{}def last():\n    pass\n",
            lines.collect::<String>()
        )
    };
    let (old, new) = (text("old", 20_000), text("new", 15_000));
    let parsed = Parsed::new(language("python"), old).unwrap();
    let seen = parsed.then(new.clone()).unwrap().symbols();
    let whole = outline(language("python"), new.as_bytes()).unwrap();
    assert_eq!(seen.symbols, whole.symbols);
}
