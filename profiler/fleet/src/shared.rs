//! Parts that a query needs several times are computed once. The engine expands a `WITH` wherever it is named, and
//! would read the tables of a fleet as often: for `shares` eight times.

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
use datafusion::physical_plan::{self, ExecutionPlan};
use futures::TryStreamExt;

use crate::held_rows::HeldRows;
use crate::progress::Progress;

/// The engine's rules that run last, when the copies of a group may differ. They remove from each copy the parts that
/// it does not need, or give separate names. The other rules move conditions to the source of rows, so that excluded
/// rows are not computed.
const LATER_RULES: [&str; 5] = [
    "optimize_projections",
    "common_sub_expression_eliminate",
    "extract_leaf_expressions",
    "push_down_leaf_projections",
    "single_distinct_aggregation_to_group_by",
];

/// The rows of a query. A shared part that does not fit into memory is computed each time it is needed, which takes
/// less memory and more time.
///
/// # Errors
/// The plan is wrong, or its rows cannot be computed even so.
pub(crate) async fn collect(
    state: &SessionState,
    plan: LogicalPlan,
    name: &str,
    progress: &Progress,
) -> Result<Vec<RecordBatch>, DataFusionError> {
    let (with_tables, memory) = shared(state, plan.clone(), name, progress).await?;
    match collect_apart(state, &with_tables, name, progress).await {
        Err(error) if is_memory_short(&error) && memory.size() > 0 => {
            drop((with_tables, memory));
            collect_apart(state, &plan, name, progress).await
        }
        answered => answered,
    }
}

/// The rows of a plan as the engine computes it by itself.
async fn collect_apart(
    state: &SessionState,
    plan: &LogicalPlan,
    name: &str,
    progress: &Progress,
) -> Result<Vec<RecordBatch>, DataFusionError> {
    let plan = physical(state, plan, name, progress).await?;
    physical_plan::collect(plan, state.task_ctx()).await
}

/// The engine's physical plan.
async fn physical(
    state: &SessionState,
    plan: &LogicalPlan,
    name: &str,
    progress: &Progress,
) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
    progress.planning(name);
    let plan = state.create_physical_plan(plan).await?;
    progress.answering(name, Arc::clone(&plan));
    Ok(plan)
}

fn is_memory_short(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
}

/// A plan in which rows of groups that it would have computed several times are tables, and the memory that these take.
///
/// # Errors
/// The plan is wrong, or its rows cannot be computed.
async fn shared(
    state: &SessionState,
    plan: LogicalPlan,
    name: &str,
    progress: &Progress,
) -> Result<(LogicalPlan, MemoryReservation), DataFusionError> {
    let memory = MemoryConsumer::new("rows that are needed several times");
    let memory = memory.register(&state.runtime_env().memory_pool);
    // A plan that is only shown is shown as the engine has it; what recursion reads changes while it runs.
    let is_as_it_is = plan.exists(|plan| {
        Ok(matches!(
            plan,
            LogicalPlan::Explain(_) | LogicalPlan::Analyze(_) | LogicalPlan::RecursiveQuery(_)
        ))
    })?;
    if is_as_it_is {
        return Ok((plan, memory));
    }
    let mut plan = prepared(state, plan)?;
    let mut apart = Vec::new();
    for number in 0.. {
        let Some(part) = repeated(&plan, &apart)? else {
            break;
        };
        let before = memory.size();
        let rows = match rows(state, &part, name, progress, &memory).await {
            Ok(rows) => Some(rows),
            // It may find room where nothing is kept for others.
            Err(error) if is_memory_short(&error) => None,
            Err(error) => return Err(error),
        };
        // Rows that are not of the plan's types, which the engine lets pass, make no table.
        match rows.and_then(|rows| table(&part, rows, number).ok()) {
            Some(table) => plan = replaced(plan, &part, &table)?,
            None => {
                memory.resize(before);
                apart.push(part);
            }
        }
    }
    Ok((plan, memory))
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
    let mut varies = false;
    part.apply_with_subqueries(|part| {
        varies |= part.contains_outer_reference();
        part.apply_expressions(|expression| {
            varies |= expression.is_volatile();
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(!varies)
}

/// Its rows, and that they take this memory.
async fn rows(
    state: &SessionState,
    part: &LogicalPlan,
    name: &str,
    progress: &Progress,
    memory: &MemoryReservation,
) -> Result<Vec<RecordBatch>, DataFusionError> {
    let plan = physical(state, part, name, progress).await?;
    let mut stream = physical_plan::execute_stream(plan, state.task_ctx())?;
    let mut kept = HeldRows::default();
    while let Some(batch) = stream.try_next().await? {
        kept.push(batch, memory)?;
    }
    Ok(kept.into_rows())
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
mod tests;
