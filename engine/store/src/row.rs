//! Rows as bytes: the key of the primary tree, the value stored there, the keys of the indexes.
//!
//! ```text
//! primary tree:  key = the primary key's columns    value = 0, null bits (1 for each other column), the other columns in order;
//!                                                   of a long row see [`crate::overflow`]
//! index tree:    key = the index's columns, then the primary key's    value = empty
//! column in a value:  Int, Float: 8 bytes, also if null, so that setting it does not move the rest
//!                     Text, Bytes: length (2, or FFFF and 4), bytes
//! ```

use crate::codec::{Reader, Write};
use crate::error::StoreError;
use crate::key::{decode_value, encode_value};
use crate::schema::{IndexSchema, Schema};
use crate::value::{ColumnType, Row, Value};

/// The first byte of a value with the row in it.
const INLINE: u8 = 0;
/// The first byte of a value with the length of a row in chunks.
pub(crate) const OUT_OF_LINE: u8 = 1;

/// Whether a value of the primary tree is that of a row in chunks.
pub(crate) fn is_out_of_line(value: &[u8]) -> bool {
    value.first() == Some(&OUT_OF_LINE)
}

/// The row's bytes, if they are in the value.
fn inline(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(&[INLINE])
}

/// Begins a value with the row in it.
pub(crate) fn begin_inline(value: &mut Vec<u8>) {
    value.u8(INLINE);
}

/// The length of a row in chunks; `None` for any other value.
pub(crate) fn out_of_line_len(value: &[u8]) -> Option<usize> {
    let mut reader = Reader(value.strip_prefix(&[OUT_OF_LINE])?);
    let len = reader.u32()? as usize;
    reader.is_empty().then_some(len)
}

/// Converts the rows of one table.
#[derive(Debug)]
pub(crate) struct RowLayout {
    schema: Schema,
    /// Places of the columns outside the primary key.
    others: Vec<usize>,
}

