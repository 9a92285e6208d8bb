/* Hashes, slices of texts and their order, and the sorted lines of a message. */

static uint64_t key_low, key_high;

#define ROTATED(x, by) (((x) << (by)) | ((x) >> (64 - (by))))
#define SIP_ROUND                                                                                                      \
    (a += b, b = ROTATED(b, 13), b ^= a, a = ROTATED(a, 32), c += d, d = ROTATED(d, 16), d ^= c, a += d,               \
     d = ROTATED(d, 21), d ^= a, c += b, b = ROTATED(b, 17), b ^= c, c = ROTATED(c, 32))

static uint32_t hash_of(const char *text, size_t length) {
    uint64_t a = key_low ^ 0x736f6d6570736575u, b = key_high ^ 0x646f72616e646f6du;
    uint64_t c = key_low ^ 0x6c7967656e657261u, d = key_high ^ 0x7465646279746573u;
    uint64_t part, last = (uint64_t)length << 56;
    size_t left = length;
    for (; left >= 8; left -= 8, text += 8) {
        memcpy(&part, text, 8);
        d ^= part;
        SIP_ROUND;
        a ^= part;
    }
    part = 0;
    memcpy(&part, text, left);
    last |= part;
    d ^= last;
    SIP_ROUND;
    a ^= last;
    c ^= 0xff;
    SIP_ROUND;
    SIP_ROUND;
    SIP_ROUND;
    a ^= b ^ c ^ d;
    return (uint32_t)(a ^ (a >> 32));
}

/* A slice of a text, with its first eight characters as a number: most comparisons need no more. */
typedef struct {
    const char *text;
    uint64_t first;
    uint32_t length;
    uint32_t number;
} Slice;

static Slice slice_of(const char *text, size_t length, uint32_t number) {
    Slice slice = {text, 0, (uint32_t)length, number};
    unsigned char first[8] = {0};
    memcpy(first, text, length < 8 ? length : 8);
    for (int i = 0; i < 8; i++) slice.first = slice.first << 8 | first[i];
    return slice;
}

static inline int compare(const Slice *a, const Slice *b) {
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    uint32_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->text, b->text, shorter);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* Sort by merging runs, which the tokens of messages bring along; `spare` has as much room. */
static void sort(Slice *slices, size_t count, Slice *spare) {
    if (count <= 8) {
        for (size_t i = 1; i < count; i++) {
            Slice slice = slices[i];
            size_t at = i;
            for (; at && compare(&slices[at - 1], &slice) > 0; at--) slices[at] = slices[at - 1];
            slices[at] = slice;
        }
        return;
    }
    size_t half = count / 2;
    sort(slices, half, spare);
    sort(slices + half, count - half, spare);
    if (compare(&slices[half - 1], &slices[half]) <= 0) return;
    memcpy(spare, slices, half * sizeof *slices);
    size_t left = 0, right = half, at = 0;
    while (left < half && right < count)
        slices[at++] = compare(&spare[left], &slices[right]) <= 0 ? spare[left++] : slices[right++];
    memcpy(slices + at, spare + left, (half - left) * sizeof *slices);
}

typedef struct {
    char *text;
    size_t size, room;
} Buffer;

static int reserve(Buffer *buffer, size_t more) {
    if (buffer->size + more <= buffer->room) return 0;
    size_t room = 2 * buffer->room + more + 4096;
    char *text = PyMem_Realloc(buffer->text, room);
    if (text == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    buffer->text = text;
    buffer->room = room;
    return 0;
}

static size_t power_of_two(size_t least) {
    size_t size = 8;
    while (size < least) size *= 2;
    return size;
}

PyDoc_STRVAR(sorted_lines_doc,
             "sorted_lines(tokens) -> str | None\n\nDistinct tokens, given one or several lines each, "
             "sorted, one per line; None where one is empty or cannot be encoded.");

static PyObject *sorted_lines(PyObject *Py_UNUSED(module), PyObject *tokens) {
    if (!PyList_Check(tokens)) {
        PyErr_SetString(PyExc_TypeError, "tokens must be a list");
        return NULL;
    }
    Slice *slices = NULL;
    size_t count = 0, room = 0, total = 0;
    for (Py_ssize_t i = 0; i < PyList_Size(tokens); i++) {
        PyObject *token = PyList_GetItem(tokens, i);
        Py_ssize_t size;
        if (!PyUnicode_Check(token)) {
            PyMem_Free(slices);
            PyErr_Format(PyExc_TypeError, "a token must be a str, but token %zd is of %R", i, Py_TYPE(token));
            return NULL;
        }
        const char *at = PyUnicode_AsUTF8AndSize(token, &size), *end = at ? at + size : NULL;
        int is_bad = at == NULL;
        while (at && !is_bad) {
            const char *stop = memchr(at, '\n', (size_t)(end - at));
            size_t length = (size_t)((stop ? stop : end) - at);
            is_bad = length == 0 || length >= UINT32_MAX;
            if (count == room) {
                Slice *more =
                    PyMem_Realloc(slices, (room = 2 * room + 1024) * 3 / 2 * sizeof *slices); /* to sort them */
                if (more == NULL) {
                    PyMem_Free(slices);
                    return PyErr_NoMemory();
                }
                slices = more;
            }
            slices[count++] = slice_of(at, length, 0);
            total += length + 1;
            at = stop ? stop + 1 : NULL;
        }
        if (is_bad) {
            PyMem_Free(slices);
            if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return NULL;
            PyErr_Clear();
            Py_RETURN_NONE;
        }
    }
    if (count) sort(slices, count, slices + count);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept && !compare(&slices[kept - 1], &slices[i]))
            total -= slices[i].length + 1;
        else
            slices[kept++] = slices[i];
    }
    size_t size = total ? total - 1 : 0;
    char *buffer = PyMem_Malloc(size + 1), *at = buffer;
    if (buffer == NULL) {
        PyMem_Free(slices);
        return PyErr_NoMemory();
    }
    for (size_t i = 0; i < kept; i++) {
        if (i) *at++ = '\n';
        memcpy(at, slices[i].text, slices[i].length);
        at += slices[i].length;
    }
    PyObject *result = PyUnicode_DecodeUTF8(buffer, (Py_ssize_t)size, NULL);
    PyMem_Free(buffer);
    PyMem_Free(slices);
    return result;
}
