// C++ exceptions through several hooked frames: caught outside the interval, inside it, rethrown, with destructors.
// build: g++ -O1 -g exceptions.cpp
//
// Interval: handle_request > outer > middle > inner. Of every 16 intervals, by a balanced design:
//   4  (choice 0-3)   inner throws, main catches: the interval is left by an exception
//   4  (choice 4-7)   inner throws, outer catches and goes on: the interval is complete
//   4  (choice 8-11)  inner throws, middle catches and rethrows, outer catches a nested one: complete
//   4  (choice 12-15) nothing is thrown
// So three quarters of the intervals are complete. Each frame holds an object: four destructors an interval, however it
// is left, so destroyed = constructed = 4 an interval. inner takes 20,000 ticks.
#include <stdexcept>
#include <string>

#include "spin.h"

static unsigned long constructed, destroyed;

struct Guard {
    Guard() { constructed++; }
    Guard(const Guard &) = delete;
    FUNCTION ~Guard() { destroyed++; }
};

struct Refused : std::runtime_error {
    unsigned choice;
    explicit Refused(unsigned choice) : std::runtime_error("refused " + std::to_string(choice)), choice(choice) {}
};

FUNCTION uint64_t inner(unsigned choice) {
    Guard guard;
    spin(20000);
    if (choice < 12) {
        throw Refused(choice);
    }
    return choice;
}

FUNCTION uint64_t middle(unsigned choice) {
    Guard guard;
    try {
        return inner(choice) + 1;
    } catch (const std::runtime_error &) {
        if (choice >= 8) {
            try {
                // A throw inside a handler, caught there, leaves the first exception as the current one.
                throw 7;
            } catch (int) {
            }
        }
        throw;
    }
}

FUNCTION uint64_t outer(unsigned choice) {
    Guard guard;
    if (choice < 4) {
        return middle(choice);
    }
    try {
        return middle(choice);
    } catch (const Refused &refused) {
        return refused.choice * 100 + std::string(refused.what()).size();
    }
}

FUNCTION uint64_t handle_request(unsigned choice) {
    Guard guard;
    return outer(choice) + 5;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 16000);
    struct design design = {};
    design.state = 6;
    uint64_t checksum = CHECKSUM_START;
    unsigned long left = 0;
    for (unsigned long i = 0; more(i, &count); i++) {
        try {
            checksum = mix(checksum, handle_request(draw(&design)));
        } catch (const Refused &refused) {
            left++;
            checksum = mix(checksum, 1000 + refused.choice);
        }
    }
    printf("exceptions: %lu complete, %lu left by an exception, %lu constructed, %lu destroyed\n", count - left, left,
           constructed, destroyed);
    print_result("exceptions", count, checksum);
}
