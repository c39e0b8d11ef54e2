// Calls a function without pause. Between any two looks at the list of libraries one is opened, or closed again, as another thread
// may do it. Does not end.
// build: gcc -O1 -g -pthread libraries.c -ldl
//
// libraries [ODD]: with ODD one more was opened at the beginning.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

typedef int look(int (*)(struct dl_phdr_info *, size_t, void *), void *);

static volatile int done, runs;
static int depth;
static void *library;

static void open_or_close(void) {
    if (!library) {
        library = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL);
        if (!library) _exit(1);
    } else {
        dlclose(library);
        library = 0;
    }
}

// In the place of the C library's. A look within a look has the loader's lock already.
int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data) {
    static look *real;
    if (!real) real = (look *)dlsym(RTLD_NEXT, "dl_iterate_phdr");
    depth++;
    int answer = real(callback, data);
    depth--;
    if (runs && !depth) open_or_close();
    return answer;
}

__attribute__((noinline)) static void request(void) { done++; }

int main(int count, char **arguments) {
    if (count > 1 && arguments[1]) open_or_close();
    alarm(60);
    runs = 1;
    for (;;) request();
}
