//! Traces as programs printed them, cut to what matters.

use proptest::prelude::*;

use crate::traces;

/// A trace is `function file:line > …`, from the outermost caller; what is not told is left out.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let found: Vec<String> = traces(text)
        .iter()
        .map(|trace| {
            let frames: Vec<String> = trace
                .iter()
                .map(|frame| {
                    let mut shown = frame.function.clone();
                    if let Some(file) = &frame.file {
                        shown.push_str(&format!(" {file}"));
                    }
                    if let Some(line) = frame.line {
                        shown.push_str(&format!(":{line}"));
                    }
                    shown
                })
                .collect();
            frames.join(" > ")
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn python() {
    check(
        r#"Traceback (most recent call last):
  File "/x/a.py", line 9, in inner
    {}['x']
    ~~^^^^^
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/x/a.py", line 30, in <module>
    T().method(2)
  File "/x/a.py", line 4, in method
    if n: return self.method(n-1)
                 ^^^^^^^^^^^^^^^^
  [Previous line repeated 996 more times]
  File "<string>", line 5, in <lambda>
ValueError: bad
multi line
  File "a.py", line 3
    def
SyntaxError: invalid syntax
"#,
        &[
            "inner /x/a.py:9",
            "<module> /x/a.py:30 > method /x/a.py:4 > <lambda> <string>:5",
        ],
    );
    // Colours, as of 3.13.
    check(
        "  File \x1b[35m\"a.py\"\x1b[0m, line \x1b[35m30\x1b[0m, in \x1b[35m<module>\x1b[0m\r\n    \x1b[31mf\x1b[0m()\r\n  File \x1b[35m\"a.py\"\x1b[0m, line \x1b[35m4\x1b[0m, in \x1b[35mf\x1b[0m\r\n",
        &["<module> a.py:30 > f a.py:4"],
    );
    // A crash tells the innermost first.
    check(
        "Current thread 0x00007f4036404b80 (most recent call first):\n  File \"c.py\", line 519 in string_at\n  File \"a.py\", line 27 in boom\n",
        &["boom a.py:27 > string_at c.py:519"],
    );
}

#[test]
fn python_groups_and_other_prefixes() {
    check(
        r#"  + Exception Group Traceback (most recent call last):
  |   File "/x/a.py", line 21, in <module>
  |     asyncio.run(main())
  |   File "/x/a.py", line 19, in main
  |     async with asyncio.TaskGroup() as g:
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/x/a.py", line 17, in bad
    |     raise ValueError(i)
    | ValueError: 1
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/x/a.py", line 18, in worse
    |     raise ValueError(i)
    +------------------------------------
web-1  | Traceback (most recent call last):
web-1  |   File "a.py", line 1, in f
web-1  |     g()
web-1  |   File "a.py", line 2, in g
web-1  | KeyError
"#,
        &[
            "<module> /x/a.py:21 > main /x/a.py:19",
            "bad /x/a.py:17",
            "worse /x/a.py:18",
            "f a.py:1 > g a.py:2",
        ],
    );
}

#[test]
fn pytest() {
    check(
        "____ test_x ____\ntest_a.py:9: in test_x\n    f()\n    ^^^\nsrc/a.py:5: in f\n    raise ValueError(\"x\")\nE   ValueError: x\n----- Captured\n",
        &["test_x test_a.py:9 > f src/a.py:5"],
    );
    check(
        "\x1b[1m\x1b[31mtest_a.py\x1b[0m:9: in test_x\n    f()\n",
        &["test_x test_a.py:9"],
    );
    let long = r#"_________ test_x _________

self = <test_a.T object at 0x7f>

    @fixture
    async def test_x(self):
        def inner():
            pass
>       f()

test_a.py:9: 
_ _ _ _ _ _ _ _ _ _ _ _ _

a = 1

    def f[T](a):
        try:
>           g()
E           ValueError: x

src/a.py:5: ValueError
====== short test summary info ======
FAILED test_a.py::test_x - ValueError: x
a.py:12: error: not a frame
"#;
    check(long, &["test_x test_a.py:9 > f src/a.py:5"]);
}

#[test]
fn rust() {
    check(
        r"thread 'main' panicked at r.rs:6:118:
called `Option::unwrap()` on a `None` value
stack backtrace:
   0: __rustc::rust_begin_unwind
             at /rustc/5980/library/std/src/panicking.rs:689:5
   1: core::option::Option<T>::unwrap
      inlined::into
             at ./in.rs:1:1
   2: <core::slice::iter::Iter<T> as core::iter::traits::iterator::Iterator>::fold
             at /rustc/5980/macros.rs:279:27
   3: r::inner::{{closure}}::{{closure}}
             at ./r.rs:5:86
   4: r::Sq<T>::gen_it
  10: core::ops::function::FnOnce::call_once{{vtable.shim}}
note: Some details are omitted
   at ./other.rs:1:2
",
        &[
            "call_once > gen_it > inner ./r.rs:5 > fold /rustc/5980/macros.rs:279 > into ./in.rs:1 > unwrap > rust_begin_unwind /rustc/5980/library/std/src/panicking.rs:689",
        ],
    );
    check(
        "Stack backtrace:\n  18:     0x5641268b6160 - r::deep::er::hcd8e9d351df98169\n                               at /x/r.rs:6:118\n  36:     0x5641268dc574 - std[e28293b1aa0f68bd]::panicking::catch_unwind::do_call::<&dyn core[c1f1]::ops::Fn<(), Output = i32> + core[c1f1]::Sync, i32>\n  37:     0x5641268e0b6a - <<std[e2]::sys::Lock>::print::D as core[c1]::fmt::Display>::fmt\n  49:                0x0 - <unknown>\n",
        &["<unknown> > fmt > do_call > er /x/r.rs:6"],
    );
}

#[test]
fn javascript() {
    check(
        r"Error: boom 1
    at helper (/x/a.js:2:32)
    at /x/a.js:1:74
    at Array.map (<anonymous>)
    at get bar [as bar] (/x/a.js:1:107)
    at new Foo (/x/a.js:1:42)
    at Foo.#p (file:///x/b.mjs:1:160)
    at eval (eval at <anonymous> (/x/a.js:6:81), <anonymous>:1:1)
    at Function.executeUserEntryPoint [as runMain] (node:internal/modules/run_main:164:12)
    at async Promise.all (index 0)
    at async file:///x/b.mjs:2:1
    at Object.<anonymous> (/x/a b.js:6:143) {
  [cause]: Error: boom 1
      at C:\x\a.ts:7:65
  at home (maybe)
 FAIL  a.test.ts > adds
AssertionError: expected 1 to be 2
 ❯ Foo.helper src/a.ts:3:9
      2| code
      3| more
       |  ^
 ❯ a.test.ts:5:3

 ❯ a.test.ts (2 tests | 1 failed) 5ms
",
        &[
            "<anonymous> /x/a b.js:6 > <anonymous> /x/b.mjs:2 > all > executeUserEntryPoint node:internal/modules/run_main:164 > eval > #p /x/b.mjs:1 > Foo /x/a.js:1 > bar /x/a.js:1 > map > <anonymous> /x/a.js:1 > helper /x/a.js:2",
            r"<anonymous> C:\x\a.ts:7",
            "<anonymous> a.test.ts:5 > helper src/a.ts:3",
        ],
    );
    check(
        "error: boom\n\x1b[0m      \x1b[2mat \x1b[0m\x1b[1mhelper\x1b[0m (\x1b[36m/x/a.ts\x1b[0m:1:7)\n",
        &["helper /x/a.ts:1"],
    );
    check(
        "f@https://x.org/a.js:1:2\nasync*Foo.prototype.bar@https://x.org/a.js:3:4\nouter/<@webpack:///./src/b.ts:5:6\n@file:///x/c.js:7:8\nmail me@http://x.org\n",
        &[
            "<anonymous> /x/c.js:7 > outer webpack:///./src/b.ts:5 > bar https://x.org/a.js:3 > f https://x.org/a.js:1",
        ],
    );
}

#[test]
fn java() {
    check(
        "Exception in thread \"main\" java.lang.RuntimeException: wrapped\n\tat a.b.A$1.go(A.java:7)\n\tat java.base/java.lang.reflect.Method.invoke0(Native Method)\n\tat a.b.A.main(A.java:9) ~[a.jar:1.0]\nCaused by: java.lang.IllegalStateException: no\n\tat a.b.A$B.<init>(A.java:3)\n\tat a.b.A.lambda$f$0(A.java:4)\n\tat app//a.b.A.f(A.java:4)\n\t... 3 more\n[ERROR] \tat a.KFile.run(KFile.kt:3)\n",
        &[
            "main A.java:9 > invoke0 > go A.java:7",
            "f A.java:4 > f A.java:4 > B A.java:3",
            "run KFile.kt:3",
        ],
    );
}

#[test]
fn go() {
    check(
        "panic: boom\n\ngoroutine 18 [running]:\npanic({0x1, 0x2})\n\t/go/src/runtime/panic.go:884 +0x212\ngithub.com/a/b.v2.(*T).Method(0xc000, {0x12, 0x5})\n\t/x/t.go:12 +0x1d\nmain.Map[...](...)\n\t/x/m.go:3\nmain.run.func1.2()\n\t/x/m.go:7 +0x20 fp=0xc sp=0x1\ncreated by main.start in goroutine 1\n\t/x/m.go:9 +0x20\n\ngoroutine 1 [chan receive, 2 minutes]:\nmain.main()\n\t/x/m.go:20 +0x65\nexit status 2\n",
        &[
            "start /x/m.go:9 > run /x/m.go:7 > Map /x/m.go:3 > Method /x/t.go:12 > panic /go/src/runtime/panic.go:884",
            "main /x/m.go:20",
        ],
    );
}

#[test]
fn native() {
    check(
        r"READ of size 4 at 0x6020000000b0 thread T0
    #0 0x559dd6868335 in ns::Box<int>::get(int) const /x/c.cc:5:3
    #1 0x559dd6868033 in ns::Box<int>::operator+=(int) /x/c.cc:5
    #2 0x559d in void for_each<N<int*, V<int> >, ns::(anonymous namespace)::hidden(V&)::<lambda(int)> >(N, N) /usr/a.h:3787
    #3 0x559d in std::function<int (V<int, A<int> >&)>::operator()(V<int>&) const /usr/f.h:591
    #4 0x559d in ns::(anonymous namespace)::hidden(int)::{lambda(int)#1}::operator()(int) const /x/c.cc:6
    #5 0x559dd68671a0 in _start (/x/c2+0x21a0) (BuildId: ab)

freed by thread T0 here:
    #0 0x7f37f44b94c8 in operator new(unsigned long) ../asan_new_delete.cpp:95
    #1 0x559d in f.part.0 /x/c.c:8
#0 /x/a.php(3): f()
",
        &[
            "_start > hidden /x/c.cc:6 > operator() /usr/f.h:591 > for_each /usr/a.h:3787 > operator+= /x/c.cc:5 > get /x/c.cc:5",
            "f /x/c.c:8 > operator new ../asan_new_delete.cpp:95",
        ],
    );
    check(
        r#"#0  g (p=0x5555555592a0 "YU)\005") at c.c:3
        x = 3 at y
#1  0x0000555555555188 in std::function<int (V<int>&)>::operator()(V<int>&) const (this=0x7f,
    n=1) at f.h:591
#2  0x00005555555551bd in ns::(anonymous namespace)::hidden (v=std::vector of length 3 = {...}) at c.cc:6
No locals.
#3  0x0000555555555651 in operator<< <char> (a=...) at o.h:61
#4  <signal handler called>
#5  0x00007ffff in ?? () from /lib/libc.so.6
#0  main () at m.c:1
"#,
        &[
            "?? > <signal handler called> > operator<< o.h:61 > hidden c.cc:6 > operator() f.h:591 > g c.c:3",
            "main m.c:1",
        ],
    );
}

#[test]
fn text_without_a_trace_has_none() {
    check(
        "look at a.b(c), line 3\n at 10:30:45\nme@http://x.org\na.py:3: error\n#0 first\n❯ npm test\ngoroutine 1\n",
        &[],
    );
}

#[test]
fn there_is_an_end_to_frames_and_traces() {
    let frame = "    at f (/x/a.js:1:2)\n";
    assert_eq!(traces(&frame.repeat(1000))[0].len(), 200);
    assert_eq!(traces(&format!("{frame}\n").repeat(1000)).len(), 50);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_pieces_of_traces_are_survived(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "  File \"a\", line 1, in f", "\n", "    ", "| ", "a.py:3: ", "in f", "E  ", ">   def f(", "_ _ _", "stack backtrace:", "  0: ", "a::f",
        "<T as U>", "::", "{{closure}}", "at ", " at ", "\tat ", "a.js:1:2", " (", ")", "(", "async ", "❯ ", "é", "@http://x:1:2", "*", "/<",
        "a.B.f(A.java:3)", "lambda$", "$", "goroutine 1 [x]:", "main.f(0x1)", "\t/a.go:1 +0x1", "#0 ", "#1 ", "0x1 in ", "operator", "<", ">",
        " at a.c:3", " const", "\x1b[0m", "\x1b", "\r\n", "[", "]", ".", ":", "h0123456789abcdef", "99999999999999999999999",
    ]), 0..40)) {
        let text = pieces.concat();
        for trace in traces(&text) {
            prop_assert!(trace.iter().all(|frame| !frame.function.is_empty()), "{text:?}: {trace:?}");
        }
    }
}
