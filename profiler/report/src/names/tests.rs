//! What gives way in a long name, and what stays.

use proptest::prelude::*;

use super::*;

#[test]
fn modules_give_way() {
    for (name, expected) in [
        ("evenkeel_locks::owner::Owner::wait", "Owner::wait"),
        (
            "evenkeel_workloads::interface::ready::complete",
            "ready::complete",
        ),
        (
            "evenkeel_locks::transaction::Transaction<K>::lock_within",
            "Transaction<K>::lock_within",
        ),
        (
            "<evenkeel_drive::target::Link as evenkeel_workloads::interface::transaction::Transaction>::query::{{closure}}",
            "<Link as Transaction>::query::{…}",
        ),
        (
            "body of parking_lot::condvar::Condvar::wait_until_internal",
            "body of Condvar::wait_until_internal",
        ),
        (
            "evenkeel_log::commit::<impl evenkeel_log::log::Log>::advance",
            "Log::advance",
        ),
        (
            "core::ptr::drop_in_place<alloc::string::String>",
            "ptr::drop_in_place<String>",
        ),
        ("foo::Bar::~Bar()", "Bar::~Bar()"),
        ("operator new(unsigned long)", "operator new(unsigned long)"),
        ("trans_commit(THD*)", "trans_commit(THD*)"),
        ("waits: semaphore", "waits: semaphore"),
        ("0x1e4360", "0x1e4360"),
        ("a::b::", "a::b::"),
    ] {
        assert_eq!(without_modules(name), expected);
    }
}

#[test]
fn then_traits_do_and_the_middle_last() {
    let name = "<drive::target::Link as workloads::Transaction>::query::{{closure}}";
    assert_eq!(shortened(name, 100), name);
    assert_eq!(shortened(name, 33), "<Link as Transaction>::query::{…}");
    assert_eq!(shortened(name, 32), "Link::query::{…}");
    assert_eq!(shortened(name, 13), "…::query::{…}");
    assert_eq!(shortened(name, 8), "…::query");
    assert_eq!(shortened(name, 5), "…:…ry");
    let own = "body of condvar::Condvar::wait_until_internal";
    assert_eq!(shortened(own, 30), "body of …::wait_until_internal");
    let of_a_trait = "<impl core::fmt::Display for store::Key<T>>::fmt";
    assert_eq!(shortened(of_a_trait, 15), "Key<T>::fmt");
    let argument = "f<int>::g(std::vector<A as B>)";
    assert_eq!(without_traits(argument), argument);
}

/// As Squid's names are: without their classes both would be `…::match(ACLChecklist*)`.
#[test]
fn parameters_give_way_before_classes_do() {
    let names = [
        "ACLStrategised<char const*>::match(ACLChecklist*)",
        "Acl::InnerNode::match(ACLChecklist*)",
    ];
    assert_eq!(
        joined(&names, " called by ", 68),
        "ACLStrategised<char const*>::match called by Acl::InnerNode::match"
    );
    for (name, expected) in [
        (
            "Store::get(int) const (not expanded)",
            "Store::get (not expanded)",
        ),
        ("body of Store::get()", "body of Store::get"),
        (
            "f(int)::{lambda(int)#1}::operator()(int) const",
            "f(int)::{lambda(int)#1}::operator()",
        ),
        ("Call::operator()", "Call::operator()"),
        (
            "(anonymous namespace)::f(void (*)(int))",
            "(anonymous namespace)::f",
        ),
        ("(indirect) at f()+0x12", "(indirect) at f+0x12"),
        ("0x1e4360 (not expanded)", "0x1e4360 (not expanded)"),
        ("Smart::operator->(int)", "Smart::operator->"),
    ] {
        assert_eq!(without_parameters(name), expected);
    }
}

