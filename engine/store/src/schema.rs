//! Tables: typed columns, a primary key, secondary indexes.

use crate::codec::{Reader, Write};
use crate::error::StoreError;
use crate::value::{ColumnType, Value};

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name, unique in the table.
    pub name: String,
    /// The type of its values.
    pub kind: ColumnType,
    /// Whether it may hold [`Value::Null`](crate::Value::Null).
    pub nullable: bool,
}

/// A secondary index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexSchema {
    /// Its name, unique in the table.
    pub name: String,
    /// Places of its columns in the table's.
    pub columns: Vec<usize>,
    /// Whether two rows may not have the same values there. Rows with a null among them do not count.
    pub unique: bool,
}

/// The definition of a table. Built by chaining; [`Store::create_table`](crate::Store::create_table) checks it.
///
/// ```
/// use evenkeel_store::{ColumnType, Schema};
/// let schema = Schema::new("orders")
///     .column("warehouse", ColumnType::Int)
///     .column("id", ColumnType::Int)
///     .column("customer", ColumnType::Int)
///     .nullable("carrier", ColumnType::Int)
///     .primary_key(["warehouse", "id"])
///     .unique_index("by_customer", ["warehouse", "customer", "id"]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schema {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) primary_key: Vec<usize>,
    pub(crate) indexes: Vec<IndexSchema>,
    /// The first name that was used but not defined.
    unknown: Option<String>,
}

/// Columns a table may have.
const COLUMNS_MAX: usize = 1024;
/// Indexes a table may have.
const INDEXES_MAX: usize = 256;
/// The longest name of a table, column or index, in bytes.
const NAME_BYTES_MAX: usize = 1024;

impl Schema {
    /// A table without columns.
    pub fn new(name: impl Into<String>) -> Schema {
        Schema {
            name: name.into(),
            columns: Vec::new(),
            primary_key: Vec::new(),
            indexes: Vec::new(),
            unknown: None,
        }
    }

    /// Adds a column that always holds a value.
    pub fn column(self, name: impl Into<String>, kind: ColumnType) -> Schema {
        self.add_column(name.into(), kind, false)
    }

    /// Adds a column that may hold null.
    pub fn nullable(self, name: impl Into<String>, kind: ColumnType) -> Schema {
        self.add_column(name.into(), kind, true)
    }

    /// Sets the primary key: columns defined before, none of them nullable.
    pub fn primary_key<'n>(mut self, columns: impl IntoIterator<Item = &'n str>) -> Schema {
        self.primary_key = self.places(columns);
        self
    }

    /// Adds an index over columns defined before.
    pub fn index<'n>(
        self,
        name: impl Into<String>,
        columns: impl IntoIterator<Item = &'n str>,
    ) -> Schema {
        self.add_index(name.into(), columns, false)
    }

    /// Adds an index over columns defined before, whose values no two rows share.
    pub fn unique_index<'n>(
        self,
        name: impl Into<String>,
        columns: impl IntoIterator<Item = &'n str>,
    ) -> Schema {
        self.add_index(name.into(), columns, true)
    }

    fn add_column(mut self, name: String, kind: ColumnType, nullable: bool) -> Schema {
        self.columns.push(Column {
            name,
            kind,
            nullable,
        });
        self
    }

    fn add_index<'n>(
        mut self,
        name: String,
        columns: impl IntoIterator<Item = &'n str>,
        unique: bool,
    ) -> Schema {
        let columns = self.places(columns);
        self.indexes.push(IndexSchema {
            name,
            columns,
            unique,
        });
        self
    }

    fn places<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) -> Vec<usize> {
        let mut places = Vec::new();
        for name in names {
            match self.columns.iter().position(|column| column.name == name) {
                Some(place) => places.push(place),
                None => self.unknown = self.unknown.take().or_else(|| Some(name.to_owned())),
            }
        }
        places
    }

    /// Whether a new table of this schema can be written down; [`check`](Schema::check) says whether it makes sense.
    ///
    /// # Errors
    /// [`StoreError::BadSchema`] with the limit that is passed.
    pub(crate) fn check_limits(&self) -> Result<(), StoreError> {
        let columns = self.columns.iter().map(|column| &column.name);
        let indexes = self.indexes.iter().map(|index| &index.name);
        let mut names = std::iter::once(&self.name).chain(columns).chain(indexes);
        let long = names.find(|name| name.len() > NAME_BYTES_MAX);
        let what = if let Some(name) = long {
            format!(
                "the name {} is too long: at most {NAME_BYTES_MAX} bytes",
                Value::from(name.as_str())
            )
        } else if self.indexes.len() > INDEXES_MAX {
            format!("{} indexes: at most {INDEXES_MAX}", self.indexes.len())
        } else {
            return Ok(());
        };
        // The table's own name may be the one that is too long to be shown.
        let table = self.name.chars().take(NAME_BYTES_MAX).collect();
        Err(StoreError::BadSchema { table, what })
    }

    /// # Errors
    /// [`StoreError::BadSchema`] saying what is wrong.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let bad = |what: String| {
            Err(StoreError::BadSchema {
                table: self.name.clone(),
                what,
            })
        };
        if let Some(name) = &self.unknown {
            return bad(format!(
                "there is no column {name:?} (define columns before keys and indexes)"
            ));
        }
        if self.name.is_empty() || self.columns.len() > COLUMNS_MAX {
            return bad(format!(
                "a table has a name and at most {COLUMNS_MAX} columns"
            ));
        }
        if self.primary_key.is_empty() {
            return bad("a table needs a primary key".to_owned());
        }
        if let Some(&at) = self
            .primary_key
            .iter()
            .find(|&&at| self.columns[at].nullable)
        {
            return bad(format!(
                "{:?} is nullable and part of the primary key",
                self.columns[at].name
            ));
        }
        if self.indexes.iter().any(|index| index.columns.is_empty()) {
            return bad("an index needs columns".to_owned());
        }
        let mut lists = vec![&self.primary_key];
        lists.extend(self.indexes.iter().map(|index| &index.columns));
        if let Some(at) = lists.into_iter().find_map(|list| repeated(list)) {
            return bad(format!("{:?} is listed twice", self.columns[*at].name));
        }
        let names: Vec<&String> = self.columns.iter().map(|column| &column.name).collect();
        let indexes: Vec<&String> = self.indexes.iter().map(|index| &index.name).collect();
        match repeated(&names).or_else(|| repeated(&indexes)) {
            Some(name) => bad(format!("{name:?} is defined twice")),
            None => Ok(()),
        }
    }

    /// Appends the schema's bytes: name, columns, primary key, indexes, each list with its length.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.short_bytes(self.name.as_bytes());
        bytes.u16(self.columns.len() as u16);
        for column in &self.columns {
            bytes.short_bytes(column.name.as_bytes());
            bytes.u8(column.kind as u8);
            bytes.u8(u8::from(column.nullable));
        }
        encode_places(&self.primary_key, bytes);
        bytes.u16(self.indexes.len() as u16);
        for index in &self.indexes {
            bytes.short_bytes(index.name.as_bytes());
            bytes.u8(u8::from(index.unique));
            encode_places(&index.columns, bytes);
        }
    }

    /// Reads what [`encode`](Schema::encode) wrote; `None` if it is malformed.
    pub(crate) fn decode(bytes: &mut Reader<'_>) -> Option<Schema> {
        let mut schema = Schema::new(bytes.text()?);
        for _ in 0..bytes.u16()? {
            let name = bytes.text()?;
            let kind = ColumnType::from_code(bytes.u8()?)?;
            schema = schema.add_column(name, kind, bytes.u8()? != 0);
        }
        schema.primary_key = decode_places(bytes)?;
        for _ in 0..bytes.u16()? {
            let name = bytes.text()?;
            let unique = bytes.u8()? != 0;
            let columns = decode_places(bytes)?;
            schema.indexes.push(IndexSchema {
                name,
                columns,
                unique,
            });
        }
        let places = schema.indexes.iter().flat_map(|index| &index.columns);
        let in_range = places
            .chain(&schema.primary_key)
            .all(|&at| at < schema.columns.len());
        (in_range && schema.check().is_ok()).then_some(schema)
    }
}

