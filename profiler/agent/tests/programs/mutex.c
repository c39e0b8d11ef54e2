/* main holds a mutex for 20 ms while another thread waits for it. Nothing is waited for before and after, in a thousand
 * uncontended rounds of each type. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void nap_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, 0);
}

static void rounds(int type) {
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutex_init(&mutex, &attributes);
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}

static void *waits(void *nothing) {
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    return nothing;
}

int main(void) {
    pthread_t thread;
    rounds(PTHREAD_MUTEX_NORMAL);
    rounds(PTHREAD_MUTEX_RECURSIVE);
    rounds(PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_lock(&held);
    pthread_create(&thread, 0, waits, 0);
    nap_ms(20);
    pthread_mutex_unlock(&held);
    pthread_join(thread, 0);
    puts("done");
    return 0;
}
