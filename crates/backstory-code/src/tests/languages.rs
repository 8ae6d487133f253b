//! One fixture a language at least.

use super::check;

#[test]
fn python() {
    check(
        "python",
        r#"import os.path as p
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
        x.items()
        print(len(x))

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
"#,
        &[
            "class A 6-25: class A(Base) | @decorate(1) @other | Says.",
            "async_method A.go 12-17: async def go(self, a: int = 1, *args, key=\"x\", **more) -> None",
            "method A.stop 20-24: def stop(self, other=None) | @property",
            "function outer 27-32: def outer()",
            "function outer.inner 28-28: def inner()",
        ],
        &[],
    );
}
