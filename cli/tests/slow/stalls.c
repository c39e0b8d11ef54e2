// Requests are short, except for a few in which one function far below stalls. The way to it leads through a chain of
// pointers, an interpreter's loop, and a callback of the C library.
// build: gcc -O1 -g -pthread stalls.c
//
// stalls KIND N: makes requests until N of them have stalled, each for 250 ms; prints how many requests it made.
//   KIND: sleep, lock (another thread holds it), read (from a pipe that another thread fills later), spin,
//         moment (spins for 1.5 ms only)
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noipa, used))
#define BETWEEN 400
#define STALL_MS 250

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void sleep_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static void spin_us(long us) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long from = now.tv_sec * 1000000 + now.tv_nsec / 1000;
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec * 1000000 + now.tv_nsec / 1000 - from < us);
}

static const char *kind;
static int stalls_left, due;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int requested[2], answered[2];

// Holds the lock, or lets the reader wait, whenever it is asked.
static void *other(void *unused) {
    char byte;
    while (read(requested[0], &byte, 1) == 1) {
        int holds = strcmp(kind, "lock") == 0;
        if (holds) {
            pthread_mutex_lock(&lock);
            write(answered[1], &byte, 1);
        }
        sleep_ms(STALL_MS);
        if (holds)
            pthread_mutex_unlock(&lock);
        else
            write(answered[1], &byte, 1);
    }
    return unused;
}

FUNCTION void stall_in_sleep(void) { sleep_ms(STALL_MS); }

FUNCTION void stall_in_lock(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

FUNCTION void stall_in_read(void) {
    char byte;
    if (read(answered[0], &byte, 1) != 1)
        abort();
}

FUNCTION void stall_in_spin(void) {
    for (long end = now_ms() + STALL_MS; now_ms() < end;)
        ;
}

FUNCTION void stall_in_moment(void) { spin_us(1500); }

static void (*stall)(void);

FUNCTION void page_in(int index) {
    if (index == 3 && due) {
        due = 0;
        stalls_left--;
        if (stall == stall_in_lock || stall == stall_in_read) {
            char byte = 0;
            write(requested[1], &byte, 1);
            if (stall == stall_in_lock && read(answered[0], &byte, 1) != 1)
                abort();
        }
        stall();
    }
}

FUNCTION int compare(const void *a, const void *b) {
    page_in(*(const int *)a);
    return *(const int *)a - *(const int *)b;
}

FUNCTION void sort_rows(int depth) {
    int rows[] = {3, 1, 2};
    qsort(rows, 3 - depth % 2, sizeof *rows, compare);
}

struct table {
    void (*fetch)(struct table *, int);
    struct table *next;
};

FUNCTION void fetch_row(struct table *table, int depth) {
    if (table->next)
        table->next->fetch(table->next, depth + 1);
    else
        sort_rows(depth);
    __asm__ volatile("" ::: "memory");
}

struct op {
    void (*run)(struct table *, int);
    struct table *table;
};

FUNCTION void nothing(struct table *table, int depth) {
    (void)table;
    (void)depth;
    spin_us(5);
}

FUNCTION void scan(struct table *table, int depth) {
    table->fetch(table, depth);
    __asm__ volatile("" ::: "memory");
}

FUNCTION void interpret(struct op *ops) {
    for (; ops->run; ops++)
        ops->run(ops->table, 0);
    __asm__ volatile("" ::: "memory");
}

FUNCTION void request(void) {
    struct table tables[4];
    for (int i = 0; i < 4; i++)
        tables[i] = (struct table){fetch_row, i < 3 ? &tables[i + 1] : NULL};
    struct op ops[] = {{nothing, tables}, {scan, tables}, {nothing, tables}, {0}};
    interpret(ops);
    spin_us(20);
}

// A job has the request's work done: an interval with a key.
struct job {
    long requests;
};

FUNCTION struct job *new_job(void) { return calloc(1, sizeof(struct job)); }

FUNCTION void serve(struct job *job) {
    request();
    job->requests++;
}

FUNCTION void end_job(struct job *job) { free(job); }

int main(int count, char **words) {
    if (count != 3)
        return 2;
    kind = words[1];
    stalls_left = atoi(words[2]);
    stall = !strcmp(kind, "sleep")    ? stall_in_sleep
            : !strcmp(kind, "lock")   ? stall_in_lock
            : !strcmp(kind, "read")   ? stall_in_read
            : !strcmp(kind, "moment") ? stall_in_moment
                                      : stall_in_spin;
    if (pipe(requested) || pipe(answered))
        return 1;
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    long requests = 0;
    while (stalls_left > 0) {
        due = ++requests % BETWEEN == 0;
        struct job *job = new_job();
        serve(job);
        end_job(job);
        if (requests % 20 == 0)
            sleep_ms(2);
    }
    printf("stalls: %ld intervals,\n", requests);
    return 0;
}
