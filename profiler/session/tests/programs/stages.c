// Three independent stages with planted variances.
// build: gcc -O1 -g stages.c
//
// Interval: run_interval. In ticks, by bits 0 and 1 of a balanced design:
//   stage_a  100,000 or 500,000   sd 200,000   variance 4.0e10
//   stage_b  100,000 or 300,000   sd 100,000   variance 1.0e10
//   stage_c  100,000              sd       0   variance 0
// The bits are uncorrelated, so Var(L) = 5.0e10: stage_a 80 %, stage_b 20 %, stage_c 0 %, covariances 0.
// Mean of L: 300,000 + 200,000 + 100,000 = 600,000.
// Columns of the second argument's file: L, stage_a, stage_b, stage_c.
#include "spin.h"
#include "truth.h"

FUNCTION uint64_t stage_a(unsigned choice) {
    spin(choice & 1 ? 500000 : 100000);
    return choice & 1;
}

FUNCTION uint64_t stage_b(unsigned choice) {
    spin(choice & 2 ? 300000 : 100000);
    return choice & 2;
}

FUNCTION uint64_t stage_c(unsigned choice) {
    spin(100000);
    return choice & 12;
}

FUNCTION uint64_t run_interval(unsigned choice, uint64_t times[4]) {
    times[0] = __rdtsc();
    uint64_t result = stage_a(choice);
    times[1] = __rdtsc();
    result += stage_b(choice);
    times[2] = __rdtsc();
    result += stage_c(choice);
    times[3] = __rdtsc();
    return result;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 1600);
    struct design design = {.state = 1};
    uint64_t checksum = CHECKSUM_START;
    truth_open(argc, argv);
    for (unsigned long i = 0; more(i, &count); i++) {
        uint64_t t[4];
        checksum = mix(checksum, run_interval(draw(&design), t));
        truth_interval(4, (uint64_t[]){t[3] - t[0], t[1] - t[0], t[2] - t[1], t[3] - t[2]});
    }
    truth_close();
    print_result("stages", count, checksum);
}
