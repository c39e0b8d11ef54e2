// One function called from two sites whose variances differ.
// build: gcc -O1 -g two_sites.c
//
// Interval: run_interval, which calls `work` twice, by bits 0 and 1 of a balanced design:
//   first site   100,000 or 200,000 ticks   sd  50,000   variance 0.25e10
//   second site  100,000 or 400,000 ticks   sd 150,000   variance 2.25e10
// Var(L) = 2.5e10: first site 10 %, second site 90 %, covariance 0. A profiler that merges the sites finds one function
// with 100 %. Mean of L: 150,000 + 250,000 = 400,000.
// Columns of the second argument's file: L, first site, second site.
#include "spin.h"
#include "truth.h"

FUNCTION uint64_t work(uint64_t ticks) {
    spin(ticks);
    return ticks;
}

FUNCTION uint64_t run_interval(unsigned choice, uint64_t times[3]) {
    times[0] = __rdtsc();
    uint64_t result = work(choice & 1 ? 200000 : 100000);
    times[1] = __rdtsc();
    result += work(choice & 2 ? 400000 : 100000);
    times[2] = __rdtsc();
    return result;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 1600);
    struct design design = {.state = 3};
    uint64_t checksum = CHECKSUM_START;
    truth_open(argc, argv);
    for (unsigned long i = 0; more(i, &count); i++) {
        uint64_t t[3];
        checksum = mix(checksum, run_interval(draw(&design), t));
        truth_interval(3, (uint64_t[]){t[2] - t[0], t[1] - t[0], t[2] - t[1]});
    }
    truth_close();
    print_result("two_sites", count, checksum);
}
