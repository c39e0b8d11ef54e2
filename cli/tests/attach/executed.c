// A server that executes a program for each of eight clients: itself, with an argument. The program answers sixty requests and ends.
// build: gcc -O1 -g executed.c
//
// Works until the file that UNTIL names exists, then prints how many programs ended, and how many of them "failed".
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS 8
#define REQUESTS 60

__attribute__((noinline)) int handle_request(void) {
    return usleep(5000);
}

int main(int count, char **arguments) {
    unsigned long ended = 0, failed = 0;
    if (count > 1) {
        for (int i = 0; i < REQUESTS; i++)
            if (handle_request())
                return 1;
        return 0;
    }
    int is_over = 0;
    for (int running = 0; !is_over || running > 0;) {
        is_over = access(getenv("UNTIL"), F_OK) == 0;
        for (; !is_over && running < CLIENTS; running++)
            if (fork() == 0)
                execl("/proc/self/exe", arguments[0], "client", NULL);
        if (ended == 0)
            fclose(fopen(getenv("READY"), "w"));
        int status;
        if (wait(&status) < 0)
            break;
        running--;
        ended++;
        failed += status != 0;
    }
    printf("%lu programs, %lu failed\n", ended, failed);
    return 0;
}
