//! Groups that a query names several times: computed once where that can be, with whatever memory.

use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};

use super::*;

const ENOUGH: usize = 1 << 26;

/// An engine with this memory and the table `calls`. Names are numbered from 0. Each has this many rows, with values
/// from its number and 1 upward.
fn engine(memory_bytes: usize, names: i64, rows: i64) -> SessionContext {
    let runtime = RuntimeEnvBuilder::new();
    let runtime = runtime.with_memory_pool(Arc::new(GreedyMemoryPool::new(memory_bytes)));
    let config = SessionConfig::new().with_target_partitions(1);
    // Batches are small compared with the rows that are kept.
    let config = config.with_batch_size(32);
    let context = SessionContext::new_with_config_rt(config, runtime.build_arc().unwrap());
    let batch = |first: i64| {
        let names = first..names.min(first + 50);
        let all = || {
            names
                .clone()
                .flat_map(|name| (1..=rows).map(move |ns| (name, ns)))
        };
        let names: StringArray = all().map(|(name, _)| Some(format!("{name:030}"))).collect();
        let ns: Int64Array = all().map(|(name, ns)| Some(name + ns)).collect();
        let columns = [("name", Arc::new(names) as ArrayRef), ("ns", Arc::new(ns))];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    // Of one batch that it cuts, the engine's joins count the whole for every piece.
    let batches: Vec<RecordBatch> = (0..names).step_by(50).map(batch).collect();
    // In their order, groups need no memory but that of one.
    let table = MemTable::try_new(batches[0].schema(), vec![batches]).unwrap();
    let table = table.with_sort_order(vec![vec![ident("name").sort(true, true)]]);
    context.register_table("calls", Arc::new(table)).unwrap();
    context
}

/// The result of a query: groups in its plan, the memory of shared parts, and its rows as sorted texts, computed with
/// sharing and in the user's way.
struct Asked {
    groups: usize,
    kept_bytes: usize,
    with_tables: Result<Vec<String>, DataFusionError>,
    answer: Result<Vec<String>, DataFusionError>,
}

fn ask(context: &SessionContext, sql: &str) -> Asked {
    let threads = tokio::runtime::Builder::new_current_thread().build();
    let threads = threads.unwrap();
    let asked = threads.block_on(async {
        let (state, plan) = context.sql(sql).await.unwrap().into_parts();
        let progress = Progress::default();
        let (shared, memory) = shared(&state, plan.clone(), "it", &progress).await.unwrap();
        let mut groups = 0;
        shared
            .apply_with_subqueries(|part| {
                groups += usize::from(matches!(part, LogicalPlan::Aggregate(_)));
                Ok(TreeNodeRecursion::Continue)
            })
            .unwrap();
        let with_tables = collect_apart(&state, &shared, "it", &progress).await;
        let kept_bytes = memory.size();
        // It shows the step that it was told, with the memory of joins.
        progress.planning("it");
        drop((shared, memory));
        let answer = collect(&state, plan, "it", &progress).await;
        Asked {
            groups,
            kept_bytes,
            with_tables: with_tables.map(|rows| texts(&rows)),
            answer: answer.map(|rows| texts(&rows)),
        }
    });
    // What reads files ends a moment after the query.
    drop(threads);
    let reserved = context.runtime_env().memory_pool.reserved();
    assert_eq!(reserved, 0, "{sql}");
    asked
}

fn texts(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("null");
    let mut rows = Vec::new();
    for batch in batches {
        let columns = batch.columns().iter();
        let columns = columns.map(|column| ArrayFormatter::try_new(column, &options).unwrap());
        let columns: Vec<_> = columns.collect();
        for row in 0..batch.num_rows() {
            let values = columns.iter().map(|column| column.value(row).to_string());
            rows.push(values.collect::<Vec<_>>().join(" "));
        }
    }
    rows.sort_unstable();
    rows
}

/// Groups that are left in a query's plan, and how many rows it has.
fn left(sql: &str) -> (usize, usize) {
    let asked = ask(&engine(ENOUGH, 2, 3), sql);
    assert_eq!(
        asked.with_tables.unwrap().len(),
        asked.answer.as_ref().unwrap().len()
    );
    (asked.groups, asked.answer.unwrap().len())
}

const SUMS: &str = "WITH sums AS (SELECT name, SUM(ns) AS ns FROM calls GROUP BY name)";

#[test]
fn groups_that_are_needed_twice_are_computed_once() {
    let sql = format!(
        "{SUMS}, whole AS (SELECT SUM(ns) AS ns FROM sums) \
         SELECT a.name FROM sums AS a JOIN sums AS b ON a.name = b.name, whole AS c, whole AS d WHERE c.ns = d.ns"
    );
    assert_eq!(left(&sql), (0, 2));
    let wide = format!("{SUMS} SELECT * FROM sums UNION ALL SELECT * FROM sums");
    assert_eq!(left(&wide), (0, 4));
}

#[test]
fn different_parts_stay_apart() {
    let others = "SELECT MAX(ns) FROM calls WHERE name = 'a' UNION ALL SELECT MAX(ns) FROM calls WHERE name = 'b'";
    assert_eq!(left(others), (2, 2));
    let once = "SELECT name, SUM(ns) FROM calls GROUP BY name";
    assert_eq!(left(once), (1, 2));
}

/// Parts that depend on chance are computed in every place, as the engine by itself does, and are as random there.
/// Parts that do not are still computed once.
#[test]
fn chance_is_not_shared() {
    let twice = "SELECT * FROM chances UNION ALL SELECT * FROM chances";
    for (chance, different) in [
        (
            "SELECT name, MAX(ns + random()) AS x FROM calls GROUP BY name",
            4,
        ),
        (
            "SELECT name, MAX(ns) AS x FROM calls WHERE random() < 2 GROUP BY name",
            2,
        ),
        (
            "SELECT name, MAX(x) AS x FROM (SELECT name, random() AS x FROM calls) GROUP BY name",
            4,
        ),
        // The engine has a query inside of an expression once.
        (
            "SELECT name, MAX(ns + (SELECT MAX(random()) FROM calls)) AS x FROM calls GROUP BY name",
            2,
        ),
    ] {
        let sql = format!("WITH chances AS ({chance}) {twice}");
        let asked = ask(&engine(ENOUGH, 2, 3), &sql);
        assert!(asked.groups >= 2 && asked.kept_bytes == 0, "{chance}");
        let mut rows = asked.answer.unwrap();
        assert_eq!(rows.len(), 4, "{chance}");
        rows.dedup();
        assert_eq!(rows.len(), different, "{chance}: {rows:?}");
    }
    let beside = format!(
        "{SUMS}, chances AS (SELECT name, MAX(ns + random()) AS x FROM sums GROUP BY name) {twice}"
    );
    let asked = ask(&engine(ENOUGH, 2, 3), &beside);
    assert_eq!((asked.groups, asked.answer.unwrap().len()), (2, 4));
}

/// Parts that depend on an outer row, recursive parts, and plans that are only shown are left to the engine, which
/// reports what it cannot do.
#[test]
fn unshareable_parts_are_answered_by_the_engine() {
    let outer = "SELECT name, ns FROM calls AS a WHERE ns = (SELECT MAX(ns) FROM calls AS b WHERE b.name = a.name) \
                 OR ns = (SELECT MAX(ns) FROM calls AS b WHERE b.name = a.name) - 1 ORDER BY name, ns";
    let asked = ask(&engine(ENOUGH, 2, 3), outer);
    let expected = [(0, 2), (0, 3), (1, 3), (1, 4)];
    let expected = expected.map(|(name, ns)| format!("{name:030} {ns}"));
    assert_eq!(asked.answer.unwrap(), expected);

    let itself = "WITH RECURSIVE steps AS (SELECT CAST(1 AS BIGINT) AS n UNION ALL SELECT n + 1 FROM steps WHERE n < 4), \
                  sums AS (SELECT SUM(n) AS s FROM steps) SELECT a.s + b.s FROM sums AS a, sums AS b";
    let asked = ask(&engine(ENOUGH, 2, 3), itself);
    assert_eq!(asked.answer.unwrap(), ["20"]);
    assert_eq!(asked.kept_bytes, 0);

    let shown = format!("EXPLAIN {SUMS} SELECT * FROM sums UNION ALL SELECT * FROM sums");
    let asked = ask(&engine(ENOUGH, 2, 3), &shown);
    assert!(!asked.answer.unwrap().concat().contains("shared"));

    let overflow = "WITH large AS (SELECT name, SUM(CAST(ns AS DECIMAL(38, 0)) * CAST('99999999999999999999999999999999999999' AS DECIMAL(38, 0))) AS x FROM calls GROUP BY name) \
                    SELECT a.x FROM large AS a JOIN large AS b ON a.name = b.name";
    let context = engine(ENOUGH, 200, 3);
    let threads = tokio::runtime::Builder::new_current_thread().build();
    let refused = threads.unwrap().block_on(async {
        let (state, plan) = context.sql(overflow).await.unwrap().into_parts();
        collect(&state, plan, "it", &Progress::default()).await
    });
    let said = refused.unwrap_err().to_string();
    assert!(said.to_lowercase().contains("overflow"), "{said}");
}

/// Results of a query with more and more memory.
#[derive(Debug, Default, PartialEq, Eq)]
struct Met {
    /// The engine said that memory is short.
    refused: usize,
    /// Nothing found room to be kept, and there is an answer.
    unshared: usize,
    /// Some of it found room.
    in_part: usize,
    /// Number of times that the kept part left too little for the rest, which was answered without it.
    again: usize,
    /// All was kept.
    at_once: usize,
}

/// Asks with more and more memory, up to `most_bytes`: either the answer is right, or the engine reports that memory
/// is short.
fn with_more_and_more(sql: &str, least_bytes: usize, most_bytes: usize) -> Met {
    const NAMES: i64 = 400;
    let expected = ask(&engine(ENOUGH, NAMES, 2), sql).answer.unwrap();
    let mut met = Met::default();
    let mut memory_bytes = least_bytes;
    while memory_bytes < most_bytes {
        let asked = ask(&engine(memory_bytes, NAMES, 2), sql);
        let is_kept = asked.kept_bytes > 0;
        match asked.answer {
            Ok(answer) => {
                assert!(answer == expected, "{sql} with {memory_bytes} bytes");
                let counted = match asked.with_tables {
                    Err(_) => &mut met.again,
                    Ok(_) if !is_kept => &mut met.unshared,
                    Ok(_) if asked.groups > 0 => &mut met.in_part,
                    Ok(_) => &mut met.at_once,
                };
                *counted += 1;
            }
            Err(error) => {
                assert!(
                    is_memory_short(&error),
                    "{sql} with {memory_bytes} bytes: {error}"
                );
                assert!(
                    asked.with_tables.is_err(),
                    "{sql} with {memory_bytes} bytes"
                );
                met.refused += 1;
            }
        }
        memory_bytes += memory_bytes / 6;
    }
    met
}

#[test]
fn short_memory_costs_time_and_no_number() {
    let twice = format!("{SUMS} SELECT * FROM sums UNION ALL SELECT * FROM sums");
    let met = with_more_and_more(&twice, 1 << 16, 1 << 19);
    assert!(met.unshared > 0 && met.at_once > 0, "{met:?}");

    let counts = "counts AS (SELECT name, COUNT(*) AS n FROM calls GROUP BY name)";
    let both = format!(
        "{SUMS}, {counts} SELECT * FROM sums UNION ALL SELECT * FROM sums \
         UNION ALL SELECT * FROM counts UNION ALL SELECT * FROM counts"
    );
    let met = with_more_and_more(&both, 1 << 17, 1 << 20);
    assert!(met.in_part > 0 && met.at_once > 0, "{met:?}");

    // The join takes about as much memory as the shared part.
    let joined = format!(
        "{SUMS} SELECT * FROM sums UNION ALL SELECT * FROM sums \
         UNION ALL SELECT a.name, b.ns FROM calls AS a JOIN calls AS b ON a.name = b.name AND a.ns = b.ns"
    );
    let met = with_more_and_more(&joined, 1 << 17, 1 << 20);
    let all = [met.refused, met.again, met.at_once];
    assert!(all.iter().all(|&times| times > 0), "{met:?}");
}

#[test]
fn rows_of_other_types_make_no_table() {
    let context = engine(ENOUGH, 2, 3);
    let threads = tokio::runtime::Builder::new_current_thread().build();
    let plan = threads
        .unwrap()
        .block_on(context.sql("SELECT name, SUM(ns) AS ns FROM calls GROUP BY name"));
    let plan = plan.unwrap().into_unoptimized_plan();
    let name: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let ns: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let rows = |columns: [&ArrayRef; 2]| {
        let columns = ["name", "ns"].into_iter().zip(columns.map(Arc::clone));
        vec![RecordBatch::try_from_iter(columns).unwrap()]
    };
    assert!(table(&plan, rows([&name, &ns]), 0).is_ok());
    assert!(table(&plan, rows([&name, &name]), 0).is_err());
}
