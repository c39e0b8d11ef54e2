//! The same transactions in SQLite, which shares no code with the store.

use std::sync::atomic::AtomicBool;

use evenkeel_drive::target::{Target, sqlite};
use evenkeel_workloads::interface::{Row, Table, Value, Workload};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::course::{Contents, Course, transact};
use crate::testbed::Unseen;

/// The tables' contents after each transaction of the course.
pub fn states(course: &Course) -> Vec<Contents> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness.db");
    let quick = [("synchronous".to_owned(), "OFF".to_owned())];
    let target = Target::from(sqlite::Target::at(&path, &quick).unwrap());
    let set_up = target.set_up(&course.hosted, false, 1, &AtomicBool::new(false), &Unseen);
    set_up.unwrap();
    let mut session = target.connect(&course.hosted).unwrap();
    let reader = Connection::open(&path).unwrap();
    let tables = &course.tpcc.schema().tables;
    let contents = || tables.iter().map(|table| rows(&reader, table)).collect();
    let mut states = vec![contents()];
    for request in &course.requests {
        let ended = session
            .run(async |link| transact(&course.tpcc, request, link, || ()).await)
            .unwrap();
        ended.unwrap();
        states.push(contents());
    }
    states
}

/// In the order of the key; of a table without one, in the order in which they came.
fn rows(reader: &Connection, table: &Table) -> Vec<Row> {
    let quoted = |column: usize| format!("\"{}\"", table.columns[column].name);
    let list = |columns: Vec<String>| columns.join(", ");
    let order = match table.primary_key.as_slice() {
        [] => "rowid".to_owned(),
        key => list(key.iter().map(|&column| quoted(column)).collect()),
    };
    let columns = list((0..table.columns.len()).map(quoted).collect());
    let sql = format!("SELECT {columns} FROM \"{}\" ORDER BY {order}", table.name);
    let mut statement = reader.prepare(&sql).unwrap();
    let row = |row: &rusqlite::Row<'_>| {
        let value = |column| row.get_ref(column).map(plain);
        (0..table.columns.len()).map(value).collect()
    };
    let rows = statement.query_map([], row).unwrap();
    rows.map(|values| Row(values.unwrap())).collect()
}

fn plain(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Float(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8(text.to_vec()).unwrap()),
        ValueRef::Blob(_) => panic!("TPC-C has no bytes"),
    }
}
