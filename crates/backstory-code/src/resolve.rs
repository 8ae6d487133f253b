//! What is called: chains are followed through the names, classes and imports of the file.

mod reason;

use std::borrow::Cow;

use hashbrown::{HashMap, HashSet};

use crate::chain::Step;
use crate::language::Language;
use crate::model::{Call, Outline, Resolution, Symbol, SymbolKind};
use crate::scope::{Binding, CallSite, Found, ScopeKind};

/// Names lead to values, values to names; so far and no further.
const MAX_HOPS: usize = 12;
/// What is called on these is logging.
const LOGGERS: &[&str] = &[
    "logger", "log", "logging", "_logger", "_log", "LOGGER", "LOG", "console",
];

/// What a chain leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    /// Something of this file, by its qualified name.
    Symbol(String),
    /// An object of a class of this file.
    Object(String),
    /// The classes above a class of this file.
    Above(String),
    Import(String),
    Builtin,
    Unknown,
}

struct Resolver<'a, 't> {
    language: &'a Language,
    found: &'a Found<'t>,
    kinds: HashMap<&'a str, SymbolKind>,
    scopes: HashMap<&'a str, usize>,
    /// Names of what has something defined in it; empty for the file itself.
    outer_names: HashSet<&'a str>,
    builtins: &'a HashSet<&'static str>,
}

/// Finds out what is called, and leaves out what nobody asks for.
pub(crate) fn resolve(
    language: &Language,
    builtins: &HashSet<&'static str>,
    found: Found<'_>,
) -> Outline {
    let (calls, left_out) = match found.calls.is_empty() {
        true => (Vec::new(), Vec::new()),
        false => resolve_calls(language, builtins, &found),
    };
    let has_errors = found.has_errors;
    let symbols = match language.forward_declarations {
        true => defined(found.symbols),
        false => found.symbols,
    };
    Outline {
        calls,
        left_out,
        symbols,
        has_errors,
    }
}

/// Calls, and those that nobody asks for.
fn resolve_calls(
    language: &Language,
    builtins: &HashSet<&'static str>,
    found: &Found<'_>,
) -> (Vec<Call>, Vec<Call>) {
    let kinds = found.symbols.iter().rev();
    let scope_names = found.scopes.iter().map(|scope| scope.name.as_str());
    let symbol_names = found.symbols.iter().map(|symbol| symbol.name.as_str());
    let outer = |name: &str| name.rfind('.').unwrap_or(0);
    let resolver = Resolver {
        language,
        found,
        kinds: kinds
            .map(|symbol| (symbol.name.as_str(), symbol.kind))
            .collect(),
        scopes: found
            .scopes
            .iter()
            .enumerate()
            .map(|(index, scope)| (scope.name.as_str(), index))
            .collect(),
        outer_names: scope_names
            .chain(symbol_names)
            .map(|name| &name[..outer(name)])
            .collect(),
        builtins,
    };
    let (mut calls, mut left_out) = (Vec::new(), Vec::new());
    for site in &found.calls {
        let (call, is_noise) = resolver.call(site);
        match is_noise {
            true => left_out.push(call),
            false => calls.push(call),
        }
    }
    (calls, left_out)
}

/// A declaration goes where the definition is in the same file; its documentation stays.
fn defined(mut symbols: Vec<Symbol>) -> Vec<Symbol> {
    let declared = |symbol: &&Symbol| !symbol.has_body;
    let mut docs: HashMap<String, Option<String>> = symbols
        .iter()
        .filter(declared)
        .map(|symbol| (symbol.name.clone(), symbol.doc.clone()))
        .collect();
    if docs.is_empty() {
        return symbols;
    }
    let bodies = symbols.iter_mut().filter(|symbol| symbol.has_body);
    let mut bodied = HashSet::new();
    for symbol in bodies {
        if let Some(doc) = docs.remove(&symbol.name) {
            symbol.doc = symbol.doc.take().or(doc);
            bodied.insert(symbol.name.clone());
        }
    }
    symbols.retain(|symbol| symbol.has_body || !bodied.contains(&symbol.name));
    symbols
}

