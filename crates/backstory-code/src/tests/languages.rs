//! One fixture a language at least.

use super::{check, outlined};

#[test]
fn python() {
    check(
        "python",
        r##"import os.path as p
from json import loads as l

@decorate(1)
@other
class A(Base):
    """Says.

    More."""
    count: int = 0

    async def go(self, a: int = 1, *args, key="x", **more) -> None:
        self.stop()
        super().go()
        x = l("1")
        x.walk()
        print(len(x), x.items())

    @property
    def stop(
        self,  # why
        other=None,
    ):
        return p.join("a", other.unknown())
        # after

def outer():
    def inner(): pass
    inner()
    a = A()
    a.stop()
    logger.info("x")
"##,
        &[
            "class A 6-24: class A(Base) | @decorate(1) @other | Says.",
            r#"async_method A.go 12-17: async def go(self, a: int = 1, *args, key="x", **more) -> None"#,
            "method A.stop 20-24: def stop(self, other=None) | @property",
            "function outer 27-32: def outer()",
            "function outer.inner 28-28: def inner()",
        ],
        &[
            "- > decorate = ? (unresolved)",
            "A.go > self.stop = A.stop (self_method)",
            "A.go > super().go = ? (unresolved)",
            "A.go > l = json.loads (import)",
            "A.go > x.walk = json.loads().walk (import)",
            "A.go > x.items = json.loads().items (import)",
            "A.stop > p.join = os.path.join (import)",
            "A.stop > other.unknown = ? (unresolved)",
            "outer > inner = outer.inner (direct)",
            "outer > A = A (direct)",
            "outer > a.stop = A.stop (direct)",
        ],
    );
}

#[test]
fn python_objects_hold_what_they_are_given() {
    check(
        "python",
        r##"import base
class A(base.Base):
    from history import History
    def f(self):
        self.one, self.two = pair()
        self.one()
        self.History()
        self.Other()
        self.other()
"##,
        &[
            "class A 2-9: class A(base.Base)",
            "method A.f 4-9: def f(self)",
        ],
        &[
            "A.f > pair = ? (unresolved)",
            "A.f > self.one = ? (unresolved)",
            "A.f > self.History = history.History (import)",
            "A.f > self.Other = ? (unresolved)",
            "A.f > self.other = base.Base.other (import)",
        ],
    );
}

