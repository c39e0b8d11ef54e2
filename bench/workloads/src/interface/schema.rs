//! Tables, columns and indexes, declared once for all targets.

/// A table of a [`Schema`], by its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub usize);

/// The type of a column, and the meaning of its [`Value`](super::Value).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Four-byte integer: `Value::Int`.
    Int32,
    /// Eight-byte integer: `Value::Int`.
    Int64,
    /// Exact decimal of `precision` digits, `scale` of them after the point. `Value::Int` in units of
    /// `10^-scale`.
    Decimal {
        /// All digits; at most 18.
        precision: u8,
        /// Digits after the decimal point.
        scale: u8,
    },
    /// Eight-byte floating point: `Value::Float`.
    Float64,
    /// Text of at most this many characters: `Value::Text`. Fixed-size text of a specification is declared alike; its
    /// values have exactly that length.
    Text(u16),
    /// Microseconds since 1970-01-01 00:00 UTC: `Value::Int`.
    Timestamp,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name in SQL.
    pub name: &'static str,
    /// Its type.
    pub column_type: ColumnType,
    /// Whether it may be NULL.
    pub nullable: bool,
}

/// A secondary index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its name in SQL, unique in the schema.
    pub name: &'static str,
    /// The indexed columns in key order, as positions in [`Table::columns`].
    pub columns: Vec<usize>,
    /// Whether two rows with the same key are refused with
    /// [`Error::DuplicateKey`](super::Error::DuplicateKey).
    pub unique: bool,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name in SQL.
    pub name: &'static str,
    /// Its columns, in the order of a loaded or inserted row.
    pub columns: Vec<Column>,
    /// Key columns in key order, as positions in `columns`.
    ///
    /// May be empty (TPC-C's HISTORY): then rows are only inserted and scanned. PostgreSQL keeps a heap, InnoDB a
    /// hidden row number, and an embedded target appends a hidden row number as key.
    pub primary_key: Vec<usize>,
    /// Secondary indexes.
    pub indexes: Vec<Index>,
}

impl Table {
    /// The position of the column called `name`.
    ///
    /// # Panics
    /// If the column does not exist: a mistake in a declaration.
    pub fn column(&self, name: &str) -> usize {
        let found = self.columns.iter().position(|column| column.name == name);
        found.unwrap_or_else(|| panic!("table {} has no column {name}", self.name))
    }

    /// The key columns of an access path, in key order.
    pub fn key(&self, path: AccessPath) -> &[usize] {
        match path {
            AccessPath::PrimaryKey => &self.primary_key,
            AccessPath::Index(index) => &self.indexes[index].columns,
        }
    }
}

/// The order in which a table is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessPath {
    /// By primary key. Of a table without one: all rows in any order.
    PrimaryKey,
    /// By a secondary index, as a position in [`Table::indexes`].
    Index(usize),
}

/// All tables of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// The tables; a [`TableId`] is a position here. They may be created and loaded in this order.
    pub tables: Vec<Table>,
}

impl Schema {
    /// An empty schema.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a table; `primary_key` names its key columns in key order.
    ///
    /// # Panics
    /// If a key column does not exist or a column or table is declared twice.
    pub fn table(
        &mut self,
        name: &'static str,
        columns: Vec<Column>,
        primary_key: &[&str],
    ) -> TableId {
        assert!(
            self.tables.iter().all(|table| table.name != name),
            "table {name} is declared twice"
        );
        for (position, column) in columns.iter().enumerate() {
            let earlier = &columns[..position];
            assert!(
                earlier.iter().all(|other| other.name != column.name),
                "{name}.{} is declared twice",
                column.name
            );
        }
        let mut table = Table {
            name,
            columns,
            primary_key: Vec::new(),
            indexes: Vec::new(),
        };
        table.primary_key = primary_key
            .iter()
            .map(|column| table.column(column))
            .collect();
        self.tables.push(table);
        TableId(self.tables.len() - 1)
    }

    /// Declares a secondary index over `columns`, in key order.
    ///
    /// # Panics
    /// If a column does not exist or an index of that name does.
    pub fn index(&mut self, table: TableId, name: &'static str, columns: &[&str], unique: bool) {
        let mut indexes = self.tables.iter().flat_map(|table| &table.indexes);
        assert!(
            indexes.all(|index| index.name != name),
            "index {name} is declared twice"
        );
        let table = &mut self.tables[table.0];
        let columns = columns.iter().map(|column| table.column(column)).collect();
        table.indexes.push(Index {
            name,
            columns,
            unique,
        });
    }

    /// The table called `name`.
    ///
    /// # Panics
    /// If the table does not exist: a mistake in a declaration.
    pub fn find(&self, name: &str) -> TableId {
        let found = self.tables.iter().position(|table| table.name == name);
        TableId(found.unwrap_or_else(|| panic!("there is no table {name}")))
    }
}

impl std::ops::Index<TableId> for Schema {
    type Output = Table;

    fn index(&self, table: TableId) -> &Table {
        &self.tables[table.0]
    }
}

/// A column that is never NULL.
pub fn column(name: &'static str, column_type: ColumnType) -> Column {
    Column {
        name,
        column_type,
        nullable: false,
    }
}

/// Columns as SQL has them, with a comma and a space between them: `a int, b bigint null, c float, d text(9),
/// e decimal(5,2), f timestamp`.
///
/// # Panics
/// If they are written otherwise: a mistake in a declaration.
pub fn columns(text: &'static str) -> Vec<Column> {
    let columns = text.split(", ").map(|text| {
        let parsed = parsed(text);
        parsed.unwrap_or_else(|| panic!("{text:?} is no column"))
    });
    columns.collect()
}

fn parsed(text: &'static str) -> Option<Column> {
    let (name, kind) = text.split_once(' ')?;
    let (kind, nullable) = match kind.strip_suffix(" null") {
        Some(kind) => (kind, true),
        None => (kind, false),
    };
    let (kind, sizes) = kind.split_once('(').unwrap_or((kind, ")"));
    let sizes = sizes.strip_suffix(')')?;
    let column_type = match kind {
        "int" => ColumnType::Int32,
        "bigint" => ColumnType::Int64,
        "float" => ColumnType::Float64,
        "timestamp" => ColumnType::Timestamp,
        "text" => ColumnType::Text(sizes.parse().ok()?),
        "decimal" => {
            let (precision, scale) = sizes.split_once(',')?;
            ColumnType::Decimal {
                precision: precision.parse().ok()?,
                scale: scale.parse().ok()?,
            }
        }
        _ => return None,
    };
    Some(Column {
        name,
        column_type,
        nullable,
    })
}
