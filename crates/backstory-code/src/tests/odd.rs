//! Files that nobody means to write, and hashes.

use proptest::prelude::*;

use super::{language, outlined};
use crate::{LANGUAGES, MAX_BYTES, Skipped, outline};

#[test]
fn odd_files_are_skipped_with_a_reason() {
    let python = language("python");
    let reason = |bytes: &[u8]| outline(python, bytes).unwrap_err();
    assert_eq!(reason(&vec![b'a'; MAX_BYTES + 1]), Skipped::TooLarge);
    assert_eq!(reason(&b"x=1;".repeat(100_000)), Skipped::Minified);
    assert_eq!(reason(b"\x7fELF\0\0"), Skipped::Binary);
    assert_eq!(reason(b"# caf\xe9\n"), Skipped::NotUtf8);
    assert_eq!(outlined("python", ""), crate::Outline::default());
    // More tokens than memory is for, and a file that is none of the language.
    let complex = Skipped::TooComplex;
    assert_eq!(reason(&b"a+\n".repeat(400_000)), complex);
    assert_eq!(reason(&b"some words more\n".repeat(9_000)), complex);
}

#[test]
fn shifts_and_comparisons_are_no_brackets() {
    let bits = "fn f(a: u64) -> u64 { a << 1 | a << 2; a }\n".repeat(1_000);
    assert_eq!(outlined("rust", &bits).symbols.len(), 1_000);
    let loops = "void f() { for (i = 0; i < n; i++) p->a(); }\n".repeat(1_000);
    assert_eq!(outlined("c", &loops).symbols.len(), 1_000);
    let compared = "a = 1 < 2\n".repeat(1_000);
    assert!(!outlined("python", &compared).has_errors);
}

/// As many as hold an unoptimised parser up for no longer than a moment.
const MANY: usize = 3_000;

#[test]
fn depth_costs_neither_stack_nor_time() {
    for language in LANGUAGES {
        for nested in [
            "(",
            "[",
            "{",
            "f(",
            "a.b(",
            "if x {\n",
            "class A:\n",
            "fn f() {\n",
            "function f() {\n",
        ] {
            let source = nested.repeat(MANY);
            let source = source.replace('(', "(\n");
            let _ = outline(language, source.as_bytes());
        }
    }
    let deep = |nested: &str| outline(language("java"), nested.repeat(100_000).as_bytes());
    assert_eq!(deep("(\n").unwrap_err(), Skipped::TooComplex);
    assert_eq!(deep("a<").unwrap_err(), Skipped::Minified);
    assert_eq!(deep("(a<\n").unwrap_err(), Skipped::TooComplex);
    assert_eq!(deep("a=>(\n").unwrap_err(), Skipped::TooComplex);
    // Enough to overflow any stack, were there recursion.
    let _ = outline(language("python"), "a.\\\n".repeat(100_000).as_bytes());
    let nested: String = (0..300)
        .map(|depth| format!("{}def f():\n", " ".repeat(depth)))
        .collect();
    assert!(
        outlined("python", &format!("{nested}{}pass\n", " ".repeat(300)))
            .symbols
            .len()
            < 50
    );
}

#[test]
fn what_does_not_parse_is_said() {
    let found = outlined(
        "python",
        "def good():\n    pass\n\ndef bad(:\n    pass\n\ndef fine():\n    pass\n",
    );
    assert!(found.has_errors);
    let names: Vec<&str> = found
        .symbols
        .iter()
        .map(|symbol| symbol.name.as_str())
        .collect();
    assert!(
        names.contains(&"good") && names.contains(&"fine"),
        "{names:?}"
    );
}

fn hashes(name: &str, source: &str) -> Vec<u32> {
    outlined(name, source)
        .symbols
        .iter()
        .map(|symbol| symbol.body_hash)
        .collect()
}

#[test]
fn layout_changes_no_hash() {
    let same = [
        (
            "python",
            "def f(a, b):\n    return g(a, 'x')\n",
            "def f(\n    a,  # first\n    b,\n):\n    \"\"\"Doc.\"\"\"\n\n    return (g(\n        a, \"x\",\n    ))\n    # end\n",
        ),
        (
            "rust",
            "fn f(a: u8) -> u8 { g(a, 1) }",
            "/// Doc.\nfn f(\n    a: u8,\n) -> u8 {\n    // why\n    g(\n        a,\n        1,\n    )\n}\n",
        ),
        (
            "javascript",
            "function f(a) { return g('x') }",
            "function f(a) {\n  // why\n  return g(\"x\");\n}\n",
        ),
        (
            "go",
            "func f(a int) int { return g(a) }",
            "func f(a int) int {\n\t// why\n\treturn g(\n\t\ta,\n\t)\n}\n",
        ),
        (
            "java",
            "class A { int f(int a) { return g(a); } }",
            "class A {\n  /** Doc. */\n  int f(int a)\n  {\n    return g( a );\n  }\n}\n",
        ),
        (
            "c",
            "int f(int a) { return g(a); }",
            "int f(int a)\n{\n    /* why */\n    return g(a);\n}\n",
        ),
    ];
    for (name, one, other) in same {
        assert_eq!(hashes(name, one), hashes(name, other), "{name}");
    }
}

#[test]
fn meaning_changes_the_hash_and_that_of_what_it_is_in() {
    let class = |body: &str| {
        hashes(
            "python",
            &format!(
                "class A:\n    def f(self, a):\n        return {body}\n    def g(self):\n        pass\n"
            ),
        )
    };
    let before = class("a + 1");
    for body in [
        "b + 1", "a - 1", "a + 2", "(a) + -1", "a + 1, 2", "f'a' + 1",
    ] {
        let after = class(body);
        assert_ne!(before[0], after[0], "{body}");
        assert_ne!(before[1], after[1], "{body}");
        assert_eq!(before[2], after[2], "{body}");
    }
    assert_ne!(
        hashes("python", "def f(a): return (a + b) * c"),
        hashes("python", "def f(a): return a + b * c")
    );
    // A symbol that is only renamed has the same body.
    assert_eq!(
        hashes("python", "def f(a): return a"),
        hashes("python", "def other(a): return a")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for language in LANGUAGES {
            let _ = outline(language, &bytes);
        }
    }

    #[test]
    fn any_pieces_of_code_are_survived(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "def f(", "class A", ":", "\n", "    ", "{", "}", "(", ")", "fn f", "impl A for B", "self.a()", "=", "import a.b", "use a::{b, c}",
        "\"", "'", "/*", "//", "#", "é", "@d", "#[a]", "func (s *S) f()", "=>", "const f =", "super", "::", ".", ",", "new A()", "<", ">",
        "require('", "typedef struct", "struct", "f!(g(1))", "async", "\"\"\"",
    ]), 0..60)) {
        let source = pieces.concat();
        for language in LANGUAGES {
            let found = outline(language, source.as_bytes()).unwrap();
            let lines = source.lines().count().max(1);
            for symbol in &found.symbols {
                prop_assert!(symbol.line_start <= symbol.line_end && symbol.line_end <= lines + 1);
            }
        }
    }
}
