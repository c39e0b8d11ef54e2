//! Stacks of threads in intervals, as the agent took them, and what they say of the methods in which intervals spend
//! their time.
//!
//! A stack has the age of its interval as its weight. The sum of these ages, over evenly spaced moments, is half the
//! sum of the squares of the latencies. So slow intervals weigh as much as in the variance, and not only by their
//! duration.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use evenkeel_wire::jvm::Fields;

/// A method as a stack shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Method {
    /// Number of its class with the agent: classes of one name may be several.
    pub(super) class_number: u32,
    /// Name of its class, with slashes.
    pub(super) class: String,
    /// Its name.
    pub(super) name: String,
    /// Its descriptor.
    pub(super) descriptor: String,
    /// Its class may be rewritten.
    pub(super) is_modifiable: bool,
}

/// Name and descriptor of a method that is called.
pub(super) type Called = (String, String);

/// Observations of a method that calls others.
#[derive(Clone, Debug, Default)]
pub(super) struct Caller {
    /// The part of all ages in which it was on the stack.
    pub(super) share: f64,
    /// The stacks that it was on.
    pub(super) stacks: u64,
    /// The methods that it was seen to call, with their classes.
    pub(super) calls: BTreeMap<Called, BTreeSet<String>>,
}

/// All stacks of a run, summed up.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    /// Stacks in intervals.
    pub(super) seen: u64,
    age: f64,
    callers: HashMap<Rc<Method>, Weighed>,
    /// Ages by interval's outermost frame and the outermost method that it leads to whose class can be rewritten.
    entered: HashMap<(Rc<Method>, Rc<Method>), f64>,
    /// The longest chain of calls seen below a method of this name.
    heights: HashMap<Called, u32>,
}

#[derive(Debug, Default)]
struct Weighed {
    age: f64,
    stacks: u64,
    calls: BTreeMap<Called, BTreeSet<String>>,
}

impl Stacks {
    /// Takes in what the agent sent; `is_interval` says which methods are intervals. Nothing where it has no meaning.
    pub(super) fn add(
        &mut self,
        message: &[u8],
        is_interval: impl Fn(&Method) -> bool,
    ) -> Option<()> {
        let (_, mut fields) = Fields::of(message)?;
        let stacks = (0..fields.number()?).map(|_| {
            let age = fields.long()?;
            let methods = (0..fields.number()?).map(|_| fields.number());
            Some((age, methods.collect::<Option<Vec<u32>>>()?))
        });
        let stacks: Vec<(u64, Vec<u32>)> = stacks.collect::<Option<_>>()?;
        let mut methods = HashMap::new();
        for _ in 0..fields.number()? {
            let number = fields.number()?;
            methods.insert(number, Rc::new(method(&mut fields)?));
        }
        for (age, numbers) in stacks {
            let frames: Vec<Rc<Method>> = numbers
                .iter()
                .filter_map(|number| methods.get(number).cloned())
                .collect();
            self.add_stack(age as f64, &frames, &is_interval);
        }
        Some(())
    }

    /// Adds a stack, innermost frame first. Frames outside of the interval's outermost frame are ignored.
    fn add_stack(
        &mut self,
        age: f64,
        frames: &[Rc<Method>],
        is_interval: &impl Fn(&Method) -> bool,
    ) {
        let Some(root) = frames.iter().rposition(|frame| is_interval(frame)) else {
            return;
        };
        self.seen += 1;
        self.age += age;
        if let Some(entered) = frames[..root].iter().rfind(|frame| frame.is_modifiable) {
            let way = (frames[root].clone(), entered.clone());
            *self.entered.entry(way).or_default() += age;
        }
        let mut met = BTreeSet::new();
        for (at, frame) in frames[..=root].iter().enumerate() {
            let height = at as u32;
            let called = (frame.name.clone(), frame.descriptor.clone());
            let known = self.heights.entry(called).or_default();
            *known = height.max(*known);
            let Some(callee) = at.checked_sub(1).map(|at| &frames[at]) else {
                continue;
            };
            let caller = self.callers.entry(frame.clone()).or_default();
            let call = (callee.name.clone(), callee.descriptor.clone());
            let classes = caller.calls.entry(call).or_default();
            classes.insert(callee.class.clone());
            // A recursion counts once.
            if met.insert(frame.clone()) {
                caller.age += age;
                caller.stacks += 1;
            }
        }
    }

    /// The methods that call others, those in which most time is spent first.
    pub(super) fn callers(&self) -> Vec<(Rc<Method>, Caller)> {
        let caller = |weighed: &Weighed| Caller {
            share: weighed.age / self.age.max(1.0),
            stacks: weighed.stacks,
            calls: weighed.calls.clone(),
        };
        let mut callers: Vec<_> = self
            .callers
            .iter()
            .map(|(method, weighed)| (method.clone(), caller(weighed)))
            .collect();
        callers.sort_by(|(a, first), (b, second)| {
            second.share.total_cmp(&first.share).then_with(|| a.cmp(b))
        });
        callers
    }