/// As DuckDB's and polars' names are: in the middle stands what tells one from another.
#[test]
fn arguments_give_way_before_types_do() {
    let name = "void duckdb::UnaryExecutor::ExecuteFlat<long, double, duckdb::GenericUnaryWrapper, duckdb::VectorTryCastOperator<duckdb::NumericTryCast> >(long const*, double*, unsigned long)";
    assert_eq!(shortened(name, 60), "UnaryExecutor::ExecuteFlat<…>");
    assert_eq!(shortened(name, 20), "…::ExecuteFlat<…>");
    let rust = "<rayon_core::job::StackJob<rayon_core::latch::LatchRef<L>, F, R> as rayon_core::job::Job>::execute";
    assert_eq!(shortened(rust, 30), "StackJob<…>::execute");
    for (name, expected) in [
        (
            "Map<int, std::vector<long> >::insert<false>",
            "Map<…>::insert<…>",
        ),
        ("drop_in_place::<String>", "drop_in_place::<…>"),
        (
            "<Link as Transaction>::query",
            "<Link as Transaction>::query",
        ),
        ("Key::operator<", "Key::operator<"),
        ("f<g(int)->int>", "f<…>"),
    ] {
        assert_eq!(without_arguments(name), expected);
    }
    for (name, expected) in [
        ("body of std::vector<…> ns::f<…>", "body of ns::f<…>"),
        ("int f<…> (not expanded)", "f<…> (not expanded)"),
        ("waits: semaphore", "waits: semaphore"),
        ("waits: condition variable", "waits: condition variable"),
        ("off the processor", "off the processor"),
        ("Inner::park itself", "Inner::park itself"),
        ("Key::operator new", "Key::operator new"),
    ] {
        assert_eq!(without_return_type(name), expected);
    }
}

/// Names of polars 2.1 and Kùzu 0.11. Whatever there is no room for, the function stays.
#[test]
fn the_function_gives_way_last() {
    let cold = "<rayon_core::registry::Registry>::in_worker_cold::<<rayon_core::thread_pool::ThreadPool>::install<<polars_core::runtime::RAYON>::join<polars_core::utils::flatten::flatten_nullable<alloc::vec::Vec<polars_utils::index::NullableIdxSize>>::{closure#0}, polars_core::utils::flatten::flatten_nullable<alloc::vec::Vec<polars_utils::index::NullableIdxSize>>::{closure#1}, alloc::vec::Vec<polars_utils::index::NullableIdxSize>, polars_arrow::bitmap::immutable::Bitmap>::{closure#0}, (alloc::vec::Vec<polars_utils::index::NullableIdxSize>, polars_arrow::bitmap::immutable::Bitmap)>::{closure#0}, (alloc::vec::Vec<polars_utils::index::NullableIdxSize>, polars_arrow::bitmap::immutable::Bitmap)>";
    let helper = "rayon::iter::plumbing::bridge_producer_consumer::helper::<rayon::slice::IterMutProducer<polars_core::frame::column::Column>, rayon::iter::for_each::ForEachConsumer<<polars_core::frame::dataframe::DataFrame>::rechunk_mut_par::{closure#1}::{closure#0}>>";
    let block_on = "<tokio::runtime::runtime::Runtime>::block_on::<polars_stream::execute::run_subgraph::{closure#1}::{closure#2}> (not expanded)";
    let poll = "<polars_async::primitives::connector::RecvFuture<polars_stream::morsel::Morsel, core::option::Option<alloc::sync::Arc<polars_stream::pipe::PipeMetrics>>> as core::future::future::Future>::poll";
    let spawn = "<polars_stream::nodes::group_by::GroupBySink>::spawn::{closure#0}::{closure#2}";
    let shim = "core::ptr::drop_glue::<tokio::runtime::task::harness::poll_future::{closure#0}::Guard<tokio::runtime::blocking::task::BlockingTask<<polars_python::lazyframe::PyLazyFrame>::collect_with_callback::{closure#0}::{closure#0}>>>";
    let wait = "kuzu::common::TaskScheduler::scheduleTaskAndWaitOrError(std::shared_ptr<kuzu::common::Task> const&, kuzu::processor::ExecutionContext*, bool)";
    let compare = "kuzu::common::dtime_t::operator<=(kuzu::common::dtime_t const&) const";
    let hashtable = "void std::_Hashtable<std::string, std::pair<std::string const, std::string> >::_M_assign<std::_Hashtable<int> const&>(std::_Hashtable<int> const&)";
    let lambda = "kuzu::processor::Sink::run(int)::{lambda(kuzu::common::Task*)#1}::operator()(kuzu::common::Task*) const";
    for (name, width, expected) in [
        (cold, 60, "Registry::in_worker_cold::<…>"),
        (cold, 28, "…::in_worker_cold::<…>"),
        (cold, 20, "…::in_worker_cold"),
        (helper, 60, "bridge_producer_consumer::helper::<…>"),
        (helper, 12, "…::helper"),
        (block_on, 40, "Runtime::block_on::<…> (not expanded)"),
        (block_on, 26, "…::block_on (not expanded)"),
        (poll, 30, "RecvFuture<…>::poll"),
        (poll, 10, "…::poll"),
        (spawn, 60, "GroupBySink::spawn::{closure#0}::{closure#2}"),
        (spawn, 25, "GroupBySink::spawn::{…}"),
        (spawn, 15, "…::spawn::{…}"),
        (shim, 30, "ptr::drop_glue::<…>"),
        (wait, 60, "TaskScheduler::scheduleTaskAndWaitOrError"),
        (wait, 40, "…::scheduleTaskAndWaitOrError"),
        (compare, 30, "dtime_t::operator<="),
        (hashtable, 40, "std::_Hashtable<…>::_M_assign<…>"),
        (hashtable, 13, "…::_M_assign"),
        (lambda, 30, "Sink::run(int)::{…}"),
        (lambda, 10, "…::run"),
    ] {
        assert_eq!(shortened(name, width), expected, "{width}");
    }
}

