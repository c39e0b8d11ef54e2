//! `evenkeel spans --trace-id RECORDING`: what profiled processes did for spans.

use std::path::{Path, PathBuf};

use evenkeel_analysis::findings::factors::described::described;
use evenkeel_analysis::sites::Kind;
use evenkeel_analysis::sums::parts::VarianceTree;
use evenkeel_analysis::sums::paths::ROOT;
use evenkeel_recording::{Interval, Observation, Recorded, Started};
use evenkeel_spans::Traces;
use evenkeel_spans::join::{Function, Piece, Process, Processes, Work};

use crate::output::Failure;
use crate::progress::Reading;
use crate::report::{self, Ranking};

/// Reads what the profiled processes did for the traces that have arrived.
pub fn load(recordings: &[PathBuf], traces: &Traces) -> Result<Processes, Failure> {
    let all = recordings.iter().map(|path| process(path, traces));
    Ok(Processes {
        all: all.collect::<Result<_, _>>()?,
    })
}

fn process(path: &Path, traces: &Traces) -> Result<Process, Failure> {
    let recordings = [path.to_owned()];
    let reading = Reading::of(&recordings);
    let observation = Observation::open_counted(&recordings, &reading.progress())?;
    let observation = observation.with_paths_in_time();
    let recorded = observation.recordings();
    for one in &recorded {
        usable(path, one)?;
    }
    let ticks_per_ns = observation.ticks_per_ns();
    let mut met = Met::default();
    let replayed = observation.replay(&mut |interval| {
        let clock = Clock {
            started: recorded[interval.recording].meta.started,
            ticks_per_ns,
        };
        met.add(interval, clock, traces);
        Ok(())
    })?;
    let name = report::names(&recordings);
    if met.traced == 0 {
        return Err(Failure::Usage(format!(
            "none of the {} intervals of {name} names a trace: call evenkeel_trace(id, traceparent) in the program (include/evenkeel.h), or \
             take a function's argument that is a traceparent for the label (--interval HANDLER,label=text:FUNCTION:N)",
            met.intervals
        )));
    }
    let profile = report::profile_of(&replayed, &recordings, &Ranking::default())?;
    let analysis = &replayed.analysis;
    let functions = analysis.with_tree(&replayed.sites, &profile.unpatched, Functions::of);
    drop(reading);
    let functions = functions.unwrap_or_default();
    tell!(
        "evenkeel: {name}: {} intervals; {} name a trace, {} a trace that was received",
        met.intervals,
        met.traced,
        met.works.len()
    );
    let mut process = Process::new(name, functions.all);
    for (trace, mut work, nodes) in met.works {
        for (piece, node) in work.pieces.iter_mut().zip(nodes) {
            piece.function = functions.of_node.get(node as usize).copied().flatten();
        }
        process.works.entry(trace).or_default().push(work);
    }
    Ok(process)
}

/// # Errors
/// The recording does not hold the times of its intervals' calls.
fn usable(path: &Path, recorded: &Recorded) -> Result<(), Failure> {
    let meta = &recorded.meta;
    let lacks = if meta.facts.spans {
        "is one of spans: name that of a process that was profiled"
    } else if meta.summary {
        "holds sums (--summary) and no single intervals: record it without"
    } else if !meta.waits {
        "was recorded without --waits, and does not say what an interval did when: record it with --waits"
    } else {
        return Ok(());
    };
    Err(Failure::Usage(format!("{} {lacks}", path.display())))
}

/// A recording's clock.
#[derive(Clone, Copy)]
struct Clock {
    started: Started,
    ticks_per_ns: f64,
}

impl Clock {
    /// Nanoseconds since 1970.
    fn unix_ns(&self, ticks: u64) -> u64 {
        let Started {
            ticks: begun,
            unix_ns,
        } = self.started;
        let passed = (i128::from(ticks) - i128::from(begun)) as f64;
        unix_ns.saturating_add_signed((passed / self.ticks_per_ns).round() as i64)
    }
}

/// Intervals of a recording.
#[derive(Default)]
struct Met {
    intervals: u64,
    /// Intervals that name a trace.
    traced: u64,
    /// Intervals whose trace was received: the trace, the work, and the node of each piece.
    works: Vec<(u128, Work, Vec<u32>)>,
}

impl Met {
    fn add(&mut self, interval: Interval<'_>, clock: Clock, traces: &Traces) {
        let observed = interval.observed;
        self.intervals += 1;
        let Some(context) = observed.trace else {
            return;
        };
        self.traced += 1;
        if !traces.has(context.trace) {
            return;
        }
        // From the end to the beginning.
        let in_time = || observed.pieces.iter().rev();
        let pieces = in_time().map(|piece| Piece {
            from_ns: clock.unix_ns(piece.from),
            to_ns: clock.unix_ns(piece.to),
            function: None,
        });
        let work = Work {
            span: context.span,
            begin_ns: clock.unix_ns(observed.begin),
            end_ns: clock.unix_ns(observed.begin.saturating_add_signed(observed.latency)),
            pieces: pieces.collect(),
        };
        let nodes = in_time().map(|piece| piece.node).collect();
        self.works.push((context.trace, work, nodes));
    }
}

/// The functions of a recording.
#[derive(Default)]
struct Functions {
    all: Vec<Function>,
    /// By node: the function whose own time it is; nothing for the interval's node.
    of_node: Vec<Option<u32>>,
}

impl Functions {
    fn of(tree: &VarianceTree<'_>) -> Functions {
        let mut functions = Functions {
            all: Vec::new(),
            of_node: vec![None; tree.paths.all().len()],
        };
        // By node: itself, above what has its own time.
        let mut calls: Vec<Option<u32>> = functions.of_node.clone();
        let mut described = described(tree).into_iter().peekable();
        for node in 0..calls.len() as u32 {
            let above = calls[tree.paths.get(node).parent as usize];
            let Some(one) = described.next_if(|one| one.node == node) else {
                // Met only in intervals that were left out.
                (calls[node as usize], functions.of_node[node as usize]) = (above, above);
                continue;
            };
            let mut add = |parent, name: String, is_call, kind| {
                functions.all.push(Function {
                    parent,
                    name,
                    is_call,
                    kind,
                    file: one.file.clone(),
                    line: one.line,
                });
                Some(functions.all.len() as u32 - 1)
            };
            let mut own = None;
            if node != ROOT {
                let is_call = tree.state(node).is_none();
                own = add(above, one.name.clone(), is_call, one.kind);
                calls[node as usize] = own;
            }
            if one.own_kind == Kind::NotOpened {
                own = add(own, one.own_name.clone(), false, Kind::Call);
            }
            functions.of_node[node as usize] = own;
        }
        functions
    }
}
