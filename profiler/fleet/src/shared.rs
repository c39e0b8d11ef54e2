//! What a query needs several times is computed once. The engine writes a `WITH` out wherever it is named, and would read the tables of a
//! fleet as often: for `shares` eight times.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, ident};
use datafusion::optimizer::Optimizer;
use datafusion::physical_plan;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;

use crate::progress::Progress;

/// Of the engine's rules those that are left to the end, when the copies of a group may differ: they take from each what that one does not need, or
/// give names of their own. The others bring conditions to where rows come from, so that what is left out of an answer is not computed either.
const LATER_RULES: [&str; 5] = [
    "optimize_projections",
    "common_sub_expression_eliminate",
    "extract_leaf_expressions",
    "push_down_leaf_projections",
    "single_distinct_aggregation_to_group_by",
];

/// A plan in which rows of groups that it would have computed several times are tables, and the memory that these take.
///
/// # Errors
/// The plan is wrong, or its rows cannot be computed.
pub(crate) async fn shared(
    context: &SessionContext,
    plan: LogicalPlan,
    name: &str,
    progress: &Progress,
) -> Result<(LogicalPlan, MemoryReservation), DataFusionError> {
    let state = context.state();
    let kept = MemoryConsumer::new("rows that are needed several times");
    let mut kept = kept.register(&context.runtime_env().memory_pool);
    // A plan that is only shown is shown as the engine has it; what recursion reads changes while it runs.
    let is_as_it_is = plan.exists(|plan| {
        Ok(matches!(
            plan,
            LogicalPlan::Explain(_) | LogicalPlan::Analyze(_) | LogicalPlan::RecursiveQuery(_)
        ))
    })?;
    if is_as_it_is {
        return Ok((plan, kept));
    }
    let mut plan = prepared(&state, plan)?;
    let mut too_large = Vec::new();
    for number in 0.. {
        let Some(part) = repeated(&plan, &too_large)? else {
            break;
        };
        match rows(context, &part, name, progress, &mut kept).await? {
            Some(rows) => plan = replaced(plan, &part, &table(&part, rows, number)?)?,
            None => too_large.push(part),
        }
    }
    Ok((plan, kept))
}

fn prepared(state: &SessionState, plan: LogicalPlan) -> Result<LogicalPlan, DataFusionError> {
    let options = state.config_options();
    let plan = state
        .analyzer()
        .execute_and_check(plan, options, |_, _| {})?;
    let rules = state.optimizers().iter();
    let rules = rules.filter(|rule| !LATER_RULES.contains(&rule.name()));
    let optimizer = Optimizer::with_rules(rules.cloned().collect());
    optimizer.optimize(plan, state, |_, _| {})
}

