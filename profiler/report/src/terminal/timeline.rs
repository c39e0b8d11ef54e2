//! The critical path of single intervals, drawn across threads: a lane for each thread, and below the spans in order of time.

use evenkeel_analysis::intervals::classes::UNLABELLED;
use evenkeel_analysis::profile::{Profile, Span, Timeline};
use evenkeel_analysis::sites::Kind;

use super::plain;
use super::style::{Style, title};
use crate::{fit, names, units};

/// Columns of a lane's name.
const LANE: usize = 18;
/// Columns before a span's name.
const COLUMNS_BEFORE_NAME: usize = 48;

/// All timelines of a profile, as [`crate::terminal::render`] would show them; empty without any.
pub fn render(profile: &Profile, style: &Style) -> String {
    let profile = plain::profile(profile);
    let drawn: Vec<String> = profile
        .timelines
        .iter()
        .map(|timeline| one(timeline, style))
        .collect();
    drawn.join("\n")
}

fn one(timeline: &Timeline, style: &Style) -> String {
    let lanes = timeline.lanes.len();
    let class = match timeline.class.as_str() {
        UNLABELLED => String::new(),
        class => format!(" ({class})"),
    };
    let attributes = timeline.attributes.iter();
    let attributes: String = attributes
        .map(|(name, value)| format!(", {name} {value}"))
        .collect();
    let trace = match timeline.trace_id.as_str() {
        "" => String::new(),
        trace => format!(", trace {trace} span {}", timeline.span_id),
    };
    let remark = format!(
        "interval {}{class}, {}{attributes}{trace}, on {lanes} {}{}",
        timeline.id,
        units::duration(timeline.latency_ns),
        if lanes == 1 { "thread" } else { "threads" },
        if timeline.is_cut {
            "; its beginning has too many pieces to be shown"
        } else {
            ""
        }
    );
    let name = format!("CRITICAL PATH {}", units::percentile(&timeline.pick));
    let mut out = title(&name, &remark, style);
    let width = style.columns() - LANE - 4;
    for (lane, name) in timeline.lanes.iter().enumerate() {
        let drawn = draw(timeline, lane, width, style);
        let line = format!(
            "  {}  {drawn}",
            fit::left(&names::shortened(name, LANE), LANE)
        );
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push_str(&legend(timeline, style));
    out.push_str(&list(timeline, style));
    out
}

/// How a kind is drawn where there are no colours.
fn mark(kind: Kind) -> char {
    match kind {
        Kind::Call | Kind::Body | Kind::NotOpened | Kind::Probe => '█',
        Kind::Lock => '▒',
        Kind::Io => 'd',
        Kind::Fault => 'f',
        Kind::Asleep => 'b',
        Kind::Socket | Kind::Event => 'e',
        Kind::Client | Kind::Idle | Kind::Timer => 'i',
        Kind::Others | Kind::Helper => '▓',
        Kind::Woken => 'w',
        Kind::Preempted => 'p',
        Kind::Queued => 'q',
        Kind::Turn => 't',
        Kind::Unseen => '?',
    }
}

/// The marks and their meanings, in the order of the legend.
const MARKS: [(char, &str); 13] = [
    ('█', "running"),
    ('▒', "waits for a lock"),
    ('▓', "works, no call timed"),
    ('w', "woken"),
    ('p', "runnable, waiting for a CPU"),
    ('q', "queued"),
    ('t', "its thread runs other intervals"),
    ('d', "device"),
    ('f', "page fault"),
    ('b', "off-CPU, waker unknown"),
    ('e', "bytes or events"),
    ('i', "idle"),
    ('?', "not seen"),
];

fn legend(timeline: &Timeline, style: &Style) -> String {
    let used = |mark_: char| timeline.spans.iter().any(|span| mark(span.kind) == mark_);
    let known = MARKS.into_iter().filter(|&(mark, _)| used(mark));
    let text: Vec<_> = known.map(|(mark, text)| format!("{mark} {text}")).collect();
    let lines = fit::wrap(&text.join(", "), style.columns() - 2);
    let lines = lines
        .iter()
        .map(|line| format!("  {}\n", style.paint().dim(line)));
    lines.collect()
}

/// A lane: in each column what took most of its time on this thread, a blank where another thread had the path.
fn draw(timeline: &Timeline, lane: usize, width: usize, style: &Style) -> String {
    let column_ns = timeline.latency_ns / width as f64;
    let mut best: Vec<(f64, Option<Kind>)> = vec![(0.0, None); width];
    // A span may be narrower than a column: what took most of the column has it, on every lane.
    for span in &timeline.spans {
        let first = ((span.from_ns / column_ns) as usize).min(width - 1);
        let last = ((span.to_ns / column_ns).ceil() as usize).clamp(first + 1, width);
        for (at, cell) in best.iter_mut().enumerate().take(last).skip(first) {
            let (from, to) = (at as f64 * column_ns, (at + 1) as f64 * column_ns);
            let inside = span.to_ns.min(to) - span.from_ns.max(from);
            if inside > cell.0 {
                *cell = (inside, (span.lane == lane).then_some(span.kind));
            }
        }
    }
    let paint = style.paint();
    let runs = best.chunk_by(|a, b| a.1 == b.1);
    runs.map(|run| match run[0].1 {
        Some(kind) => paint.kind(kind, &mark(kind).to_string().repeat(run.len())),
        None => " ".repeat(run.len()),
    })
    .collect()
}

/// The spans in order of time; only the longest if there are many.
fn list(timeline: &Timeline, style: &Style) -> String {
    let rows = style.rows.saturating_mul(3).max(1);
    let mut longest: Vec<usize> = (0..timeline.spans.len()).collect();
    let duration = |at: &usize| timeline.spans[*at].to_ns - timeline.spans[*at].from_ns;
    longest.sort_by(|a, b| duration(b).total_cmp(&duration(a)));
    longest.truncate(rows);
    longest.sort_unstable();
    let paint = style.paint();
    let mut out = paint.dim("       from       for  thread              doing");
    out.push('\n');
    for &at in &longest {
        out.push_str(&row(&timeline.spans[at], timeline, style));
    }
    if longest.len() < timeline.spans.len() {
        let left_out = timeline.spans.len() - longest.len();
        let text = format!("  {} shorter spans left out", units::count(left_out as u64));
        out.push_str(&paint.dim(&text));
        out.push('\n');
    }
    out
}

fn row(span: &Span, timeline: &Timeline, style: &Style) -> String {
    let paint = style.paint();
    let lane = timeline.lanes.get(span.lane).map_or("", String::as_str);
    let room = style.columns() - COLUMNS_BEFORE_NAME;
    let name = names::shortened(&span.name, room);
    let room = room.saturating_sub(fit::columns(&name) + 4);
    let above = match span.within.as_str() {
        "" => String::new(),
        _ if room < 8 => String::new(),
        above => format!("  in {}", names::shortened(above, room - 1)),
    };
    format!(
        "{} {}  {}  {}{}\n",
        fit::right(&units::duration(span.from_ns), 11),
        fit::right(&units::duration(span.to_ns - span.from_ns), 9),
        fit::left(&names::shortened(lane, LANE), LANE),
        paint.kind(span.kind, &name),
        paint.dim(&above),
    )
}
