/* Calls functions of a kernel library outside of Python, fed by emulated.py: of one that was built for another processor,
 * in its emulator, or with a sanitizer.
 *
 * A call comes in as int64 numbers and bytes: the length of the function's name and the name, whether it returns text, the
 * number of arguments, and for each argument 0 and an integer, or 1, a size in bytes, where the address points to, and the
 * bytes. Out go the result (or its length and the text), and the bytes of each array as they are after the call.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#include <windows.h>
#define dlopen(path, how) ((void *)LoadLibraryA(path))
#define dlsym(library, name) ((void *)GetProcAddress((HMODULE)(library), name))
#define dlerror() "the library cannot be loaded"
#define posix_memalign(place, step, size) (!(*(place) = _aligned_malloc(size, step)))
#define free _aligned_free
#else
#include <dlfcn.h>
#endif

enum { MOST = 40, LINE = 64 };

static void get(void *to, size_t size) {
    if (size && fread(to, size, 1, stdin) != 1) exit(0);
}
static int64_t number(void) {
    int64_t value;
    get(&value, sizeof value);
    return value;
}
static void put(const void *from, size_t size) {
    if (size && fwrite(from, size, 1, stdout) != 1) exit(1);
}

/* All arguments are integers and addresses, which the calling conventions of 64-bit processors treat alike; more than the
 * function takes do no harm. */
typedef int64_t kernel(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                       int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                       int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                       int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);

int main(int count, char **arguments) {
#ifdef _WIN32
    _setmode(0, _O_BINARY);
    _setmode(1, _O_BINARY);
#endif
    void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : 0;
    if (!library) {
        fprintf(stderr, "%s\n", count == 2 ? dlerror() : "usage: driver LIBRARY");
        return 1;
    }
    for (;;) {
        int64_t length = number(), a[MOST] = {0}, size[MOST];
        char name[256] = {0}, *memory[MOST];
        if (length < 0 || length >= (int64_t)sizeof name) return 1;
        get(name, (size_t)length);
        const int64_t text = number(), n = number();
        if (n < 0 || n > MOST) return 1;
        for (int64_t i = 0; i < n; i++) {
            memory[i] = 0;
            if (!number()) {
                a[i] = number();
                continue;
            }
            size[i] = number();
            const int64_t offset = number();
            void *place; /* of just that size, for a sanitizer to watch over its ends */
            if (posix_memalign(&place, LINE, (size_t)size[i])) return 1;
            memory[i] = place;
            get(memory[i], (size_t)size[i]);
            a[i] = (int64_t)(intptr_t)memory[i] + offset;
        }
        kernel *function = (kernel *)(intptr_t)dlsym(library, name);
        if (!function) {
            fprintf(stderr, "there is no function %s\n", name);
            return 1;
        }
        int64_t result = function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
                                  a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24], a[25],
                                  a[26], a[27], a[28], a[29], a[30], a[31], a[32], a[33], a[34], a[35], a[36], a[37],
                                  a[38], a[39]);
        if (text) {
            const char *found = (const char *)(intptr_t)result;
            result = found ? (int64_t)strlen(found) : -1;
            put(&result, sizeof result);
            if (found) put(found, (size_t)result);
        } else {
            put(&result, sizeof result);
        }
        for (int64_t i = 0; i < n; i++) {
            if (!memory[i]) continue;
            put(memory[i], (size_t)size[i]);
            free(memory[i]);
        }
        fflush(stdout);
    }
}