/// The smallest groups that are there more than once: what is in others comes before them.
fn repeated(
    plan: &LogicalPlan,
    without: &[LogicalPlan],
) -> Result<Option<LogicalPlan>, DataFusionError> {
    let mut times: HashMap<&LogicalPlan, usize> = HashMap::new();
    plan.apply(|part| {
        if matches!(part, LogicalPlan::Aggregate(_)) {
            *times.entry(part).or_default() += 1;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    let mut smallest = None;
    for (part, times) in times {
        if times == 1 || without.contains(part) || !is_constant(part)? {
            continue;
        }
        let mut size = 0_usize;
        part.apply(|_| {
            size += 1;
            Ok(TreeNodeRecursion::Continue)
        })?;
        if smallest.is_none_or(|(of_smallest, _)| size < of_smallest) {
            smallest = Some((size, part));
        }
    }
    Ok(smallest.map(|(_, part)| part.clone()))
}

/// Whether it has the same rows wherever it stands: neither chance nor a row outside of it is in it.
fn is_constant(part: &LogicalPlan) -> Result<bool, DataFusionError> {
    let varies = part.exists(|part| {
        let mut is_volatile = false;
        part.apply_expressions(|expression| {
            is_volatile |= expression.is_volatile();
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(is_volatile || part.contains_outer_reference())
    })?;
    Ok(!varies)
}

/// Its rows; none where memory does not hold them.
async fn rows(
    context: &SessionContext,
    part: &LogicalPlan,
    name: &str,
    progress: &Progress,
    kept: &mut MemoryReservation,
) -> Result<Option<Vec<RecordBatch>>, DataFusionError> {
    let before = kept.size();
    let plan = context.state().create_physical_plan(part).await?;
    progress.answering(name, Arc::clone(&plan));
    let mut stream = physical_plan::execute_stream(plan, context.task_ctx())?;
    let mut rows = Vec::new();
    while let Some(batch) = stream.try_next().await? {
        if kept.try_grow(batch.get_array_memory_size()).is_err() {
            kept.resize(before);
            return Ok(None);
        }
        rows.push(batch);
    }
    Ok(Some(rows))
}

/// A table of these rows, whose columns are called as those of the plan that they are of.
fn table(
    part: &LogicalPlan,
    rows: Vec<RecordBatch>,
    number: usize,
) -> Result<LogicalPlan, DataFusionError> {
    // Plans may have two columns of a name, of two tables.
    let columns = || (0..).map(|column| format!("column {column}"));
    let fields = columns().zip(part.schema().fields());
    let fields = fields.map(|(name, field)| Field::clone(field).with_name(name));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let rows = rows.into_iter().map(|batch| {
        RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec())
            .map_err(DataFusionError::from)
    });
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    let table = Arc::new(MemTable::try_new(Arc::clone(&schema), vec![rows])?);
    let called = columns().zip(part.schema().iter());
    let called = called.map(|(column, (table, field))| {
        ident(column).alias_qualified(table.cloned(), field.name())
    });
    // No table of a query has a name with a space at its end.
    LogicalPlanBuilder::scan(
        format!("\"shared {number} \""),
        provider_as_source(table),
        None,
    )?
    .project(called.collect::<Vec<_>>())?
    .build()
}

fn replaced(
    plan: LogicalPlan,
    part: &LogicalPlan,
    by: &LogicalPlan,
) -> Result<LogicalPlan, DataFusionError> {
    let plan = plan.transform_down(|here| {
        Ok(match here == *part {
            true => Transformed::new(by.clone(), true, TreeNodeRecursion::Jump),
            false => Transformed::no(here),
        })
    })?;
    Ok(plan.data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::execution::memory_pool::GreedyMemoryPool;
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::prelude::SessionConfig;

    const TABLE: &str =
        "CREATE TABLE calls AS SELECT * FROM (VALUES ('a', 1), ('a', 2), ('b', 5)) AS c (name, ns)";

    /// Groups that are left in a query's plan, and how many rows it has.
    fn left(sql: &str, memory_bytes: usize) -> (usize, usize) {
        let runtime = RuntimeEnvBuilder::new();
        let runtime = runtime.with_memory_pool(Arc::new(GreedyMemoryPool::new(memory_bytes)));
        let config = SessionConfig::new().with_target_partitions(1);
        let context = SessionContext::new_with_config_rt(config, runtime.build_arc().unwrap());
        let mut threads = tokio::runtime::Builder::new_current_thread();
        threads.build().unwrap().block_on(async {
            context.sql(TABLE).await.unwrap();
            let plan = context.sql(sql).await.unwrap().into_unoptimized_plan();
            let progress = Progress::default();
            let (plan, _kept) = shared(&context, plan, "it", &progress).await.unwrap();
            let mut groups = 0;
            plan.apply(|part| {
                groups += usize::from(matches!(part, LogicalPlan::Aggregate(_)));
                Ok(TreeNodeRecursion::Continue)
            })
            .unwrap();
            let frame = context.execute_logical_plan(plan).await.unwrap();
            (groups, frame.count().await.unwrap())
        })
    }

    #[test]
    fn groups_that_are_needed_twice_are_computed_once() {
        let sql = "WITH sums AS (SELECT name, SUM(ns) AS ns FROM calls GROUP BY name), \
                   whole AS (SELECT SUM(ns) AS ns FROM sums) \
                   SELECT a.name FROM sums AS a JOIN sums AS b ON a.name = b.name, whole AS c, whole AS d WHERE c.ns = d.ns";
        assert_eq!(left(sql, 1 << 20), (0, 2));
        let wide = "WITH sums AS (SELECT name, SUM(ns) AS ns FROM calls GROUP BY name) SELECT * FROM sums UNION ALL SELECT * FROM sums";
        assert_eq!(left(wide, 1 << 20), (0, 4));
    }

    #[test]
    fn what_is_not_the_same_stays_apart() {
        let chance = "WITH sums AS (SELECT name, MAX(ns + random()) AS ns FROM calls GROUP BY name) SELECT * FROM sums UNION ALL SELECT * FROM sums";
        assert_eq!(left(chance, 1 << 20), (2, 4));
        let others = "SELECT MAX(ns) FROM calls WHERE name = 'a' UNION ALL SELECT MAX(ns) FROM calls WHERE name = 'b'";
        assert_eq!(left(others, 1 << 20), (2, 2));
        let once = "SELECT name, SUM(ns) FROM calls GROUP BY name";
        assert_eq!(left(once, 1 << 20), (1, 2));
    }
}
