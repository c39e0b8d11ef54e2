// Calls that an exception leaves took time as well: theirs, up to the moment at which it left them.
// build: g++ -O2 -g left_calls.cpp
//
// Interval: handle_request > validate, service > query > fetch; every interval ends by returning. By a balanced design of 16, in
// thousands of ticks:
//
//   choice   validate   fetch   log_error   release   recover
//   0        5          400 t                         10        three calls deep, caught in handle_request
//   1        150 t                                    10        one call deep
//   2        5          20 t    60                    10        query catches, logs, throws an exception of its own that it catches, and
//                                                               rethrows the first
//   3        5          20 t                120       10        a destructor in query makes a timed call on the way
//   4-15     5          20
//
// t: it is left by the exception. With the catching function credited instead, validate and fetch would seem not to vary.
#include "left.h"

struct Failed {
    unsigned choice;
};

struct Lease {
    unsigned choice;
    uint64_t *checksum;
    ~Lease() {
        if (choice == 3) {
            *checksum = mix(*checksum, release(choice));
        }
    }
};

FUNCTION unsigned validate(unsigned choice) {
    spin(choice == 1 ? 150000 : 5000);
    if (choice == 1) {
        throw Failed{choice};
    }
    return choice + 1;
}

FUNCTION unsigned fetch(unsigned choice) {
    spin(choice == 0 ? 400000 : 20000);
    if (choice < 4) {
        throw Failed{choice};
    }
    return choice + 2;
}

FUNCTION unsigned query(unsigned choice, uint64_t *checksum) {
    Lease lease{choice, checksum};
    try {
        return fetch(choice) + 1;
    } catch (const Failed &failed) {
        if (failed.choice != 2) {
            throw;
        }
        *checksum = mix(*checksum, log_error(failed.choice));
        try {
            throw 7;
        } catch (int) {
        }
        throw;
    }
}

FUNCTION unsigned service(unsigned choice, uint64_t *checksum) {
    return query(choice, checksum) + 1;
}

FUNCTION uint64_t handle_request(unsigned choice, uint64_t checksum) {
    try {
        checksum = mix(checksum, validate(choice));
        return mix(checksum, service(choice, &checksum));
    } catch (const Failed &failed) {
        return mix(checksum, recover(failed.choice));
    }
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 16000);
    struct design design = {};
    design.state = 21;
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = handle_request(draw(&design), checksum);
    }
    print_result("left_calls", count, checksum);
}
