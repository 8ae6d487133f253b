//! Python.

use std::sync::OnceLock;

use tree_sitter::Node;

use crate::language::{Language, Role, text};
use crate::model::Kind;

pub(super) static PYTHON: Language = Language {
    name: "python",
    extensions: &["py", "pyi", "pyw"],
    grammar: || tree_sitter_python::LANGUAGE.into(),
    roles: &[
        ("function_definition", Role::Define(Kind::Function)),
        ("class_definition", Role::Define(Kind::Class)),
        ("decorator", Role::Decorator),
        ("call", Role::Call("function")),
        ("attribute", Role::Member("object", "attribute")),
        ("identifier", Role::Name),
        ("string", Role::Literal),
        ("concatenated_string", Role::Literal),
        ("integer", Role::Literal),
        ("float", Role::Literal),
        ("list", Role::Literal),
        ("dictionary", Role::Literal),
        ("set", Role::Literal),
        ("tuple", Role::Literal),
        ("list_comprehension", Role::Literal),
        ("dictionary_comprehension", Role::Literal),
        ("set_comprehension", Role::Literal),
        ("none", Role::Literal),
        ("true", Role::Literal),
        ("false", Role::Literal),
        ("type", Role::Wrapper("")),
        ("await", Role::Wrapper("")),
        ("parenthesized_expression", Role::Wrapper("")),
        ("as_pattern_target", Role::Wrapper("")),
        ("import_statement", Role::Import),
        ("import_from_statement", Role::Import),
        ("assignment", Role::Bind("left", "right", "type")),
        ("named_expression", Role::Bind("name", "value", "")),
        ("for_statement", Role::Bind("left", "", "")),
        ("for_in_clause", Role::Bind("left", "", "")),
        ("as_pattern", Role::Bind("alias", "", "")),
        ("typed_parameter", Role::Bind("", "", "type")),
        ("typed_default_parameter", Role::Bind("name", "", "type")),
        ("default_parameter", Role::Bind("name", "", "")),
        ("parameters", Role::Names),
        ("lambda_parameters", Role::Names),
    ],
    imports,
    separator: ".",
    self_names: &["self", "cls"],
    implicit_this: false,
    doc_prefixes: &[],
    builtins: &[
        "abs", "aiter", "all", "anext", "any", "ascii", "bin", "bool", "breakpoint", "bytearray", "bytes", "callable", "chr",
        "classmethod", "compile", "complex", "delattr", "dict", "dir", "divmod", "enumerate", "eval", "exec", "exit", "filter",
        "float", "format", "frozenset", "getattr", "globals", "hasattr", "hash", "help", "hex", "id", "input", "int",
        "isinstance", "issubclass", "iter", "len", "list", "locals", "map", "max", "memoryview", "min", "next", "object", "oct",
        "open", "ord", "pow", "print", "property", "quit", "range", "repr", "reversed", "round", "set", "setattr", "slice",
        "sorted", "staticmethod", "str", "sum", "tuple", "type", "vars", "zip", "__import__", "ArithmeticError",
        "AssertionError", "AttributeError", "BaseException", "BaseExceptionGroup", "BlockingIOError", "BrokenPipeError",
        "BufferError", "BytesWarning", "ChildProcessError", "ConnectionAbortedError", "ConnectionError",
        "ConnectionRefusedError", "ConnectionResetError", "DeprecationWarning", "EOFError", "EncodingWarning",
        "EnvironmentError", "Exception", "ExceptionGroup", "FileExistsError", "FileNotFoundError", "FloatingPointError",
        "FutureWarning", "GeneratorExit", "IOError", "ImportError", "ImportWarning", "IndentationError", "IndexError",
        "InterruptedError", "IsADirectoryError", "KeyError", "KeyboardInterrupt", "LookupError", "MemoryError",
        "ModuleNotFoundError", "NameError", "NotADirectoryError", "NotImplementedError", "OSError", "OverflowError",
        "PendingDeprecationWarning", "PermissionError", "ProcessLookupError", "RecursionError", "ReferenceError",
        "ResourceWarning", "RuntimeError", "RuntimeWarning", "StopAsyncIteration", "StopIteration", "SyntaxError",
        "SyntaxWarning", "SystemError", "SystemExit", "TabError", "TimeoutError", "TypeError", "UnboundLocalError",
        "UnicodeDecodeError", "UnicodeEncodeError", "UnicodeError", "UnicodeTranslateError", "UnicodeWarning", "UserWarning",
        "ValueError", "Warning", "ZeroDivisionError",
    ],
    builtin_methods: &[
        "append", "appendleft", "capitalize", "casefold", "center", "clear", "copy", "count", "decode", "difference",
        "difference_update", "discard", "encode", "endswith", "expandtabs", "extend", "find", "format", "format_map",
        "fromkeys", "get", "index", "insert", "intersection", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit",
        "isdisjoint", "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "issubset", "issuperset", "istitle",
        "isupper", "items", "join", "keys", "ljust", "lower", "lstrip", "partition", "pop", "popitem", "popleft", "remove",
        "removeprefix", "removesuffix", "replace", "reverse", "rfind", "rindex", "rjust", "rpartition", "rsplit", "rstrip",
        "setdefault", "sort", "split", "splitlines", "startswith", "strip", "swapcase", "symmetric_difference", "title",
        "to_bytes", "translate", "union", "update", "upper", "values", "zfill", "bit_length", "hex", "tobytes", "tolist",
        "read", "readline", "readlines", "write", "writelines", "close", "flush", "seek", "tell", "fileno",
        "__init__", "__new__", "__getattribute__", "__setattr__", "__eq__", "__hash__", "__repr__", "__str__", "__reduce_ex__",
        "__getitem__", "__setitem__", "__delitem__", "__contains__", "__iter__", "__next__", "__len__", "__dir__",
        "__init_subclass__", "__enter__", "__exit__", "__format__", "with_traceback", "add_note",
    ],
    compiled: OnceLock::new(),
};

/// `import a.b as c`, `from a import b as c`, `from a import *`.
fn imports(node: Node<'_>, source: &str) -> Vec<(String, String)> {
    let module = node.child_by_field_name("module_name").map(|module| text(module, source));
    let mut found = Vec::new();
    let mut cursor = node.walk();
    for name in node.children_by_field_name("name", &mut cursor) {
        let alias = name.child_by_field_name("alias").map(|alias| text(alias, source));
        let path = name.child_by_field_name("name").unwrap_or(name);
        let path = text(path, source);
        let (bound, path) = match (module, alias) {
            (Some(module), alias) if module.ends_with('.') => (alias.unwrap_or(path), format!("{module}{path}")),
            (Some(module), alias) => (alias.unwrap_or(path), format!("{module}.{path}")),
            (None, Some(alias)) => (alias, path.to_string()),
            // `import a.b` binds `a`.
            (None, None) => {
                let root = path.split('.').next().unwrap_or(path);
                (root, root.to_string())
            }
        };
        found.push((bound.to_string(), path));
    }
    let mut cursor = node.walk();
    let star = node.named_children(&mut cursor).any(|child| child.kind() == "wildcard_import");
    if let (true, Some(module)) = (star, module) {
        found.push(("*".to_string(), module.to_string()));
    }
    found
}
