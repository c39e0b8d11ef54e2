#!/bin/sh
# Random plans over every form of entry and call, for as long as is wanted. The patcher alone follows them (profiler/patch/tests/random_plans.rs),
# and then the agent in processes that fork, execute and load libraries (profiler/agent/tests/random_plans.rs). Each run has a seed, which is
# printed; the first that fails ends it.
#
# scripts/random-plans.sh [MINUTES]               Runs for an hour by default.
# EVENKEEL_RANDOM_SEED=N scripts/random-plans.sh  Repeats the run with this seed.
# EVENKEEL_RANDOM_SITES=N                         Changes of a site in one run; a million by default.
# EVENKEEL_RANDOM_PLANS=N                         Plans of one run through the agent; three thousand by default.
set -eu

cd "$(dirname "$0")/.."
minutes=${1:-60}
case "$minutes" in '' | *[!0-9]*) echo "usage: scripts/random-plans.sh [MINUTES]" >&2; exit 2 ;; esac
export EVENKEEL_RANDOM_SITES="${EVENKEEL_RANDOM_SITES:-1000000}"
export EVENKEEL_RANDOM_PLANS="${EVENKEEL_RANDOM_PLANS:-3000}"
# one PACKAGE TEST
one() { cargo test --quiet --package "$1" --test random_plans -- --nocapture --exact "$2"; }
run() { one evenkeel-patch any_plan_after_any_other_harms_nobody && one evenkeel-agent any_plan_after_any_other_harms_no_process; }

if [ -n "${EVENKEEL_RANDOM_SEED:-}" ]; then
    run
    exit
fi
end=$(($(date +%s) + 60 * minutes)) runs=0
while [ "$(date +%s)" -lt "$end" ]; do
    seed=$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')
    echo "EVENKEEL_RANDOM_SEED=$seed"
    EVENKEEL_RANDOM_SEED=$seed run || {
        echo "failed: EVENKEEL_RANDOM_SEED=$seed scripts/random-plans.sh" >&2
        exit 1
    }
    runs=$((runs + 1))
done
echo "$runs runs of $EVENKEEL_RANDOM_SITES changes of a site, and of $EVENKEEL_RANDOM_PLANS plans through the agent, none wrong"
