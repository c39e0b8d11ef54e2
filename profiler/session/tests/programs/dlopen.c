// Functions called in a library that is loaded, unloaded and loaded again at run time.
// build: gcc -O1 -g dlopen.c -ldl
// needs: plugin.c as plugin.so in the folder of the program
//
// Interval: run_interval > call_plugin > (through a pointer) plugin_work > plugin_step. Of 16 draws 8 take 10,000 ticks and
// 8 take 50,000 inside plugin_step: mean 30,000, variance 4e8, all of it in the plugin. The library is
// closed and opened again three times, so its addresses may change; every interval completes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "spin.h"

#define LOADS 4

typedef uint64_t (*work_function)(uint64_t);

static void find_plugin(char *path, size_t bytes) {
    ssize_t length = readlink("/proc/self/exe", path, bytes - sizeof "plugin.so");
    path[length < 0 ? 0 : length] = 0;
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, "plugin.so");
}

FUNCTION uint64_t call_plugin(work_function work, uint64_t value) {
    return work(value) + 1;
}

FUNCTION uint64_t run_interval(work_function work, uint64_t value) {
    return call_plugin(work, value) + 1;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 6400);
    struct design design = {.state = 8};
    uint64_t checksum = CHECKSUM_START;
    char path[4096];
    find_plugin(path, sizeof path);
    unsigned long once = count / LOADS, done = 0;
    count = once * LOADS;
    while (more(done, &count)) {
        void *plugin = dlopen(path, RTLD_NOW);
        work_function work = plugin ? (work_function)dlsym(plugin, "plugin_work") : NULL;
        if (!work) {
            fprintf(stderr, "dlopen: %s\n", dlerror());
            return 1;
        }
        for (unsigned long i = 0; i < once; i++, done++) {
            checksum = mix(checksum, run_interval(work, draw(&design)));
        }
        dlclose(plugin);
    }
    print_result("dlopen", count, checksum);
}
