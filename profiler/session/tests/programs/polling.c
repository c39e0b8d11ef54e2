// An event loop: it reads until nothing is left, so that the beginning of an interval is called once more before the loop waits.
// build: gcc -O1 -g polling.c
//
// Interval: look_for_work..answer > costly. Of two calls of look_for_work the second finds nothing, and a pause follows.
#include <unistd.h>

#include "spin.h"

FUNCTION uint64_t look_for_work(uint64_t number) {
    return number + 1;
}

FUNCTION uint64_t costly(unsigned choice) {
    spin(choice < 8 ? 100000 : 300000);
    return choice;
}

FUNCTION uint64_t answer(uint64_t number) {
    return number * 3;
}

FUNCTION uint64_t turn(unsigned choice) {
    uint64_t found = look_for_work(choice) + costly(choice);
    uint64_t answered = answer(found);
    look_for_work(answered);
    usleep(500);
    return answered;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 4000), done = 0;
    struct design design = {.state = 7};
    uint64_t checksum = CHECKSUM_START;
    while (more(done, &count)) {
        checksum = mix(checksum, turn(draw(&design)));
        done++;
    }
    print_result("polling", count, checksum);
}
