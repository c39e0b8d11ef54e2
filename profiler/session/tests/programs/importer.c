// The program that is linked with imported.c.
// build: gcc -O1 -g importer.c
// needs: imported.c, compiled, as a library to be linked with
#include "spin.h"

uint64_t handle(unsigned choice);

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 1600);
    struct design design = {.state = 5};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, handle(draw(&design)));
    }
    print_result("importer", count, checksum);
    return 0;
}
