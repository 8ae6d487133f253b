//! `docs/columnar.md` has the schema as it is in the code.

use std::fmt::Write;
use std::path::PathBuf;

use backstory_columnar::Table;

const BEGIN: &str = "<!-- tables: made from the code by a test -->\n";
const END: &str = "<!-- end of tables -->\n";

pub(crate) fn document_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/columnar.md")
}

/// With BLESS=1, writes the tables into the document.
#[test]
fn the_document_has_the_schema() {
    let path = document_path();
    let document = std::fs::read_to_string(&path).unwrap();
    let begin = document.find(BEGIN).unwrap() + BEGIN.len();
    let end = document.find(END).unwrap();
    let tables = schema_tables();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(
            path,
            format!("{}{tables}{}", &document[..begin], &document[end..]),
        )
        .unwrap();
    } else {
        assert_eq!(&document[begin..end], tables, "run this test with BLESS=1");
    }
}

fn schema_tables() -> String {
    let mut tables = String::new();
    for table in Table::ALL {
        let row = match table {
            Table::Sessions => "a row a session",
            Table::Events => "a row an event",
            Table::ToolCalls => "a row a tool call, with its result",
            Table::Usage => "a row a message of a model that used tokens",
        };
        writeln!(
            tables,
            "\n#### `{}`: {row}\n\n| column | type | null | |\n|---|---|---|---|",
            table.name()
        )
        .unwrap();
        for column in table.columns() {
            let null = if column.nullable { "yes" } else { "" };
            writeln!(
                tables,
                "| `{}` | {} | {null} | {} |",
                column.name,
                column.kind.sql_name(),
                column.about
            )
            .unwrap();
        }
    }
    tables.push('\n');
    tables
}
