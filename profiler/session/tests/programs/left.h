// What left_calls.cpp and left_jumps.c have in common: the calls on the way out of an interval.
#ifndef LEFT_H
#define LEFT_H

#define PACE_INTERVALS 50 // leaving calls with every one of them timed, the unwinder's too, writes many records
#include "spin.h"

// The functions' results keep each call from being a jump.
FUNCTION unsigned recover(unsigned choice) {
    spin(10000);
    return choice;
}

FUNCTION unsigned log_error(unsigned choice) {
    spin(60000);
    return choice;
}

FUNCTION unsigned release(unsigned choice) {
    spin(120000);
    return choice;
}

#endif
