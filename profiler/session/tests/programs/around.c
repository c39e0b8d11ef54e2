// An interval between two calls that no function makes both of: what runs in between is called further out.
// build: gcc -O2 -g around.c
//
// Interval: open_request..close_request, or with -DANNOTATED what is announced in them. serve > receive > open_request, then serve > work, then
// serve > answer > close_request. work takes 20,000 ticks, in half of the intervals (drawn) 60,000, all in compute: variance 4e8.
#include "spin.h"
#ifdef ANNOTATED
#include "evenkeel.h"
#define BEGIN(id) evenkeel_begin(id)
#define END(id) evenkeel_end(id)
#else
#define BEGIN(id) (void)(id)
#define END(id) (void)(id)
#endif

FUNCTION void open_request(uint64_t value) {
    BEGIN(value + 1);
    spin(100);
}

FUNCTION void close_request(uint64_t value) {
    spin(100);
    END(value + 1);
}

FUNCTION uint64_t receive(uint64_t value) {
    open_request(value);
    return value + 1;
}

FUNCTION void answer(uint64_t value) {
    close_request(value);
    spin(50);
}

FUNCTION uint64_t compute(uint64_t value, uint64_t slow) {
    spin(slow ? 60000 : 20000);
    return value * 3;
}

FUNCTION uint64_t work(uint64_t value, uint64_t slow) {
    return compute(value, slow) + 1;
}

FUNCTION uint64_t serve(uint64_t value, uint64_t slow) {
    uint64_t received = receive(value);
    uint64_t result = work(received, slow);
    answer(value);
    return result;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 8000);
    struct design design = {7};
    uint64_t checksum = CHECKSUM_START;
    unsigned long done = 0;
    for (; more(done, &count); done++) {
        checksum = mix(checksum, serve(done, draw(&design) & 1));
    }
    print_result("around", done, checksum);
}
