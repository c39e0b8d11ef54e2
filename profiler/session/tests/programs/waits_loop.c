// Many intervals at a time on one thread: an event loop.
// build: gcc -O1 -g -I../../../../include waits_loop.c
//
// Intervals, annotated, in groups of 4 on one thread. Each is worked for twice, in read_request and in send_answer, S = 100,000 ticks
// each; the loop goes round, so the second step of each comes after the first of all:
//   begin 0, read 0, begin 1, read 1, begin 2, read 2, begin 3, read 3, send 0, end 0, send 1, end 1, send 2, end 2, send 3, end 3
// From its beginning to its end each sees 5 steps: 2 of its own, and between them 3 of the others', one of each. Those before
// it in the loop are met in send_answer, those behind it in read_request:
//   interval j waits for its turn while the 3 - j behind it read and the j before it send: 3 S, and works for 2 S; latency 5 S
// In the mean over the group: own read_request S, own send_answer S, others' read_request 1.5 S, others' send_answer 1.5 S.
// Even intervals are of the class even, the others of the class odd; of the three that each waits for, one is of its own class and
// two are of the other.
#include "evenkeel.h"
#include "spin.h"

#define GROUP 4
#define STEP 100000

struct connection {
    uint64_t number;
    uint64_t result;
};

FUNCTION void read_request(struct connection *connection) {
    spin(STEP);
    connection->result = connection->number * 3;
}

FUNCTION void send_answer(struct connection *connection) {
    spin(STEP);
    connection->result++;
}

static void run_loop(struct connection *group) {
    for (int j = 0; j < GROUP; j++) {
        evenkeel_begin(EVENKEEL_ID(&group[j]));
        evenkeel_class(EVENKEEL_ID(&group[j]), j % 2 ? "odd" : "even");
        read_request(&group[j]);
    }
    for (int j = 0; j < GROUP; j++) {
        evenkeel_work(EVENKEEL_ID(&group[j]));
        send_answer(&group[j]);
        evenkeel_end(EVENKEEL_ID(&group[j]));
    }
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 800);
    struct connection group[GROUP];
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; i < count; i += GROUP) {
        for (int j = 0; j < GROUP; j++) {
            group[j].number = i + (unsigned long)j;
        }
        run_loop(group);
        for (int j = 0; j < GROUP; j++) {
            checksum = mix(checksum, group[j].result);
        }
    }
    print_result("waits_loop", count, checksum);
}
