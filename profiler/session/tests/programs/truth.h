// The durations a program measured itself, for a comparison that holds even where a busy machine adds noise to the
// planted ones: a stage that was preempted is as long for the program as it is for the profiler.
//
// File format: one line an interval, ticks of each column separated by blanks. Columns as the program says.
#ifndef TRUTH_H
#define TRUTH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *truth_file;

// The second argument names the file; without it nothing is written.
static inline void truth_open(int argc, char **argv) {
    if (argc > 2 && !(truth_file = fopen(argv[2], "w"))) {
        perror(argv[2]);
        exit(1);
    }
}

static inline void truth_interval(int columns, const uint64_t *ticks) {
    for (int column = 0; truth_file && column < columns; column++) {
        fprintf(truth_file, column + 1 < columns ? "%llu " : "%llu\n", (unsigned long long)ticks[column]);
    }
}

static inline void truth_close(void) {
    if (truth_file) {
        fclose(truth_file);
    }
}

#endif