/// A call with its site: both are shortened, and the site goes before the function does.
#[test]
fn sites_give_way_before_functions() {
    let name = "std::condition_variable::wait(std::unique_lock<std::mutex>&) [_kuzu.cpython-311-x86_64-linux-gnu.so!kuzu::common::TaskScheduler::scheduleTaskAndWaitOrError(std::shared_ptr<kuzu::common::Task> const&, kuzu::processor::ExecutionContext*, bool)+0x12a]";
    for (width, expected) in [
        (
            80,
            "condition_variable::wait [TaskScheduler::scheduleTaskAndWaitOrError+0x12a]",
        ),
        (50, "…::wait […::scheduleTaskAndWaitOrError+0x12a]"),
        (30, "…::wait"),
    ] {
        assert_eq!(shortened(name, width), expected);
    }
    let v0 =
        "syscall [_polars_runtime.abi3.so!<rayon_core::sleep::Sleep>::wake_specific_thread+0x130]";
    assert_eq!(
        shortened(v0, 50),
        "syscall [Sleep::wake_specific_thread+0x130]"
    );
}

/// What a label says of a function is kept.
#[test]
fn labels_stay() {
    let name = "thread outside of intervals: kuzu::common::TaskScheduler::runWorkerThread()";
    assert_eq!(
        shortened(name, 70),
        "thread outside of intervals: TaskScheduler::runWorkerThread()"
    );
    assert_eq!(
        shortened(name, 50),
        "thread outside of intervals: …::runWorkerThread"
    );
}

/// Names are foreign input: three colons in a row are no path of Rust or C++.
#[test]
fn damaged_names_are_shortened_too() {
    assert_eq!(shortened(":::{ }a::a:{}", 0), "");
    assert!(fit::columns(&shortened("a:::b", 4)) <= 4);
}

#[test]
fn libraries_give_way() {
    let name = "ngx_http_lua_module.so!ngx_http_lua_content_handler";
    assert_eq!(shortened(name, 51), name);
    assert_eq!(shortened(name, 50), "ngx_http_lua_content_handler");
    let unnamed = "ngx_http_lua_module.so!0x41f0";
    assert_eq!(without_library(unnamed), unnamed);
    assert_eq!(
        without_library("ACL::operator!(int)"),
        "ACL::operator!(int)"
    );
}

#[test]
fn joined_names_are_shortened_together() {
    let names = [
        "locks::owner::Owner::wait",
        "parking_lot::condvar::Condvar::wait_until",
    ];
    assert_eq!(
        joined(&names, " > ", 35),
        "Owner::wait > Condvar::wait_until"
    );
}

proptest! {
    #[test]
    fn nothing_exceeds_its_width(name in "[a-cA-C:<> {}\\-]{0,40}|\\PC{0,40}", width in 0usize..50) {
        prop_assert!(fit::columns(&shortened(&name, width)) <= width);
    }
}

/// Of long names the functions stay, in a path of calls and where one calls another.
#[test]
fn what_was_made_of_names_is_cut_name_by_name() {
    let schedule = "ns::Scheduler::schedule(std::shared_ptr<ns::Task> const&, ns::Context*, bool)";
    let helper = "ns::Helper::run(std::function<void ()> const&, std::vector<int, std::allocator<int> > >, bool)";
    assert_eq!(
        written(&format!("{schedule} called by {helper}"), 50),
        "Scheduler::schedule called by Helper::run"
    );
    assert_eq!(
        written(
            &format!("{schedule}: calls below it, called by {helper}"),
            60
        ),
        "Scheduler::schedule: calls below it, called by Helper::run"
    );
    let map =
        "std::map<int, std::less<int>, std::allocator<std::pair<int const, int> > >::find(int)";
    assert_eq!(steps(&format!("a > {map} > b")), ["a", map, "b"]);
    let path = written(&format!("{schedule} > {map} > f"), 30);
    assert!(path.ends_with(" > f") && path.len() <= 32, "{path}");
    assert_eq!(written("waits: mutex", 40), "waits: mutex");
}
