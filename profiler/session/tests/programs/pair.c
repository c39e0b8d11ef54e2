// An interval between a pair of functions, with think time between its statements.
// build: gcc -O1 -g pair.c
//
// Interval: from begin_transaction to commit_transaction or roll_back_transaction, two statements in between:
// begin_transaction, think, execute_statement, think, execute_statement, commit or roll back. In ticks, by a balanced design:
//   execute_statement  20,000 or 60,000 the first time (bit 0), 20,000 always the second    sd 20,000
//   think              10,000 the first time, 10,000 or 130,000 the second time (bit 1)     sd 60,000
// Var(L) = 4.0e9: execute_statement 10 %, think (the client's time, outside of every hooked call) 90 %.
// Mean of L: about 40,000 + 20,000 + 10,000 + 70,000 = 140,000. One in 16 transactions (choice 15) is rolled back, and
// then once more, which ends no interval. N intervals.
#include "spin.h"

static int is_open;

FUNCTION uint64_t begin_transaction(uint64_t value) {
    is_open = 1;
    return value + 1;
}

FUNCTION uint64_t execute_statement(uint64_t ticks) {
    spin(ticks);
    return ticks / 1000;
}

FUNCTION uint64_t commit_transaction(void) {
    is_open = 0;
    return 3;
}

FUNCTION uint64_t roll_back_transaction(void) {
    uint64_t result = is_open ? 5 : 11;
    is_open = 0;
    return result;
}

// Waiting for the client, which in a real server is a read from a socket.
static inline __attribute__((always_inline)) void think(uint64_t ticks) {
    spin(ticks);
}

FUNCTION uint64_t serve(unsigned choice) {
    uint64_t result = begin_transaction(choice);
    think(10000);
    result += execute_statement(choice & 1 ? 60000 : 20000);
    think(choice & 2 ? 130000 : 10000);
    result += execute_statement(20000);
    if (choice == 15) {
        result += roll_back_transaction();
        return result + roll_back_transaction();
    }
    return result + commit_transaction();
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 4000);
    struct design design = {.state = 12};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, serve(draw(&design)));
    }
    print_result("pair", count, checksum);
}
