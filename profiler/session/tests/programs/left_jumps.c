// Calls that longjmp leaves took time as well: theirs, up to the jump.
// build: gcc -O2 -g left_jumps.c
//
// The same calls and times as in left_calls.cpp, and the same answer; where a destructor made a call there, query catches, makes it and
// jumps on.
#include <setjmp.h>

#include "left.h"

static sigjmp_buf *handler;

FUNCTION unsigned validate(unsigned choice) {
    spin(choice == 1 ? 150000 : 5000);
    if (choice == 1) {
        siglongjmp(*handler, 2);
    }
    return choice + 1;
}

FUNCTION unsigned fetch(unsigned choice) {
    spin(choice == 0 ? 400000 : 20000);
    if (choice < 4) {
        longjmp(*handler, (int)choice + 1);
    }
    return choice + 2;
}

FUNCTION unsigned query(unsigned choice, uint64_t *checksum) {
    if (choice < 2 || choice > 3) {
        return fetch(choice) + 1;
    }
    sigjmp_buf *outer = handler;
    sigjmp_buf own;
    if (sigsetjmp(own, 0) == 0) {
        handler = &own;
        fetch(choice);
    }
    *checksum = mix(*checksum, choice == 2 ? log_error(choice) : release(choice));
    handler = outer;
    siglongjmp(*outer, (int)choice + 1);
}

FUNCTION unsigned service(unsigned choice, uint64_t *checksum) {
    return query(choice, checksum) + 1;
}

FUNCTION uint64_t handle_request(unsigned choice, uint64_t checksum) {
    sigjmp_buf own;
    uint64_t volatile mixed = checksum;
    int code = sigsetjmp(own, 0);
    if (code) {
        return mix(mixed, recover((unsigned)code - 1));
    }
    handler = &own;
    mixed = mix(mixed, validate(choice));
    return mix(mixed, service(choice, &checksum));
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 16000);
    struct design design = {.state = 21};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = handle_request(draw(&design), checksum);
    }
    print_result("left_jumps", count, checksum);
}