#[test]
fn rust() {
    check(
        "rust",
        r##"//! Module.
use std::collections::HashMap;
use crate::scope::{self, bind as b, Found};

/// A thing.
/// More.
#[derive(Debug, Clone)]
pub struct Thing<T> { a: T }

impl<T: Clone> Thing<T> {
    /// Makes.
    pub fn new(a: T) -> Self { Self::check(); let m = HashMap::new(); scope::x(); Thing { a } }
    fn check() { assert_eq!(helper(1), self::other()); b(1); }
    async fn go(&self) -> u32 { self.wait().await; Thing::new(1).go().await }
}
trait Shape { fn area(&self) -> f64; }
enum E { A }
mod tests { use super::*; #[test] fn it() { super::helper(1); helper(2); let t = Thing::new(3); t.go(); } }
fn helper(
    a: u32, // first
    b: &str,
) -> u32 where u32: Copy { a }
"##,
        &[
            "struct Thing 8-8: pub struct Thing<T> | #[derive(Debug, Clone)] | A thing.",
            "method Thing.new 12-12: pub fn new(a: T) -> Self | Makes.",
            "method Thing.check 13-13: fn check()",
            "async_method Thing.go 14-14: async fn go(&self) -> u32",
            "trait Shape 16-16: trait Shape",
            "method Shape.area 16-16: fn area(&self) -> f64",
            "enum E 17-17: enum E",
            "function tests.it 18-18: fn it() | #[test]",
            "function helper 19-22: fn helper(a: u32, b: &str) -> u32 where u32: Copy",
        ],
        &[
            "Thing.new > Self::check = Thing.check (self_method)",
            "Thing.new > HashMap::new = std::collections::HashMap::new (import)",
            "Thing.new > scope::x = crate::scope::x (import)",
            "Thing.check > helper = helper (direct)",
            "Thing.check > self::other = ? (unresolved)",
            "Thing.check > b = crate::scope::bind (import)",
            "Thing.go > self.wait = ? (unresolved)",
            "Thing.go > Thing.new().go = Thing.go (direct)",
            "Thing.go > Thing::new = Thing.new (direct)",
            "tests.it > super::helper = helper (direct)",
            "tests.it > helper = helper (direct)",
            "tests.it > Thing::new = Thing.new (direct)",
            "tests.it > t.go = Thing.go (direct)",
        ],
    );
}

#[test]
fn rust_names_implementations_by_the_type() {
    check(
        "rust",
        r##"impl A for &'a mut str { fn one() {} }
impl A for &[u8; 2] { fn two() {} }
impl A for &a::B<T> { fn three() {} }
impl dyn A { fn four() {} }
impl A for (B, c::D) { fn five() {} }
#[cfg(one)]
struct Two { a: u8 }
#[cfg(not(one))]
struct Two;
"##,
        &[
            "method str.one 1-1: fn one()",
            "method [u8; 2].two 2-2: fn two()",
            "method a.B.three 3-3: fn three()",
            "method dyn A.four 4-4: fn four()",
            "method (B, c.D).five 5-5: fn five()",
            "struct Two 7-7: struct Two | #[cfg(one)]",
            "struct Two 9-9: struct Two | #[cfg(not(one))]",
        ],
        &[],
    );
}

#[test]
fn java_declares_what_is_defined_elsewhere() {
    check(
        "java",
        "interface A { void f(int a); default void f() {} }\n",
        &[
            "interface A 1-1: interface A",
            "method A.f 1-1: void f(int a)",
            "method A.f 1-1: default void f()",
        ],
        &[],
    );
}

#[test]
fn typescript() {
    check(
        "typescript",
        r##"import def, { a as b, c } from "./mod";
import * as ns from 'ns';
/** Doc. */
@Injectable({x: 1})
export class Foo extends Base<T> implements I {
  private svc: Service = new Service();
  constructor(private http: Http) { super(); this.run(); }
  @Input() run(x?: number): void { this.svc.go(); ns.call(); b(); helper(); this.missing(); }
  handler = async (e: Event) => { c(e); };
}
export interface I { run(x: number): void; }
type T2 = { a: string };
export const helper = (a: string): void => { def(a); };
export default function main() { const f = new Foo(x); f.run(); }
enum Color { Red }
namespace N { export function inner() {} }
function over(a: string): void;
function over(a: any) { }
"##,
        &[
            "class Foo 5-10: class Foo extends Base<T> implements I | @Injectable({x: 1}) | Doc.",
            "method Foo.constructor 7-7: constructor(private http: Http)",
            "method Foo.run 8-8: run(x?: number): void | @Input()",
            "async_method Foo.handler 9-9: handler = async (e: Event)",
            "interface I 11-11: interface I",
            "method I.run 11-11: run(x: number): void",
            "interface T2 12-12: type T2",
            "function helper 13-13: const helper = (a: string): void",
            "function main 14-14: function main()",
            "enum Color 15-15: enum Color",
            "function N.inner 16-16: function inner()",
            "function over 18-18: function over(a: any)",
        ],
        &[
            "- > Injectable = ? (unresolved)",
            "Foo > Service = ? (unresolved)",
            "Foo.constructor > this.run = Foo.run (self_method)",
            "Foo > Input = ? (unresolved)",
            "Foo.run > this.svc.go = ? (unresolved)",
            "Foo.run > ns.call = ns.call (import)",
            "Foo.run > b = ./mod.a (import)",
            "Foo.run > helper = helper (direct)",
            "Foo.run > this.missing = ? (unresolved)",
            "Foo.handler > c = ./mod.c (import)",
            "helper > def = ./mod.default (import)",
            "main > Foo = Foo (direct)",
            "main > f.run = Foo.run (direct)",
        ],
    );
}

#[test]
fn javascript() {
    check(
        "javascript",
        r##"const fs = require('fs');
function* gen() {}
class A extends React.Component { #p() {} static async m() { this.n(); } get n() { return 1 } }
exports.run = function (a, b) { fs.readFile(a); return gen(); };
A.prototype.extra = () => 1;
const o = { f() { gen(); }, g: () => 1 };
"##,
        &[
            "function gen 2-2: function* gen()",
            "class A 3-3: class A extends React.Component",
            "method A.#p 3-3: #p()",
            "async_method A.m 3-3: static async m()",
            "method A.n 3-3: get n()",
            "function run 4-4: exports.run = function (a, b)",
            "method A.extra 5-5: A.prototype.extra = ()",
            "method f 6-6: f()",
        ],
        &[
            "A.m > this.n = A.n (self_method)",
            "run > fs.readFile = fs.readFile (import)",
            "run > gen = gen (direct)",
            "f > gen = gen (direct)",
        ],
    );
}

#[test]
fn go() {
    check(
        "go",
        r##"package main
import ("fmt"; j "encoding/json")
// Server serves.
type Server struct { a int }
type Shape interface { Area() float64 }
type ID int
// Run runs.
func (s *Server) Run(a int, b string) error { s.stop(); fmt.Println(a); x := NewServer(); x.stop(); return j.Unmarshal(b) }
func (s *Server) stop() {}
func NewServer() *Server { return &Server{} }
"##,
        &[
            "struct Server 4-4: type Server struct | Server serves.",
            "interface Shape 5-5: type Shape interface",
            "method Shape.Area 5-5: Area() float64",
            "struct ID 6-6: type ID int",
            "method Server.Run 8-8: func (s *Server) Run(a int, b string) error | Run runs.",
            "method Server.stop 9-9: func (s *Server) stop()",
            "function NewServer 10-10: func NewServer() *Server",
        ],
        &[
            "Server.Run > s.stop = Server.stop (self_method)",
            "Server.Run > fmt.Println = fmt.Println (import)",
            "Server.Run > NewServer = NewServer (direct)",
            "Server.Run > x.stop = Server.stop (direct)",
            "Server.Run > j.Unmarshal = encoding/json.Unmarshal (import)",
        ],
    );
}

#[test]
fn java() {
    check(
        "java",
        r##"package x;
import java.util.List;
import static java.lang.Math.max;
/** The doc.
 * more */
@Service
@Foo("x")
public class A extends B {
    private final Repo repo;
    @Override
    public int run(int a) throws E { helper(a); repo.find(); List.of(1); this.helper(2); super.run(a); max(1,2); new A(repo); return 1; }
    private static void helper(int x) {}
    public A(Repo repo) { }
    interface In { void f(); }
    enum Kind { X }
    record P(int x) {}
}
"##,
        &[
            r#"class A 8-17: public class A extends B | @Service @Foo("x") | The doc."#,
            "method A.run 11-11: public int run(int a) throws E | @Override",
            "method A.helper 12-12: private static void helper(int x)",
            "method A.A 13-13: public A(Repo repo)",
            "interface A.In 14-14: interface In",
            "method A.In.f 14-14: void f()",
            "enum A.Kind 15-15: enum Kind",
            "class A.P 16-16: record P(int x)",
        ],
        &[
            "A.run > helper = A.helper (self_method)",
            "A.run > repo.find = ? (unresolved)",
            "A.run > List.of = java.util.List.of (import)",
            "A.run > this.helper = A.helper (self_method)",
            "A.run > super.run = ? (unresolved)",
            "A.run > max = java.lang.Math.max (import)",
            "A.run > A = A.A (direct)",
        ],
    );
}

#[test]
fn c() {
    check(
        "c",
        r##"/* Adds
 * more */
static int add(int a, int b);
typedef struct { int x; } Point;
struct Node { int a; };
static int add(int a, int b) { return mul(a) + printf("x"); }
int (*fp)(int);
int main(void) { return add(1, 2); }
"##,
        &[
            "struct Point 4-4: typedef struct Point",
            "struct Node 5-5: struct Node",
            "function add 6-6: static int add(int a, int b) | Adds",
            "function main 8-8: int main(void)",
        ],
        &["add > mul = ? (unresolved)", "main > add = add (direct)"],
    );
}

#[test]
fn cpp() {
    check(
        "cpp",
        r##"#include <x>
namespace ns {
/* Doc. */
class Foo : public Bar {
 public:
  Foo(int a) : a_(a) { run(); }
  virtual void run() const;
  int a_;
};
void Foo::run() const { helper(1); this->stop(); std::sort(1); other::call(); }
template <typename T> T maxi(T a) { return a; }
struct P { int x; };
enum class E { A };
}
static int *helper(int x) { ns::Foo f(1); f.run(); return 0; }
"##,
        &[
            "class ns.Foo 4-9: class Foo : public Bar | Doc.",
            "method ns.Foo.Foo 6-6: Foo(int a) : a_(a)",
            "method ns.Foo.run 10-10: void Foo::run() const",
            "function ns.maxi 11-11: T maxi(T a)",
            "struct ns.P 12-12: struct P",
            "enum ns.E 13-13: enum class E",
            "function helper 15-15: static int *helper(int x)",
        ],
        &[
            "ns.Foo.Foo > run = ns.Foo.run (self_method)",
            "ns.Foo.run > helper = helper (direct)",
            "ns.Foo.run > this->stop = ? (unresolved)",
            "ns.Foo.run > other::call = ? (unresolved)",
            "helper > f.run = ns.Foo.run (direct)",
        ],
    );
}

/// Unresolved calls and why, and those of `super`.
#[test]
fn what_is_not_resolved_has_a_reason() {
    let source = "from lib import Imported, Other\n\n\nclass Base:\n    def run(self):\n        pass\n\n\nclass Kid(Base):\n    \
        def __init__(self, db, till: Till, log: Imported):\n        self.db = db\n        self.till = till\n        self.helper = log\n\n    \
        def run(self, callback):\n        super().run()\n        super().missing()\n        callback()\n        self.db.query()\n        \
        self.db.query().first()\n        self.till.weigh()\n        self.helper.go()\n        self.handlers[0]()\n        nowhere()\n        \
        self.missing()\n        for hook in hooks:\n            hook()\n\n\nclass Two(Imported, Other):\n    def go(self):\n        super().go()\n";
    let outline = outlined("python", source);
    let told: Vec<String> = outline
        .calls
        .iter()
        .map(|call| match call.reason {
            Some(reason) => format!("{}: {}", call.callee, reason.name()),
            None => format!("{} = {}", call.callee, call.resolved.as_deref().unwrap()),
        })
        .collect();
    assert_eq!(
        told,
        [
            "super().run = Base.run",
            "super().missing: unknown_base",
            "callback: injected",
            "self.db.query: injected",
            "self.db.query().first: chained",
            "self.db.query: injected",
            "self.till.weigh: external",
            "self.helper.go = lib.Imported.go",
            "…: dynamic",
            "nowhere: external",
            "self.missing: unknown_base",
            "hook: dynamic",
            "super().go: unknown_base",
        ]
    );
}