/// A name in a class or module; the file itself has no name.
fn within<'n>(outer: &str, name: &'n str) -> Cow<'n, str> {
    match outer {
        "" => Cow::from(name),
        outer => Cow::from([outer, ".", name].concat()),
    }
}

/// By convention, what has a capital is a class.
fn is_capital(name: &str) -> bool {
    name.trim_start_matches('_').starts_with(char::is_uppercase)
}

impl Resolver<'_, '_> {
    /// A call, and whether it is noise.
    fn call(&self, site: &CallSite<'_>) -> (Call, bool) {
        let mut through_self = matches!(site.callee.first(), Some(Step::This | Step::Super));
        if let Some(Step::Name(name)) = site.callee.first() {
            through_self |= self.language.self_names.contains(name);
            through_self |= *name == "super" && self.language.separator != "::";
            through_self |= self.receiver(site.scope, name);
        }
        let value = self.follow(site.scope, &site.callee, MAX_HOPS);
        // `super()` itself is no method.
        let is_builtin = matches!(value, Value::Builtin | Value::Above(_));
        let (resolved, resolution) = match value {
            Value::Symbol(name) => {
                let own = through_self
                    || (self.language.implicit_this
                        && site.callee.len() == 1
                        && self.is_method(&name));
                let resolution = if own {
                    Resolution::SelfMethod
                } else {
                    Resolution::Direct
                };
                (Some(name), resolution)
            }
            Value::Import(path) => (Some(path), Resolution::Import),
            _ => (None, Resolution::Unresolved),
        };
        let is_noise = is_builtin || self.is_noise(site, resolution);
        let caller = site
            .caller
            .and_then(|caller| self.found.symbols.get(caller));
        let is_unresolved = resolution == Resolution::Unresolved && !is_noise;
        let call = Call {
            caller: caller.map(|symbol| symbol.name.clone()),
            callee: site.written.clone(),
            resolved,
            resolution,
            reason: is_unresolved.then(|| self.reason(site.scope, &site.callee, MAX_HOPS)),
            line: site.line,
        };
        (call, is_noise)
    }

    fn receiver(&self, scope: usize, name: &str) -> bool {
        let scope = self.found.scopes.get(scope);
        let binding = scope.and_then(|scope| scope.bindings.get(name));
        matches!(binding, Some(Binding::Value(steps)) if steps[..] == [Step::This])
    }

    /// The qualified name of a symbol or module that is defined in this class, module or function, or in the file itself.
    fn known_member(&self, outer: &str, name: &str) -> Option<String> {
        if !self.outer_names.contains(outer) {
            return None;
        }
        let qualified = within(outer, name);
        let is_known =
            self.kinds.contains_key(&*qualified) || self.scopes.contains_key(&*qualified);
        is_known.then(|| qualified.into_owned())
    }

    /// A constructor is called by those who have no object yet.
    fn is_method(&self, name: &str) -> bool {
        let mut parts = name.rsplit('.');
        parts.next() != parts.next()
            && matches!(
                self.kinds.get(name),
                Some(SymbolKind::Method | SymbolKind::AsyncMethod)
            )
    }

    fn is_noise(&self, site: &CallSite<'_>, resolution: Resolution) -> bool {
        let names: Vec<&str> = site
            .callee
            .iter()
            .filter_map(|step| match step {
                Step::Name(name) => Some(*name),
                _ => None,
            })
            .collect();
        if let [.., object, _] = names[..]
            && LOGGERS.contains(&object)
        {
            return matches!(resolution, Resolution::Unresolved | Resolution::Import);
        }
        let method = names.last().copied().unwrap_or_default();
        resolution == Resolution::Unresolved
            && site.callee.len() > 1
            && self.language.builtin_methods.contains(&method)
    }

