//! Tables and their columns.

use std::sync::Arc;

use ::parquet::basic::{
    Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel,
};
use ::parquet::errors::Result;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use ::parquet::schema::types::{ColumnPath, Type, TypePtr};
use serde::Serialize;

use self::ColumnKind::{Boolean, Date, Integer, Name, Text, TextList, Timestamp};
pub(super) use super::table_columns::{
    EVENT_COLUMNS, SESSION_COLUMNS, TOOL_CALL_COLUMNS, USAGE_COLUMNS,
};

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// One row a session.
    Sessions,
    /// One row an event.
    Events,
    /// One row a tool call, with its result.
    ToolCalls,
    /// One row a message of a model and model that used tokens for it.
    Usage,
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ColumnSchema {
    /// Name.
    pub name: &'static str,
    /// Type of its values.
    pub kind: ColumnKind,
    /// Values can be null.
    pub nullable: bool,
    /// Meaning of its values.
    pub about: &'static str,
}

/// Type of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// UTF-8 text with few different values.
    Name,
    /// UTF-8 text.
    Text,
    /// List of UTF-8 texts; empty, never null.
    TextList,
    /// Signed number of 64 bits.
    Integer,
    /// True or false.
    Boolean,
    /// Time in milliseconds, UTC.
    Timestamp,
    /// Day, UTC.
    Date,
}

impl ColumnKind {
    /// Returns the name of the type in DuckDB.
    pub fn sql_name(self) -> &'static str {
        match self {
            ColumnKind::Name | ColumnKind::Text => "VARCHAR",
            ColumnKind::TextList => "VARCHAR[]",
            ColumnKind::Integer => "BIGINT",
            ColumnKind::Boolean => "BOOLEAN",
            ColumnKind::Timestamp => "TIMESTAMPTZ",
            ColumnKind::Date => "DATE",
        }
    }
}

impl Table {
    /// All tables.
    pub const ALL: [Table; 4] = [
        Table::Sessions,
        Table::Events,
        Table::ToolCalls,
        Table::Usage,
    ];

    /// Returns the name, which is that of its folder, too.
    pub fn name(self) -> &'static str {
        match self {
            Table::Sessions => "sessions",
            Table::Events => "events",
            Table::ToolCalls => "tool_calls",
            Table::Usage => "usage",
        }
    }

    /// Returns the table of this name.
    pub fn from_name(name: &str) -> Option<Table> {
        Table::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Returns the columns in their order.
    pub fn columns(self) -> &'static [ColumnSchema] {
        match self {
            Table::Sessions => &SESSION_COLUMNS,
            Table::Events => &EVENT_COLUMNS,
            Table::ToolCalls => &TOOL_CALL_COLUMNS,
            Table::Usage => &USAGE_COLUMNS,
        }
    }

    pub(super) fn parquet_schema(self) -> Result<TypePtr> {
        let columns: Result<Vec<TypePtr>> = self.columns().iter().map(column_type).collect();
        let schema = Type::group_type_builder(self.name()).with_fields(columns?);
        Ok(Arc::new(schema.build()?))
    }

    /// Compression and encodings of the columns.
    pub(super) fn writer_properties(self) -> Result<WriterPropertiesBuilder> {
        let mut builder = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_created_by(concat!("backstory ", env!("CARGO_PKG_VERSION")).to_string())
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true);
        for column in self.columns() {
            let path = leaf_path(column);
            builder = match column.kind {
                // Nearly every value is another one: a dictionary would be built in vain, and statistics of texts help no query.
                Text => builder
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_statistics_enabled(path, EnabledStatistics::None),
                Integer | Timestamp => builder
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
                Name | TextList | Boolean | Date => builder,
            };
        }
        Ok(builder)
    }
}

/// Path of the column's values in the schema.
fn leaf_path(column: &ColumnSchema) -> ColumnPath {
    let mut parts = vec![column.name.to_string()];
    if column.kind == TextList {
        parts.extend(["list".to_string(), "element".to_string()]);
    }
    ColumnPath::new(parts)
}

fn column_type(column: &ColumnSchema) -> Result<TypePtr> {
    let repetition = if column.nullable {
        Repetition::OPTIONAL
    } else {
        Repetition::REQUIRED
    };
    let primitive = |physical, logical| {
        let builder = Type::primitive_type_builder(column.name, physical);
        builder
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build()
    };
    let built = match column.kind {
        Name | Text => primitive(Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Integer => primitive(Physical::INT64, None),
        Boolean => primitive(Physical::BOOLEAN, None),
        Timestamp => primitive(
            Physical::INT64,
            Some(LogicalType::timestamp(true, TimeUnit::MILLIS)),
        ),
        Date => primitive(Physical::INT32, Some(LogicalType::Date)),
        TextList => {
            let element = Type::primitive_type_builder("element", Physical::BYTE_ARRAY)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(Some(LogicalType::String));
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![Arc::new(element.build()?)]);
            Type::group_type_builder(column.name)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(Some(LogicalType::List))
                .with_fields(vec![Arc::new(list.build()?)])
                .build()
        }
    };
    Ok(Arc::new(built?))
}