    /// The methods that these frames of intervals lead to, each with the part of all ages in which it was on the stack.
    pub(super) fn entered_from(
        &self,
        is_outermost: impl Fn(&Method) -> bool,
    ) -> BTreeMap<Rc<Method>, f64> {
        let mut entered = BTreeMap::<_, f64>::new();
        for ((outermost, method), age) in &self.entered {
            if is_outermost(outermost) {
                *entered.entry(method.clone()).or_default() += age / self.age.max(1.0);
            }
        }
        entered
    }

    /// The classes whose methods a call of `called` in a method was seen to lead to.
    pub(super) fn classes(
        &self,
        class_number: u32,
        method: &Called,
        called: &Called,
    ) -> BTreeSet<String> {
        let is_it = |known: &Method| {
            known.class_number == class_number
                && known.name == method.0
                && known.descriptor == method.1
        };
        let callers = self.callers.iter().filter(|(known, _)| is_it(known));
        let calls = callers.filter_map(|(_, weighed)| weighed.calls.get(called));
        calls.flatten().cloned().collect()
    }

    /// The longest chain of calls seen in an interval.
    pub(super) fn height_max(&self) -> u32 {
        self.heights.values().copied().max().unwrap_or(0)
    }

    /// The longest chain of calls seen below methods of this name and descriptor.
    pub(super) fn height(&self, called: &Called) -> u32 {
        self.heights.get(called).copied().unwrap_or(0)
    }
}

/// How many stacks there are in what the agent sent.
pub(super) fn count(message: &[u8]) -> Option<u32> {
    Fields::of(message)?.1.number()
}

fn method(fields: &mut Fields<'_>) -> Option<Method> {
    let class_number = fields.number()?;
    let is_modifiable = fields.byte()? != 0;
    let mut text = || Some(String::from_utf8_lossy(fields.bytes()?).into_owned());
    let (signature, name, descriptor) = (text()?, text()?, text()?);
    let class = signature
        .strip_prefix('L')
        .and_then(|class| class.strip_suffix(';'));
    Some(Method {
        class_number,
        class: class.unwrap_or(&signature).to_owned(),
        name,
        descriptor,
        is_modifiable,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use evenkeel_wire::jvm::{Answer, Message};

    use super::*;

    /// `a` calls `b`, which calls `c`; ages 30 in c and 10 in b. Below the interval's frame lies `main`, and one stack
    /// is of no interval.
    fn message() -> Vec<u8> {
        let stacks = [(30, vec![2, 1, 0, 3]), (10, vec![1, 0, 3]), (99, vec![3])];
        message_of(&stacks, &["a", "b", "c", "main"])
    }

    /// Stacks with their ages: numbers of methods, innermost first.
    pub fn message_of(stacks: &[(u64, Vec<u32>)], names: &[&str]) -> Vec<u8> {
        let mut message = Message::new(Answer::Samples as u8);
        message.number(stacks.len() as u32);
        for (age, methods) in stacks {
            message.long(*age).number(methods.len() as u32);
            for &method in methods {
                message.number(method);
            }
        }
        message.number(names.len() as u32);
        for (number, name) in names.iter().enumerate() {
            message.number(number as u32).number(7).byte(1);
            message.bytes(b"LT;").bytes(name.as_bytes()).bytes(b"()V");
        }
        message.finished()[4..].to_vec()
    }

    #[test]
    fn stacks_count_by_the_age_of_their_interval() {
        let mut stacks = Stacks::default();
        let message = message();
        assert_eq!(count(&message), Some(3));
        stacks
            .add(&message, |method| method.name == "a")
            .expect("well formed");
        assert_eq!(stacks.seen, 2);
        let callers = stacks.callers();
        let names: Vec<_> = callers
            .iter()
            .map(|(method, caller)| (method.name.as_str(), caller.share))
            .collect();
        assert_eq!(names, [("a", 1.0), ("b", 0.75)]);
        let calls: Vec<_> = callers[0].1.calls.keys().map(|(name, _)| name).collect();
        assert_eq!(calls, ["b"]);
        let entered = stacks.entered_from(|method| method.name == "a");
        let entered: Vec<_> = entered
            .iter()
            .map(|(method, share)| (method.name.as_str(), *share))
            .collect();
        assert_eq!(entered, [("b", 1.0)]);
        let height = |name: &str| stacks.height(&(name.into(), "()V".into()));
        assert_eq!([height("a"), height("b"), height("c")], [2, 1, 0]);
    }

    #[test]
    fn messages_that_are_cut_short_have_no_meaning() {
        let message = message();
        for end in 1..message.len() {
            let mut stacks = Stacks::default();
            assert_eq!(stacks.add(&message[..end], |_| true), None, "{end}");
        }
    }
}
