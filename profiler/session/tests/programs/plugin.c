// The library that dlopen.c loads at run time.
// build: gcc -O1 -g -shared -fPIC plugin.c -o plugin.so
//
// plugin_work > plugin_step, 10,000 or 50,000 ticks by the value's lowest bit.
#include "spin.h"

FUNCTION uint64_t plugin_step(uint64_t value) {
    spin(value & 1 ? 50000 : 10000);
    return value + 7;
}

FUNCTION uint64_t plugin_work(uint64_t value) {
    uint64_t result = plugin_step(value);
    return result * 2;
}