impl RowLayout {
    pub(crate) fn new(schema: Schema) -> RowLayout {
        let others = (0..schema.columns.len())
            .filter(|at| !schema.primary_key.contains(at))
            .collect();
        RowLayout { schema, others }
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// # Errors
    /// [`StoreError::BadRow`] if the row does not fit the schema.
    pub(crate) fn check_row(&self, row: &[Value]) -> Result<(), StoreError> {
        let columns = &self.schema.columns;
        if row.len() != columns.len() {
            return Err(self.bad(format!(
                "{} values for {} columns",
                row.len(),
                columns.len()
            )));
        }
        for (value, column) in row.iter().zip(columns) {
            let missing = *value == Value::Null && !column.nullable;
            if missing || !value.fits(column.kind) {
                return Err(self.bad(format!(
                    "column {:?} ({:?}) cannot hold {value}",
                    column.name, column.kind
                )));
            }
        }
        Ok(())
    }

    /// # Errors
    /// [`StoreError::BadRow`] if `values` are not the columns of the primary key.
    pub(crate) fn check_key(&self, values: &[Value]) -> Result<(), StoreError> {
        let key = &self.schema.primary_key;
        let fits = |(value, &at): (&Value, &usize)| {
            value.fits(self.schema.columns[at].kind) && *value != Value::Null
        };
        if values.len() == key.len() && values.iter().zip(key).all(fits) {
            return Ok(());
        }
        Err(self.bad(format!(
            "the primary key has {} columns of other types",
            key.len()
        )))
    }

    /// # Errors
    /// [`StoreError::BadRow`] if `values` are not the first columns of the index, or of the primary key.
    pub(crate) fn check_prefix(
        &self,
        index: Option<&IndexSchema>,
        values: &[Value],
    ) -> Result<(), StoreError> {
        let index_columns = index.map_or(&[][..], |index| &index.columns);
        let mut columns = index_columns.iter().chain(&self.schema.primary_key);
        let fits = |value: &Value| {
            columns
                .next()
                .is_some_and(|&at| value.fits(self.schema.columns[at].kind))
        };
        if values.iter().all(fits) {
            return Ok(());
        }
        Err(self.bad(
            "a bound of a scan has values of other types than the key's columns, or too many"
                .to_owned(),
        ))
    }

    fn bad(&self, what: String) -> StoreError {
        StoreError::BadRow {
            table: self.schema.name.clone(),
            what,
        }
    }

    /// Appends the primary key of `row`.
    pub(crate) fn encode_key(&self, row: &[Value], key: &mut Vec<u8>) {
        for &at in &self.schema.primary_key {
            encode_value(&row[at], key);
        }
    }

    /// Appends the value stored for `row`.
    pub(crate) fn encode_row(&self, row: &[Value], bytes: &mut Vec<u8>) {
        begin_inline(bytes);
        let start = bytes.len();
        bytes.resize(start + self.others.len().div_ceil(8), 0);
        for (nth, &at) in self.others.iter().enumerate() {
            match (&row[at], self.schema.columns[at].kind) {
                (Value::Int(value), _) => bytes.u64(*value as u64),
                (Value::Float(value), _) => bytes.u64(value.to_bits()),
                (Value::Text(value), _) => bytes.long_bytes(value.as_bytes()),
                (Value::Bytes(value), _) => bytes.long_bytes(value),
                (Value::Null, kind) => {
                    bytes[start + nth / 8] |= 1 << (nth % 8);
                    match kind {
                        ColumnType::Int | ColumnType::Float => bytes.u64(0),
                        ColumnType::Text | ColumnType::Bytes => bytes.u16(0),
                    }
                }
            }
        }
    }

    /// The row of an entry of the primary tree; `None` if it is malformed.
    pub(crate) fn decode(&self, key: &[u8], value: &[u8]) -> Option<Row> {
        let mut row = vec![Value::Null; self.schema.columns.len()];
        let mut key = Reader(key);
        for &at in &self.schema.primary_key {
            row[at] = decode_value(&mut key, self.schema.columns[at].kind)?;
        }
        let mut value = Reader(inline(value)?);
        let nulls = value.take(self.others.len().div_ceil(8))?;
        for (nth, &at) in self.others.iter().enumerate() {
            let field = read_field(&mut value, self.schema.columns[at].kind)?;
            if nulls[nth / 8] & 1 << (nth % 8) == 0 {
                row[at] = field;
            }
        }
        (key.is_empty() && value.is_empty()).then_some(Row(row))
    }

    /// Appends the key of `row` in `index`, the primary key at its end.
    pub(crate) fn encode_index_key(&self, index: &IndexSchema, row: &[Value], key: &mut Vec<u8>) {
        for &at in &index.columns {
            encode_value(&row[at], key);
        }
        self.encode_key(row, key);
    }

    /// Where the primary key begins in a key of `index`; `None` if it is malformed.
    pub(crate) fn primary_key_in(&self, index: &IndexSchema, key: &[u8]) -> Option<usize> {
        let mut reader = Reader(key);
        for &at in &index.columns {
            skip_value(&mut reader, self.schema.columns[at].kind)?;
        }
        Some(key.len() - reader.0.len())
    }

    /// Whether `row` takes part in the uniqueness of `index`: it has no null there.
    pub(crate) fn is_unique_in(&self, index: &IndexSchema, row: &[Value]) -> bool {
        index.unique && index.columns.iter().all(|&at| row[at] != Value::Null)
    }
}

/// Moves past a value of a key without building it.
fn skip_value(key: &mut Reader<'_>, kind: ColumnType) -> Option<()> {
    match kind {
        ColumnType::Int | ColumnType::Float if *key.0.first()? != 0 => key.take(9).map(|_| ()),
        _ => decode_value(key, kind).map(|_| ()),
    }
}

fn read_field(bytes: &mut Reader<'_>, kind: ColumnType) -> Option<Value> {
    Some(match kind {
        ColumnType::Int => Value::Int(bytes.u64()? as i64),
        ColumnType::Float => Value::Float(f64::from_bits(bytes.u64()?)),
        ColumnType::Text => Value::Text(String::from_utf8(bytes.long_bytes()?.to_vec()).ok()?),
        ColumnType::Bytes => Value::Bytes(bytes.long_bytes()?.to_vec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layout() -> RowLayout {
        RowLayout::new(
            Schema::new("t")
                .nullable("note", ColumnType::Text)
                .column("id", ColumnType::Int)
                .nullable("weight", ColumnType::Float)
                .column("group", ColumnType::Bytes)
                .nullable("count", ColumnType::Int)
                .primary_key(["group", "id"])
                .unique_index("by_note", ["note", "count"]),
        )
    }

    fn row() -> impl Strategy<Value = Vec<Value>> {
        let note = proptest::option::of("[a\u{0}é]{0,5}").prop_map(Value::from);
        let weight = proptest::option::of(any::<f64>()).prop_map(Value::from);
        let group = proptest::collection::vec(0..3u8, 0..4).prop_map(Value::Bytes);
        let count = proptest::option::of(any::<i64>()).prop_map(Value::from);
        let id = any::<i64>().prop_map(Value::Int);
        (note, id, weight, group, count).prop_map(|(a, b, c, d, e)| vec![a, b, c, d, e])
    }

    proptest! {
        #[test]
        fn rows_survive_the_round_trip(row in row()) {
            let layout = layout();
            layout.check_row(&row).unwrap();
            let (mut key, mut value) = (Vec::new(), Vec::new());
            layout.encode_key(&row, &mut key);
            layout.encode_row(&row, &mut value);
            // By text, because NaN differs from itself.
            prop_assert_eq!(format!("{:?}", layout.decode(&key, &value).unwrap().0), format!("{:?}", row));
            for len in 0..value.len() {
                prop_assert_eq!(layout.decode(&key, &value[..len]), None);
            }
            let index = &layout.schema().indexes[0];
            let mut index_key = Vec::new();
            layout.encode_index_key(index, &row, &mut index_key);
            let at = layout.primary_key_in(index, &index_key).unwrap();
            prop_assert_eq!(&index_key[at..], &key[..]);
        }
    }

    #[test]
    fn fields_of_every_length_survive_the_round_trip() {
        let layout = layout();
        for len in [0, 0xFFFE, 0xFFFF, 0x1_0000, 1 << 20] {
            let row = vec![
                "x".repeat(len).into(),
                1.into(),
                Value::Null,
                Value::Bytes(vec![]),
                Value::Null,
            ];
            let (mut key, mut value) = (Vec::new(), Vec::new());
            layout.encode_key(&row, &mut key);
            layout.encode_row(&row, &mut value);
            assert_eq!(layout.decode(&key, &value).unwrap().0, row);
        }
    }

    #[test]
    fn rows_of_other_shapes_are_refused() {
        let layout = layout();
        let good = vec![
            Value::Null,
            1.into(),
            Value::Null,
            Value::Bytes(vec![]),
            Value::Null,
        ];
        layout.check_row(&good).unwrap();
        assert!(!layout.is_unique_in(&layout.schema().indexes[0], &good));
        for (at, value) in [(0, 1.into()), (1, Value::Null), (3, "text".into())] {
            let mut row = good.clone();
            row[at] = value;
            assert!(matches!(
                layout.check_row(&row),
                Err(StoreError::BadRow { .. })
            ));
        }
        assert!(layout.check_row(&good[1..]).is_err());
        layout.check_key(&[Value::Bytes(vec![]), 1.into()]).unwrap();
        assert!(layout.check_key(&[Value::Bytes(vec![])]).is_err());
        layout.check_prefix(None, &[Value::Bytes(vec![])]).unwrap();
        assert!(layout.check_prefix(None, &[1.into()]).is_err());
    }
}