fn repeated<T: PartialEq>(list: &[T]) -> Option<&T> {
    list.iter()
        .enumerate()
        .find_map(|(at, item)| list[..at].contains(item).then_some(item))
}

fn encode_places(places: &[usize], bytes: &mut Vec<u8>) {
    bytes.u16(places.len() as u16);
    for &place in places {
        bytes.u16(place as u16);
    }
}

fn decode_places(bytes: &mut Reader<'_>) -> Option<Vec<usize>> {
    let len = bytes.u16()?;
    (0..len).map(|_| bytes.u16().map(usize::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders() -> Schema {
        Schema::new("orders")
            .column("w", ColumnType::Int)
            .column("o", ColumnType::Int)
            .nullable("carrier", ColumnType::Int)
            .column("note", ColumnType::Text)
            .primary_key(["w", "o"])
            .index("by_note", ["note"])
            .unique_index("by_carrier", ["carrier", "w"])
    }

    #[test]
    fn schemas_decode_as_encoded_and_cut_ones_are_refused() {
        let mut bytes = Vec::new();
        orders().encode(&mut bytes);
        assert_eq!(Schema::decode(&mut Reader(&bytes)), Some(orders()));
        for len in 0..bytes.len() {
            assert_eq!(Schema::decode(&mut Reader(&bytes[..len])), None);
        }
    }

    #[test]
    fn limits_are_named() {
        let long = "x".repeat(70_000);
        let column = |name: &str| Schema::new("t").column(name, ColumnType::Int);
        let mut indexed = column("a").primary_key(["a"]);
        for number in 0..=INDEXES_MAX {
            indexed = indexed.index(number.to_string(), ["a"]);
        }
        let passed = [
            (Schema::new(&long), "1024 bytes"),
            (column(&long), "1024 bytes"),
            (column("a").index(&long, ["a"]), "1024 bytes"),
            (indexed, "at most 256"),
        ];
        for (schema, expected) in passed {
            let text = schema.check_limits().unwrap_err().to_string();
            assert!(text.contains(expected) && text.len() < 2000, "{text}");
        }
        orders().check_limits().unwrap();
    }

    #[test]
    fn mistakes_are_named() {
        let mistakes = [
            (orders().primary_key(["w", "x"]), "no column \"x\""),
            (orders().primary_key([]), "needs a primary key"),
            (orders().primary_key(["carrier"]), "\"carrier\" is nullable"),
            (orders().primary_key(["w", "w"]), "\"w\" is listed twice"),
            (
                orders().index("by_note", ["o"]),
                "\"by_note\" is defined twice",
            ),
            (
                orders().column("w", ColumnType::Int),
                "\"w\" is defined twice",
            ),
            (orders().index("none", []), "an index needs columns"),
        ];
        for (schema, expected) in mistakes {
            let text = schema.check().unwrap_err().to_string();
            assert!(text.contains(expected), "{text}");
        }
        orders().check().unwrap();
    }
}
