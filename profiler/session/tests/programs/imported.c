// A library whose exported functions call each other as any library's do: through the loader.
// build: gcc -O1 -g -shared -fPIC imported.c
//
// Interval: handle, which spins itself and calls look_up by its import. By bits 0 and 1 of a balanced design (importer.c):
//   look_up > compare  100,000 or 300,000 ticks  variance 1.0e10
//   handle's own       100,000 or 300,000 ticks  variance 1.0e10
// So half of the variance is look_up's: too little to be opened where all of it is asked for (--threshold 100%).
#include "spin.h"

FUNCTION uint64_t compare(unsigned choice) {
    spin(choice & 1 ? 300000 : 100000);
    return choice & 1;
}

FUNCTION uint64_t look_up(unsigned choice) {
    return compare(choice) + 1;
}

FUNCTION uint64_t handle(unsigned choice) {
    spin(choice & 2 ? 300000 : 100000);
    return look_up(choice) + 1;
}
