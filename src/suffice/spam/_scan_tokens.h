/* A table of tokens, and the counts of messages that hold them. */

typedef struct {
    uint32_t place; /* of the token in the text of all */
    uint32_t length;
    uint32_t hash;
    uint32_t field;
    union {
        uint32_t held[2]; /* by how many spams and hams */
        double weight;    /* NaN for one that no message learned holds */
    } value;
} Entry;

typedef struct {
    char *text;
    size_t text_size, text_room;
    Entry *entries;
    size_t count, room;
    uint32_t *slots; /* number of the entry + 1, or 0 */
    size_t slot_count;
} Tokens;

static void clear_tokens(Tokens *tokens) {
    PyMem_Free(tokens->text);
    PyMem_Free(tokens->entries);
    PyMem_Free(tokens->slots);
    memset(tokens, 0, sizeof *tokens);
}

/* Make room for one more token; -1 without memory, and then the table is as it was. */
static int make_room(Tokens *tokens, size_t length) {
    if (tokens->text_size + length > UINT32_MAX) return -1;
    if (tokens->text_size + length > tokens->text_room) {
        size_t room = 2 * tokens->text_room + length + 4096;
        char *text = PyMem_Realloc(tokens->text, room);
        if (text == NULL) return -1;
        tokens->text = text;
        tokens->text_room = room;
    }
    if (tokens->count == tokens->room) {
        size_t room = 2 * tokens->room + 256;
        Entry *entries = room < UINT32_MAX ? PyMem_Realloc(tokens->entries, room * sizeof *entries) : NULL;
        if (entries == NULL) return -1;
        tokens->entries = entries;
        tokens->room = room;
    }
    if (2 * (tokens->count + 1) > tokens->slot_count) {
        size_t slot_count = power_of_two(3 * (tokens->count + 128));
        uint32_t *slots = PyMem_Calloc(slot_count, sizeof *slots);
        if (slots == NULL) return -1;
        for (size_t i = 0; i < tokens->count; i++) {
            size_t slot = tokens->entries[i].hash & (slot_count - 1);
            while (slots[slot]) slot = (slot + 1) & (slot_count - 1);
            slots[slot] = (uint32_t)i + 1;
        }
        PyMem_Free(tokens->slots);
        tokens->slots = slots;
        tokens->slot_count = slot_count;
    }
    return 0;
}

/* Return the entry of a token or NULL, and where it is or would be. */
static Entry *find(const Tokens *tokens, const char *text, size_t length, uint32_t hash, size_t *slot) {
    if (tokens->slot_count == 0) return NULL;
    size_t mask = tokens->slot_count - 1;
    for (*slot = hash & mask; tokens->slots[*slot]; *slot = (*slot + 1) & mask) {
        Entry *entry = &tokens->entries[tokens->slots[*slot] - 1];
        if (entry->hash == hash && entry->length == length && !memcmp(tokens->text + entry->place, text, length))
            return entry;
    }
    return NULL;
}

/* Return the entry of a token, a new one with zeros if there was none; NULL without memory. */
static Entry *find_or_add_hashed(Tokens *tokens, const char *text, size_t length, uint32_t hash) {
    size_t slot = 0;
    Entry *entry = find(tokens, text, length, hash, &slot);
    if (entry != NULL) return entry;
    if (length >= UINT32_MAX || make_room(tokens, length) < 0) return NULL;
    find(tokens, text, length, hash, &slot); /* the slots may be others now */
    entry = &tokens->entries[tokens->count++];
    memset(entry, 0, sizeof *entry);
    entry->place = (uint32_t)tokens->text_size;
    entry->length = (uint32_t)length;
    entry->hash = hash;
    if (length) memcpy(tokens->text + entry->place, text, length);
    tokens->text_size += length;
    tokens->slots[slot] = (uint32_t)tokens->count;
    return entry;
}

static Entry *find_or_add(Tokens *tokens, const char *text, size_t length) {
    return find_or_add_hashed(tokens, text, length, hash_of(text, length));
}

/* Return the next line and go on behind it, NULL after the last one; an empty text has none. */
static const char *next_line(const char **at, const char *end, size_t *length) {
    if (*at == NULL || *at > end) return NULL;
    const char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line));
    *length = (size_t)((stop ? stop : end) - line);
    *at = stop ? stop + 1 : NULL;
    return line;
}

/* Return the lines of a str, and set where they end; NULL with an error, or without one for an empty text. */
static const char *lines_of(PyObject *object, const char **end) {
    Py_ssize_t size;
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "lines must be a str, but they are of %R", Py_TYPE(object));
        return NULL;
    }
    const char *text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text == NULL) return NULL;
    *end = text + size;
    return size ? text : NULL;
}

