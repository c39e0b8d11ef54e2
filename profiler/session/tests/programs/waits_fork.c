// One interval on three threads at once: it forks, and joins them.
// build: gcc -O1 -g -pthread -I../../../../include waits_fork.c
//
// Interval, annotated: main begins it, lets two threads work for it, and waits for the left one, then for the right one:
//   work_left   300,000 or 900,000 ticks, each in half of the intervals of a balanced design
//   work_right  600,000 ticks
// Both run at the same time, and what overlaps counts once: of work_left what main waits for, of work_right what it still has to do when
// the left one is done. On a quiet machine with a processor for each:
//   left   right on the path   latency           Var(L) = 150,000^2
//   300        300               600             Cov(left, L) = 300,000 x 150,000, share 2
//   900          0               900             Cov(right, L) = -150,000 x 150,000, share -1: it evens latency out
// On any other machine one may begin late, or wait for a processor. So the truth file has what the program itself saw, an interval a
// line, in ticks: the latency, and what of work_left and of work_right lay in main's wait for it.
#include <pthread.h>
#include <semaphore.h>

#include "evenkeel.h"
#include "spin.h"
#include "truth.h"

#define INTERVAL 1

struct part {
    sem_t asked, done;
    uint64_t ticks;                 // 0: no more
    uint64_t begin, end;            // when it worked
    uint64_t awaited_since;         // by main
    uint64_t sum;
};

static struct part left, right;

FUNCTION void work_left(uint64_t ticks) {
    spin(ticks);
    left.sum += ticks;
}

FUNCTION void work_right(uint64_t ticks) {
    spin(ticks);
    right.sum += ticks * 3;
}

static inline __attribute__((always_inline)) int help(struct part *part, void (*work)(uint64_t)) {
    while (sem_wait(&part->asked)) {
    }
    if (!part->ticks) {
        return 0;
    }
    evenkeel_work(INTERVAL);
    part->begin = __rdtsc();
    work(part->ticks);
    part->end = __rdtsc();
    sem_post(&part->done);
    evenkeel_work(0);
    return 1;
}

static void *help_left(void *unused) {
    while (help(&left, work_left)) {
    }
    return unused;
}

static void *help_right(void *unused) {
    while (help(&right, work_right)) {
    }
    return unused;
}

static void start(struct part *part, uint64_t ticks) {
    part->ticks = ticks;
    sem_post(&part->asked);
}

static void join(struct part *part) {
    part->awaited_since = __rdtsc();
    while (sem_wait(&part->done)) {
    }
}

// Ticks of its work while main waited for it.
static uint64_t awaited(const struct part *part) {
    uint64_t since = part->begin > part->awaited_since ? part->begin : part->awaited_since;
    return part->end > since ? part->end - since : 0;
}

static uint64_t serve(uint64_t left_ticks) {
    uint64_t begin = __rdtsc();
    evenkeel_begin(INTERVAL);
    start(&left, left_ticks);
    start(&right, 600000);
    join(&left);
    join(&right);
    evenkeel_end(INTERVAL);
    uint64_t row[] = {__rdtsc() - begin, awaited(&left), awaited(&right)};
    truth_interval(3, row);
    return left.sum + right.sum;
}

static void create(pthread_t *thread, struct part *part, void *(*run)(void *)) {
    sem_init(&part->asked, 0, 0);
    sem_init(&part->done, 0, 0);
    if (pthread_create(thread, NULL, run, NULL)) {
        perror("pthread_create");
        exit(1);
    }
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 800);
    truth_open(argc, argv);
    struct design design = {.state = 1};
    uint64_t checksum = CHECKSUM_START;
    pthread_t threads[2];
    create(&threads[0], &left, help_left);
    create(&threads[1], &right, help_right);
    for (unsigned long i = 0; i < count; i++) {
        checksum = mix(checksum, serve(draw(&design) & 1 ? 900000 : 300000));
    }
    start(&left, 0);
    start(&right, 0);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    truth_close();
    print_result("waits_fork", count, checksum);
}
