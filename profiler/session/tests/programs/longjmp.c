// Errors leave the interval, and functions inside it, by siglongjmp, as PostgreSQL's ereport does.
// build: gcc -O1 -g longjmp.c
//
// Interval: handle_statement > parse, execute > fetch_row > fail. Of every 16 intervals, by a balanced design:
//   4  (choice 0-3)  fail three calls deep and leave the interval: handle_statement never returns
//   4  (choice 4-7)  fail, and `execute` catches the error and goes on (plpgsql's EXCEPTION): the interval is complete
//   4  (choice 8-11) fail, `execute` catches the error and raises it again: handle_statement never returns
//   4  (choice 12-15) do not fail
// So half of the intervals are complete and half are abandoned, and none may be attributed to the next one.
// fetch_row takes 20,000 ticks before it fails or returns, so a complete interval has mean 40,000 (two rows).
#include <setjmp.h>

#include "spin.h"

static sigjmp_buf *handler;

FUNCTION void fail(int code) {
    siglongjmp(*handler, code);
}

FUNCTION uint64_t fetch_row(unsigned row, int code) {
    spin(20000);
    if (code) {
        fail(code);
    }
    return row + 1;
}

FUNCTION uint64_t parse(unsigned choice) {
    return choice * 3;
}

FUNCTION uint64_t execute(unsigned choice) {
    if (choice < 4) {
        return fetch_row(0, 1);
    }
    if (choice >= 12) {
        return fetch_row(0, 0) + fetch_row(1, 0);
    }
    sigjmp_buf *outer = handler;
    sigjmp_buf inner;
    int code = sigsetjmp(inner, 0);
    if (code == 0) {
        handler = &inner;
        fetch_row(0, 2);
    }
    handler = outer;
    if (choice >= 8) {
        fail(code + 1);
    }
    return fetch_row(1, 0) + (uint64_t)code;
}

FUNCTION uint64_t handle_statement(unsigned choice) {
    uint64_t result = parse(choice);
    return result + execute(choice);
}

FUNCTION uint64_t clean_up(int code) {
    return (uint64_t)code * 1000;
}

int main(int argc, char **argv) {
    // Not in registers, which siglongjmp would set back.
    static unsigned long count;
    count = intervals(argc, argv, 16000);
    static struct design design = {.state = 5};
    static uint64_t checksum = CHECKSUM_START;
    static unsigned long complete, abandoned;
    sigjmp_buf top;
    // As in a server's main loop: set once, the loop goes on behind it after every error.
    int code = sigsetjmp(top, 1);
    if (code) {
        abandoned++;
        checksum = mix(checksum, clean_up(code));
    }
    handler = &top;
    while (more(complete + abandoned, &count)) {
        uint64_t result = handle_statement(draw(&design));
        complete++;
        checksum = mix(checksum, result);
    }
    printf("longjmp: %lu complete, %lu abandoned\n", complete, abandoned);
    print_result("longjmp", count, checksum);
}
