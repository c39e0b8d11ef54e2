// Labels from arguments: a string of SQL, an integer, and pointers that must not be followed blindly.
// build: gcc -O1 -g args.c
//
// Four intervals, each N times:
//   execute_sql(const char *)   The literals differ, so N statements are three classes without variance within a class.
//                               1/4 SELECT (20,000 ticks), 1/4 UPDATE (60,000), 1/2 INSERT (10,000). The mean is 25,000.
//                               Variance between classes: (20,000^2 + 60,000^2) / 4 + 10,000^2 / 2 - 25,000^2
//                               = 1e8 + 9e8 + 0.5e8 - 6.25e8 = 4.25e8.
//   execute_command(int, long)  The first argument, 1 to 4, times 10,000 ticks. Variance 1.25e8 by class.
//   execute_packet(packet)      The same statements in the same order, prepared: the packet is not text. look_up(number, sql) gets
//                               the statement's text, and `current_sql` points to it. Each interval also looks up a second
//                               statement, which is not a class of intervals. Latencies as for execute_sql.
//   look_at(const char *)       Pointers without a readable final zero: NULL, small numbers, a non-canonical address, kernel
//                               addresses, unmapped and protected pages, a string that runs into a protected page.
//                               Strings that are readable: empty, not UTF-8, 1 MiB long. The program never reads them.
//                               A profiler that reads them must survive.
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "spin.h"

#define PAGE 4096
#define LONG_BYTES (1 << 20)

FUNCTION uint64_t run(uint64_t ticks) {
    spin(ticks);
    return ticks;
}

FUNCTION uint64_t execute_sql(const char *sql) {
    uint64_t result = run(sql[0] == 'S' ? 20000 : sql[0] == 'U' ? 60000 : 10000);
    return result + strlen(sql);
}

// The text of the statement at hand.
const char *current_sql;

FUNCTION uint64_t look_up(int number, const char *sql) {
    return (uint64_t)number + strlen(sql);
}

FUNCTION uint64_t execute_packet(const char *packet) {
    uint64_t result = look_up(packet[0], current_sql) + look_up(0, "SHOW WARNINGS");
    return result + run(current_sql[0] == 'S' ? 20000 : current_sql[0] == 'U' ? 60000 : 10000);
}

FUNCTION uint64_t execute_command(int kind, long argument) {
    uint64_t result = run((uint64_t)kind * 10000);
    return result + (uint64_t)argument;
}

FUNCTION uint64_t look_at(const char *text, uint64_t number) {
    uint64_t result = run(1000);
    return result + (text != NULL) + number;
}

static void write_sql(char *sql, size_t bytes, unsigned choice, unsigned long i) {
    switch (choice & 3) {
    case 0:
        snprintf(sql, bytes, "SELECT balance FROM accounts WHERE id = %lu AND name = 'it''s %lu'", i, i * 7);
        break;
    case 1:
        snprintf(sql, bytes, "UPDATE accounts SET balance = balance + -%lu.5e3 WHERE id = %lu", i, i * 3);
        break;
    default:
        snprintf(sql, bytes, "INSERT INTO history VALUES (%lu, %lu, 'text %lu')", i, i + 1, i + 2);
    }
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 1600);
    struct design design = {.state = 11};
    uint64_t checksum = CHECKSUM_START;
    char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *text = malloc(LONG_BYTES);
    if (pages == MAP_FAILED || !text) {
        perror("memory");
        return 1;
    }
    // Readable page without a zero, protected page, unmapped page.
    memset(pages, 'x', PAGE);
    mprotect(pages + PAGE, PAGE, PROT_NONE);
    munmap(pages + 2 * PAGE, PAGE);
    memset(text, 'y', LONG_BYTES - 1);
    text[LONG_BYTES - 1] = 0;
    const char *wild[] = {
        NULL,
        (const char *)1,
        (const char *)0x1000,
        (const char *)0xdeadbeefdeadbeef,
        (const char *)0x0000800000000000,
        (const char *)0xffffffff81000000,
        (const char *)UINTPTR_MAX,
        pages + PAGE,
        pages + 2 * PAGE,
        pages + PAGE - 3,
        "",
        "SELECT '\xff\xfe\xc3' FROM \"\xe4\"",
        text,
    };
    for (unsigned long i = 0; more(i, &count); i++) {
        char sql[160];
        unsigned choice = draw(&design);
        write_sql(sql, sizeof sql, choice, i);
        checksum = mix(checksum, execute_sql(sql));
        current_sql = sql;
        const char packet[] = {1, 0, 0, 0, 'x', 0};
        checksum = mix(checksum, execute_packet(packet));
        current_sql = NULL;
        checksum = mix(checksum, execute_command(1 + (int)(choice >> 2), (long)i));
        checksum = mix(checksum, look_at(wild[i % (sizeof wild / sizeof *wild)], i));
    }
    print_result("args", count, checksum);
}
