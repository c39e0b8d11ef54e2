// A server with one worker process, whose number READY has.
// build: gcc -O1 -g frozen.c
//
// Works until the file that UNTIL names exists.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int handle_request(void) {
    return usleep(2000);
}

int main(void) {
    pid_t worker = fork();
    if (worker == 0) {
        while (access(getenv("UNTIL"), F_OK) != 0)
            handle_request();
        return 0;
    }
    FILE *ready = fopen(getenv("READY"), "w");
    fprintf(ready, "%d\n", worker);
    fclose(ready);
    int status;
    return waitpid(worker, &status, 0) != worker || status != 0;
}