    fn follow(&self, scope: usize, chain: &[Step<'_>], hops: usize) -> Value {
        let Some((first, rest)) = chain.split_first() else {
            return Value::Unknown;
        };
        let mut value = match first {
            Step::Name(name) => self.name(scope, name, hops),
            Step::This => self.this(scope),
            Step::Super => self.above(scope),
            Step::Literal => Value::Builtin,
            Step::Other | Step::Call => Value::Unknown,
        };
        for step in rest {
            value = match (value, step) {
                (Value::Unknown, _) => return Value::Unknown,
                (value, Step::Name(name)) => self.member(value, name, hops),
                (value, Step::Call) => self.called(value, hops),
                _ => return Value::Unknown,
            };
        }
        value
    }

    fn this(&self, scope: usize) -> Value {
        let owner = self
            .found
            .scopes
            .get(scope)
            .and_then(|scope| scope.owner.clone());
        owner.map_or(Value::Unknown, Value::Object)
    }

    fn above(&self, scope: usize) -> Value {
        match self.this(scope) {
            Value::Object(class) => Value::Above(class),
            _ => Value::Unknown,
        }
    }

    /// `super` as a path.
    fn module_above(&self, scope: usize) -> Value {
        let mut at = Some(scope);
        while let Some(scope) = at.and_then(|index| self.found.scopes.get(index)) {
            let above = scope
                .parent
                .and_then(|parent| self.found.scopes.get(parent));
            if let (ScopeKind::Space, Some(above)) = (scope.kind, above) {
                return Value::Symbol(above.name.clone());
            }
            at = scope.parent;
        }
        Value::Import("super".to_string())
    }

    /// What a name means where it stands.
    fn name(&self, scope: usize, name: &str, hops: usize) -> Value {
        if hops == 0 {
            return Value::Unknown;
        }
        match name {
            "crate" if self.language.separator == "::" => return Value::Import(name.to_string()),
            "Self" | "cls" if self.language.self_names.contains(&name) => {
                let owner = self
                    .found
                    .scopes
                    .get(scope)
                    .and_then(|scope| scope.owner.clone());
                return owner.map_or(Value::Unknown, Value::Symbol);
            }
            _ if self.language.self_names.contains(&name) => return self.this(scope),
            "super" if self.language.separator == "::" => return self.module_above(scope),
            "super" => return self.above(scope),
            _ => {}
        }
        let mut at = Some(scope);
        let mut first = true;
        while let Some(index) = at {
            let Some(scope) = self.found.scopes.get(index) else {
                break;
            };
            // The body of a class is no scope to its methods, unless the language says so.
            let visible = first || scope.kind != ScopeKind::Class || self.language.implicit_this;
            first = false;
            at = scope.parent;
            if !visible {
                continue;
            }
            let binding = scope.bindings.get(name);
            let symbol = self.known_member(&scope.name, name);
            match (binding, symbol) {
                (Some(Binding::Import(path)), _) => return Value::Import(path.clone()),
                (_, Some(symbol)) => return Value::Symbol(symbol),
                (Some(Binding::Value(chain) | Binding::Typed(chain)), None) => {
                    return self.follow(index, chain, hops - 1);
                }
                (Some(Binding::Parameter | Binding::Unknown), None) => return Value::Unknown,
                (None, None) => {}
            }
            if scope.kind == ScopeKind::Class && self.language.implicit_this {
                let member = self.member(Value::Object(scope.name.clone()), name, hops - 1);
                if matches!(member, Value::Symbol(_)) {
                    return member;
                }
            }
            if let (None, Some(owner)) = (binding, &scope.owner)
                && self.language.implicit_this
                && scope.kind == ScopeKind::Function
            {
                let member = self.member(Value::Object(owner.clone()), name, hops - 1);
                if matches!(member, Value::Symbol(_)) {
                    return member;
                }
            }
        }
        if self.builtins.contains(name) {
            return Value::Builtin;
        }
        let file = self.found.scopes.first();
        match file.and_then(|file| file.bindings.get("*")) {
            Some(Binding::Import(path)) => Value::Import(self.joined(path, name)),
            _ => Value::Unknown,
        }
    }

    fn joined(&self, path: &str, name: &str) -> String {
        match path.ends_with("()") {
            true => format!("{path}.{name}"),
            false => format!("{path}{}{name}", self.language.separator),
        }
    }

    fn member(&self, value: Value, name: &str, hops: usize) -> Value {
        if hops == 0 {
            return Value::Unknown;
        }
        match value {
            Value::Import(path) => Value::Import(self.joined(&path, name)),
            Value::Builtin => Value::Builtin,
            Value::Above(class) => self.inherited(&class, name, hops),
            Value::Symbol(class) | Value::Object(class) => {
                if let Some(member) = self.known_member(&class, name) {
                    return Value::Symbol(member);
                }
                let attribute = self.found.attributes.get(&class);
                match attribute.and_then(|attributes| attributes.get(name)) {
                    Some(Binding::Import(path)) => Value::Import(path.clone()),
                    Some(Binding::Value(chain) | Binding::Typed(chain)) => {
                        let scope = self.scope_of(&class);
                        self.follow(scope, chain, hops - 1)
                    }
                    Some(Binding::Parameter | Binding::Unknown) => Value::Unknown,
                    None => self.inherited(&class, name, hops),
                }
            }
            Value::Unknown => Value::Unknown,
        }
    }

    /// Where the names in a class are looked up.
    fn scope_of(&self, class: &str) -> usize {
        self.scopes.get(class).copied().unwrap_or(0)
    }

    /// A member of the classes above: one of this file that has it, or else the only imported one.
    fn inherited(&self, class: &str, name: &str, hops: usize) -> Value {
        let Some((scope, bases)) = self.found.bases.get(class) else {
            return Value::Unknown;
        };
        let mut imported = Vec::new();
        for base in bases {
            match self.follow(*scope, base, hops - 1) {
                Value::Symbol(above) if above != class => {
                    match self.member(Value::Object(above), name, hops - 1) {
                        Value::Unknown => {}
                        Value::Import(path) => imported.push(path),
                        found => return found,
                    }
                }
                // A class that objects hold is rather given to them by a class below.
                Value::Import(_) if is_capital(name) => {}
                Value::Import(path) => imported.push(self.joined(&path, name)),
                Value::Builtin if self.language.builtin_methods.contains(&name) => {
                    return Value::Builtin;
                }
                _ => {}
            }
        }
        match imported.len() {
            1 => imported.pop().map_or(Value::Unknown, Value::Import),
            _ => Value::Unknown,
        }
    }

    /// What a call gives.
    fn called(&self, value: Value, hops: usize) -> Value {
        match value {
            Value::Import(path) => {
                let last = path.rsplit(['.', ':']).next().unwrap_or_default();
                match is_capital(last) {
                    true => Value::Import(path),
                    false => Value::Import(format!("{path}()")),
                }
            }
            Value::Symbol(name) => match self.kinds.get(name.as_str()) {
                Some(kind) if kind.is_function() => match self.found.returns.get(&name) {
                    Some((scope, chain)) if hops > 0 => {
                        match self.follow(*scope, chain, hops - 1) {
                            Value::Symbol(class) => Value::Object(class),
                            Value::Import(path) => Value::Import(path),
                            Value::Builtin => Value::Builtin,
                            _ => Value::Unknown,
                        }
                    }
                    _ => Value::Unknown,
                },
                _ => Value::Object(name),
            },
            Value::Builtin => Value::Builtin,
            Value::Above(class) => Value::Above(class),
            Value::Object(_) | Value::Unknown => Value::Unknown,
        }
    }
}