/* Return the entries from one on as sorted slices, which the caller frees; NULL without memory. */
static Slice *sorted_entries(const Tokens *tokens, size_t from) {
    size_t count = tokens->count - from;
    Slice *slices = PyMem_Malloc((count + count / 2 + 1) * sizeof *slices); /* and room to sort them */
    if (slices == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const Entry *entry = &tokens->entries[from + i];
        slices[i] = slice_of(tokens->text + entry->place, entry->length, (uint32_t)(from + i));
    }
    sort(slices, count, slices + count);
    return slices;
}

#if defined(__GNUC__)
#define PREFETCH(at) __builtin_prefetch(at)
#else
#define PREFETCH(at) ((void)(at))
#endif

enum { GROUP = 32 };

typedef struct {
    const char *text;
    size_t length;
    uint32_t hash;
} Line;

/* Take the next lines of a text and go on behind them; return how many, at most GROUP.

   A large table is in no cache, and each look-up waits for memory three times: for its slot, its entry and its text.
   All lines of a group are therefore asked for together before any is waited for. */
static int next_group(const Tokens *tokens, const char **at, const char *end, Line *group) {
    int count = 0;
    size_t mask = tokens->slot_count - 1;
    for (; count < GROUP && (group[count].text = next_line(at, end, &group[count].length)) != NULL; count++) {
        group[count].hash = hash_of(group[count].text, group[count].length);
        if (tokens->slot_count) PREFETCH(&tokens->slots[group[count].hash & mask]);
    }
    for (int step = 0; step < 2 && tokens->slot_count; step++)
        for (int i = 0; i < count; i++) {
            uint32_t number = tokens->slots[group[i].hash & mask];
            if (number && step == 0)
                PREFETCH(&tokens->entries[number - 1]);
            else if (number)
                PREFETCH(tokens->text + tokens->entries[number - 1].place);
        }
    return count;
}

/* Add the lines of a text that are not there yet; -1 without memory. */
static int add_lines(Tokens *tokens, const char *at, const char *end) {
    Line group[GROUP];
    for (int count; (count = next_group(tokens, &at, end, group)) > 0;)
        for (int i = 0; i < count; i++)
            if (find_or_add_hashed(tokens, group[i].text, group[i].length, group[i].hash) == NULL) return -1;
    return 0;
}

PyDoc_STRVAR(count_doc, "count(messages) -> (lines, spam, ham)\n\nOf (is ham, lines) each: the tokens sorted, and as "
                        "bytes of unsigned int how many spams and hams hold each.");

static PyObject *count(PyObject *Py_UNUSED(module), PyObject *messages) {
    Tokens tokens = {0};
    Slice *slices = NULL;
    char *buffer = NULL;
    PyObject *text = NULL, *held[2] = {NULL, NULL}, *result = NULL;
    PyObject *item, *iterator = PyObject_GetIter(messages);
    if (iterator == NULL) return NULL;
    while ((item = PyIter_Next(iterator)) != NULL) {
        int is_ham;
        PyObject *lines;
        const char *end = NULL, *at = NULL, *line;
        size_t length;
        if (PyArg_ParseTuple(item, "pU", &is_ham, &lines)) at = lines_of(lines, &end);
        while (!PyErr_Occurred() && (line = next_line(&at, end, &length)) != NULL) {
            Entry *entry = find_or_add(&tokens, line, length);
            if (entry == NULL)
                PyErr_NoMemory();
            else
                entry->value.held[is_ham]++;
        }
        Py_DECREF(item);
        if (PyErr_Occurred()) goto done;
    }
    if (PyErr_Occurred() || (slices = sorted_entries(&tokens, 0)) == NULL) goto done;
    buffer = PyMem_Malloc(tokens.text_size + tokens.count + 1);
    if (buffer == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (int i = 0; i < 2; i++)
        if ((held[i] = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(tokens.count * sizeof(unsigned int)))) == NULL)
            goto done;
    char *at = buffer, *numbers[2] = {PyBytes_AsString(held[0]), PyBytes_AsString(held[1])};
    for (size_t i = 0; i < tokens.count; i++) {
        if (i) *at++ = '\n';
        if (slices[i].length) memcpy(at, slices[i].text, slices[i].length);
        at += slices[i].length;
        for (int is_ham = 0; is_ham < 2; is_ham++) {
            unsigned int number = tokens.entries[slices[i].number].value.held[is_ham];
            memcpy(numbers[is_ham] + i * sizeof number, &number, sizeof number);
        }
    }
    text = PyUnicode_DecodeUTF8(buffer, at - buffer, NULL);
    if (text != NULL) result = PyTuple_Pack(3, text, held[0], held[1]);
done:
    Py_DECREF(iterator);
    Py_XDECREF(text);
    Py_XDECREF(held[0]);
    Py_XDECREF(held[1]);
    PyMem_Free(buffer);
    PyMem_Free(slices);
    clear_tokens(&tokens);
    return result;
}
