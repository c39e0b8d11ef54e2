// A server with one worker, which keeps each connection for 20 ms after its request. Twenty client threads wait to be accepted.
// build: gcc -O1 -g -pthread listening.c
//
// Works until the file that UNTIL names exists.
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 20

static struct sockaddr_in address;

static int is_over(void) {
    return access(getenv("UNTIL"), F_OK) == 0;
}

static void *client(void *none) {
    char answer;
    while (!is_over()) {
        int to = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(to, (struct sockaddr *)&address, sizeof address) == 0)
            while (read(to, &answer, 1) > 0)
                ;
        close(to);
    }
    return none;
}

__attribute__((noinline)) int handle_request(int from) {
    return write(from, "!", 1) == 1;
}

int main(void) {
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t size = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listening, (struct sockaddr *)&address, size) || listen(listening, 64) ||
        getsockname(listening, (struct sockaddr *)&address, &size))
        return 2;
    pthread_t clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        pthread_create(&clients[i], 0, client, 0);
    fclose(fopen(getenv("READY"), "w"));
    uint64_t handled = 0;
    while (!is_over()) {
        int from = accept(listening, 0, 0);
        handled += handle_request(from);
        usleep(20000);
        close(from);
    }
    printf("%lu requests\n", handled);
    return 0;
}
