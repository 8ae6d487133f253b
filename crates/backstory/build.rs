//! How the program is linked.

fn main() {
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    // At a fixed address. Else the loader writes 43,000 addresses into 165 pages at every start, which takes longer than a hook
    // takes to store what it was told. Stack, heap and libraries still lie somewhere else each time.
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
