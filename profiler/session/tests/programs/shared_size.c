// Two stages driven by one random size: a planted covariance.
// build: gcc -O1 -g shared_size.c
//
// Interval: handle_request. The size S is 1, 2, 3 or 4, equally often: mean 2.5, variance (4*4 - 1) / 12 = 1.25.
// With u = 50,000 ticks:
//   read_request    S u      variance 1.25 u^2
//   write_answer    2 S u    variance 5.00 u^2
//   covariance of the two: 2 * 1.25 u^2 = 2.50 u^2, correlation 1
// Var(L) = 1.25 + 5.00 + 2 * 2.50 = 11.25 u^2: read_request 1/9, write_answer 4/9, twice the covariance 4/9.
// Mean of L: 7.5 u = 375,000.
// Columns of the second argument's file: L, read_request, write_answer.
#include "spin.h"
#include "truth.h"

#define UNIT 50000

FUNCTION uint64_t read_request(uint64_t size) {
    spin(size * UNIT);
    return size;
}

FUNCTION uint64_t write_answer(uint64_t size) {
    spin(2 * size * UNIT);
    return 2 * size;
}

FUNCTION uint64_t handle_request(uint64_t size, uint64_t times[3]) {
    times[0] = __rdtsc();
    uint64_t result = read_request(size);
    times[1] = __rdtsc();
    result += write_answer(size);
    times[2] = __rdtsc();
    return result;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 1600);
    struct design design = {.state = 2};
    uint64_t checksum = CHECKSUM_START;
    truth_open(argc, argv);
    for (unsigned long i = 0; more(i, &count); i++) {
        uint64_t t[3];
        checksum = mix(checksum, handle_request(1 + (draw(&design) & 3), t));
        truth_interval(3, (uint64_t[]){t[2] - t[0], t[1] - t[0], t[2] - t[1]});
    }
    truth_close();
    print_result("shared_size", count, checksum);
}
