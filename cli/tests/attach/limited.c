// A server that forks a child for each request. The child limits its address space to 200 MB, as vsftpd's sessions do, and then maps memory.
// build: gcc -O1 -g limited.c
//
// Works until the file that UNTIL names exists, then prints the number of "failed" requests.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int handle_request(void) {
    struct rlimit limit = {200 << 20, 200 << 20};
    if (setrlimit(RLIMIT_AS, &limit))
        return 2;
    void *memory = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED;
}

int main(void) {
    unsigned long requests = 0, failed = 0;
    fclose(fopen(getenv("READY"), "w"));
    for (; access(getenv("UNTIL"), F_OK); requests++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            _exit(handle_request());
        waitpid(child, &status, 0);
        failed += status != 0;
        usleep(2000);
    }
    printf("%lu requests, %lu failed\n", requests, failed);
    return 0;
}
