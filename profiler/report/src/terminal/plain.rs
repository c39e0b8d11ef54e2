//! A profile whose names cannot command the terminal: symbols, SQL and arguments come from the target.

use evenkeel_analysis::findings::reasons::{NotSplit, NotTimed};
use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::profile::{Finding, LeftOut, Node, Profile, Timeline, WaitedFor};

use crate::fit;
use crate::messages::{left_out, not_split, not_timed, warning};

/// The profile in words, without control characters in any of its texts. Equal texts stay equal, so paths still
/// match.
pub(crate) fn profile(profile: &Profile) -> Profile {
    let mut profile = profile.clone();
    clean(&mut profile.target);
    clean(&mut profile.interval);
    clean(&mut profile.details.outside);
    profile.discarded_by_reason = profile
        .discarded_by_reason
        .into_iter()
        .map(|(reason, n)| (LeftOut::Said(fit::plain(&left_out(&reason))), n))
        .collect();
    profile.findings.iter_mut().for_each(finding);
    let trading = profile
        .trades
        .iter_mut()
        .flat_map(|trade| &mut trade.functions);
    trading.for_each(clean);
    let nodes = profile
        .cohorts
        .iter_mut()
        .flat_map(|cohorts| cohorts.nodes.iter_mut().chain(&mut cohorts.causes));
    nodes.for_each(|node| clean(&mut node.path));
    for factor in &mut profile.factors {
        factor
            .functions
            .iter_mut()
            .chain(&mut factor.caller)
            .chain(&mut factor.own_time_of)
            .chain(&mut factor.paths)
            .chain(factor.callers.iter_mut().map(|c| &mut c.function))
            .for_each(clean);
    }
    for path in profile
        .slow_stacks
        .iter_mut()
        .flat_map(|slow| [&mut slow.common].into_iter().chain(&mut slow.paths))
    {
        path.functions.iter_mut().for_each(clean);
    }
    for seen in &mut profile.seen_elsewhere {
        clean(&mut seen.path);
    }
    for class in &mut profile.classes.classes {
        clean(&mut class.name);
        class.top.iter_mut().for_each(|top| clean(&mut top.path));
    }
    for attribute in &mut profile.attributes {
        clean(&mut attribute.name);
    }
    node(&mut profile.tree);
    profile.waits.iter_mut().for_each(waited_for);
    for slow in &mut profile.slowest {
        clean(&mut slow.class);
        clean(&mut slow.thread);
        for part in &mut slow.top {
            clean(&mut part.name);
            clean(&mut part.path);
        }
    }
    profile.timelines.iter_mut().for_each(timeline);
    let details = &mut profile.details;
    let names = details.names.iter_mut();
    names.chain(&mut details.unnamed_threads).for_each(clean);
    details.settings.values_mut().for_each(clean);
    for unseen in profile.unseen.iter_mut().flatten() {
        clean(&mut unseen.name);
        unseen.why = NotSplit::Said(fit::plain(&not_split(&unseen.why)));
    }
    for unpatched in &mut profile.unpatched {
        clean(&mut unpatched.site);
        unpatched.reason = NotTimed::Said(fit::plain(&not_timed(&unpatched.reason)));
    }
    for it in &mut profile.warnings {
        *it = Warning::Said(fit::plain(&warning(it)));
    }
    clean(&mut profile.details.failed);
    profile
}

fn finding(finding: &mut Finding) {
    clean(&mut finding.headline);
    clean(&mut finding.function);
    finding.called_by.iter_mut().for_each(clean);
    for step in finding.paths.iter_mut().flat_map(|path| &mut path.0) {
        clean(&mut step.function);
        if let Some(site) = &mut step.site {
            clean(&mut site.caller);
            clean(&mut site.place);
        }
    }
    let timed = finding.timed_inside.iter_mut();
    timed
        .flat_map(|inside| &mut inside.functions)
        .for_each(clean);
    let inside = finding.seen_inside.iter_mut();
    inside
        .flat_map(|inside| &mut inside.functions)
        .for_each(clean);
    finding
        .classes
        .iter_mut()
        .for_each(|class| clean(&mut class.name));
    for holder in &mut finding.waits_for {
        clean(&mut holder.class);
        holder.thread.iter_mut().for_each(clean);
        holder.function.iter_mut().for_each(clean);
    }
    if let Some(chain) = &mut finding.chain {
        clean(&mut chain.class);
        let texts = chain.links.iter_mut().flat_map(|link| {
            let last = link.idle.iter_mut().flat_map(|idle| &mut idle.last);
            let texts = link
                .class
                .iter_mut()
                .chain(&mut link.role)
                .chain(&mut link.thread);
            texts.chain(&mut link.function).chain(last)
        });
        texts.for_each(clean);
    }
    finding
        .meanwhile
        .iter_mut()
        .for_each(|it| clean(&mut it.function));
}

fn node(node: &mut Node) {
    clean(&mut node.name);
    clean(&mut node.site);
    node.file.iter_mut().for_each(clean);
    node.children.iter_mut().for_each(self::node);
}

fn waited_for(line: &mut WaitedFor) {
    clean(&mut line.waiter);
    let holder = line.holder.iter_mut().chain(&mut line.holder_thread);
    holder.for_each(clean);
    let calls = line.waiter_calls.iter_mut().chain(&mut line.holder_calls);
    calls.for_each(clean);
}

fn timeline(timeline: &mut Timeline) {
    clean(&mut timeline.class);
    clean(&mut timeline.trace_id);
    clean(&mut timeline.span_id);
    timeline.attributes = std::mem::take(&mut timeline.attributes)
        .into_iter()
        .map(|(name, value)| (fit::plain(&name), value))
        .collect();
    timeline.lanes.iter_mut().for_each(clean);
    for span in &mut timeline.spans {
        clean(&mut span.name);
        clean(&mut span.path);
        clean(&mut span.within);
    }
}

fn clean(text: &mut String) {
    *text = fit::plain(text);
}
