/* Takes the agent's place: a preloaded library with the table that annotations look for. It prints the arguments of
 * each call. */
#include <stdint.h>
#include <stdio.h>

static void begin(uint64_t id) { printf("\nbegin %llu\n", (unsigned long long)id); }
static void end(uint64_t id) { printf("end %llu\n", (unsigned long long)id); }
static void work(uint64_t id) { printf("work %llu\n", (unsigned long long)id); }
static void enqueue(uint64_t task) { printf("enqueue %llu\n", (unsigned long long)task); }
static void dequeue(uint64_t task) { printf("dequeue %llu\n", (unsigned long long)task); }
static void class_of(uint64_t id, const char *name, uint64_t bytes) {
    printf("class %llu %.*s\n", (unsigned long long)id, (int)bytes, name);
}
static void attribute(uint64_t id, const char *name, uint64_t bytes, int64_t value) {
    printf("attribute %llu %.*s %lld\n", (unsigned long long)id, (int)bytes, name, (long long)value);
    fflush(stdout);
}

const struct {
    uint64_t bytes;
    void (*begin)(uint64_t), (*end)(uint64_t), (*work)(uint64_t), (*enqueue)(uint64_t), (*dequeue)(uint64_t);
    void (*class_of)(uint64_t, const char *, uint64_t);
    void (*attribute)(uint64_t, const char *, uint64_t, int64_t);
} evenkeel_annotations_1 = {64, begin, end, work, enqueue, dequeue, class_of, attribute};
