/* The words of a text, the marks of words that are not all letters, and the pairs of neighbours. */

enum { WORD_LIMIT = 20, LONG_ROOM = 40 };

typedef struct {
    const char *text;
    uint32_t length;  /* in bytes */
    uint32_t letters; /* and in characters */
    uint32_t hash;
} Word;

/* Add the line prefix + one, or prefix + one + " " + other. */
static int add_joined(Buffer *lines, const char *prefix, size_t prefix_length, Word one, const Word *other) {
    if (reserve(lines, prefix_length + one.length + (other ? (size_t)other->length : 0) + 2) < 0) return -1;
    char *at = lines->text + lines->size;
    if (lines->size) *at++ = '\n';
    memcpy(at, prefix, prefix_length);
    memcpy(at += prefix_length, one.text, one.length);
    at += one.length;
    if (other) {
        *at++ = ' ';
        memcpy(at, other->text, other->length);
        at += other->length;
    }
    lines->size = (size_t)(at - lines->text);
    return 0;
}

/* Add what `_marks` of tokenizing.py returns for a word, whose characters are of these kinds in all. */
static int add_mark(Buffer *lines, Word word, int kinds, const char *prefix, size_t prefix_length) {
    char plain[4 * WORD_LIMIT + 4];
    uint32_t length = word.length, letters = word.letters, changed = 0, at = 0;
    int bytes;
    while (length && (word.text[length - 1] == '!' || word.text[length - 1] == '%' || word.text[length - 1] == '+'))
        length--, letters--;
    if (letters >= 4 && letters <= WORD_LIMIT) {
        for (; at < length; at += (uint32_t)bytes) {
            int kind = kind_at(word.text + at, &bytes);
            unsigned char letter = (unsigned char)word.text[at];
            memcpy(plain + at, word.text + at, (size_t)bytes);
            if (kind & LETTER) continue;
            if (letter >= 0x80 || !disguised_as[letter]) break;
            plain[at] = disguised_as[letter];
            changed++;
        }
        if (at == length && changed && 2 * changed < letters)
            return add_joined(lines, prefix, prefix_length, (Word){plain, length, letters, 0}, NULL);
    }
    if (kind_at(word.text, &bytes) & MONEY) return add_joined(lines, "text:money", 10, (Word){"", 0, 0, 0}, NULL);
    if (word.letters <= 3 || kinds != DIGIT) return 0;
    length = (uint32_t)snprintf(plain, sizeof plain, "%u", (unsigned int)word.letters);
    return add_joined(lines, "text:number ", 12, (Word){plain, length, length, 0}, NULL);
}

static inline int begins_word(int kind) { return kind & IN_WORD && !(kind & UNSPACED); }

/* Return the end of the word that begins at `at`, or `at` if none does, and count its characters. */
static const char *end_of_word(const char *at, const char *end, uint32_t *letters) {
    const char *begin = at;
    int bytes, next, kind = kind_at(at, &bytes);
    *letters = 0;
    if (kind & MONEY) {
        at += bytes;
        ++*letters;
    }
    if (at == end || !begins_word(kind = kind_at(at, &bytes))) return begin;
    for (;;) {
        do {
            at += bytes;
            ++*letters;
        } while (at < end && (begins_word(kind = kind_at(at, &bytes)) || kind & MARK));
        if (at == end || !(kind & JOINS) || at + bytes == end || !begins_word(kind_at(at + bytes, &next))) break;
        at += bytes;
        ++*letters;
        bytes = next;
    }
    if (at < end && kind & ENDS) {
        at++;
        ++*letters;
    }
    return at;
}

/* Return the end of the letter without spaces around it that begins at `at`, with its marks, or `at` if none does. */
static const char *end_of_cluster(const char *at, const char *end, uint32_t *letters) {
    int bytes;
    *letters = 0;
    if (at == end || !(kind_at(at, &bytes) & UNSPACED)) return at;
    do {
        at += bytes;
        ++*letters;
    } while (at < end && kind_at(at, &bytes) & MARK);
    return at;
}

/* The words of a text so far. */
typedef struct {
    const char *prefix;
    size_t prefix_length;
    Word *distinct;
    uint32_t *place;      /* of the distinct words by their hash: number + 1, or 0 */
    uint64_t *pair_place; /* of the distinct pairs: both numbers */
    size_t slots, count, number, single;
    uint32_t before;     /* number of the last word + 1 */
    Buffer found, pairs; /* lines */
} Words;

static int add_word(Words *words, Word word) {
    size_t mask = words->slots - 1;
    word.hash = hash_of(word.text, word.length);
    words->single += word.letters == 1;
    size_t slot = word.hash & mask;
    for (; words->place[slot]; slot = (slot + 1) & mask) {
        const Word *seen = &words->distinct[words->place[slot] - 1];
        if (seen->hash == word.hash && seen->length == word.length && !memcmp(seen->text, word.text, word.length))
            break;
    }
    if (!words->place[slot]) {
        words->distinct[words->count++] = word;
        words->place[slot] = (uint32_t)words->count;
        if (add_joined(&words->found, words->prefix, words->prefix_length, word, NULL) < 0) return -1;
    }
    uint32_t before = words->before, now = words->before = words->place[slot];
    if (words->number++ == 0) return 0;
    uint64_t pair = (uint64_t)before << 32 | now;
    slot = (size_t)((pair * (key_low | 1)) >> 32 ^ key_high) & mask;
    for (; words->pair_place[slot]; slot = (slot + 1) & mask)
        if (words->pair_place[slot] == pair) return 0;
    words->pair_place[slot] = pair;
    const Word *one = &words->distinct[before - 1], *other = &words->distinct[now - 1];
    return add_joined(&words->pairs, words->prefix, words->prefix_length, *one, other);
}

/* Add the marks of the distinct words; return whether letters may be spaced, or -1. */
static int add_marks(Words *words) {
    int spaced = words->single >= 4;
    for (size_t i = 0; i < words->count; i++) {
        Word word = words->distinct[i];
        int kinds = 0, second = 0, bytes;
        for (uint32_t at = 0, letter = 0; at < word.length; at += (uint32_t)bytes, letter++) {
            int kind = kind_at(word.text + at, &bytes);
            kinds |= kind & IN_WORD ? kind & IN_WORD : kind & MARK ? NUMERIC : JOINS;
            second = letter == 1 ? kind : second;
        }
        if (kinds == LETTER) continue;
        spaced |= !(second & (IN_WORD | MARK));
        if (add_mark(&words->found, word, kinds, words->prefix, words->prefix_length) < 0) return -1;
    }
    return spaced;
}

/* Return whether letters may have the same sign between them, so that `spaced_words` of evasion.py must look. */
static int has_spaced_letters(const char *text, const char *end) {
    for (const char *at = text + 1; at < end; at++) { /* behind the first letter */
        if ((unsigned char)*at >= 0x80 || !(kind_of[(unsigned char)*at] & SEPARATES)) continue;
        const char *next = at + 1;
        int signs = 1, bytes;
        while (signs < 3 && next < end && kind_at(next, &bytes) & IN_WORD && !(*next >= '0' && *next <= '9') &&
               next + bytes < end && next[bytes] == *at) {
            next += bytes + 1;
            signs++;
        }
        if (signs == 3) return 1;
    }
    return 0;
}

/* Return a word as it is kept: what is long is summarised in `room`, which then has less. */
static Word kept(Word word, char **room) {
    if (word.letters <= WORD_LIMIT) return word;
    int bytes;
    kind_at(word.text, &bytes);
    char *summary = *room;
    *room += LONG_ROOM;
    word.length = (uint32_t)snprintf(summary, LONG_ROOM, "long:%.*s %u", bytes, word.text, word.letters / 10 * 10);
    word.letters = word.length - (uint32_t)bytes + 1;
    word.text = summary;
    return word;
}

/* Add the pairs of a run of letters without spaces, or its only letter, and return its end; NULL with an error. */
static const char *add_run(Words *words, const char *at, const char *end, char **room) {
    uint32_t letters, more;
    const char *stop = end_of_cluster(at, end, &letters), *next;
    if (end_of_cluster(stop, end, &more) == stop)
        return add_word(words, kept((Word){at, (uint32_t)(stop - at), letters, 0}, room)) < 0 ? NULL : stop;
    while ((next = end_of_cluster(stop, end, &more)) != stop) {
        if (add_word(words, kept((Word){at, (uint32_t)(next - at), letters + more, 0}, room)) < 0) return NULL;
        at = stop;
        stop = next;
        letters = more;
    }
    return stop;
}

PyDoc_STRVAR(words_doc, "words(text, prefix, limit) -> (number, spaced, words and marks, pairs) | None\n\n"
                        "Of text in lower case, one per line; None where it cannot be encoded.");

static PyObject *words(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *text_object;
    Py_ssize_t limit, size;
    const char *prefix;
    if (!PyArg_ParseTuple(arguments, "Usn", &text_object, &prefix, &limit)) return NULL;
    const char *text = PyUnicode_AsUTF8AndSize(text_object, &size);
    if (text == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return NULL;
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    size_t prefix_length = strlen(prefix);
    for (size_t i = 0; i < prefix_length; i++)
        if ((unsigned char)prefix[i] >= 0x80) {
            PyErr_SetString(PyExc_ValueError, "the prefix must be ASCII");
            return NULL;
        }
    if ((size_t)size > UINT32_MAX / 2) {
        PyErr_SetString(PyExc_OverflowError, "a text of 2 GB or more has too many words; cut it");
        return NULL;
    }
    /* a word and the sign behind it have two bytes at least, but scripts without spaces are cut at each letter */
    int is_ascii = PyUnicode_GetLength(text_object) == size;
    size_t most = is_ascii ? (size_t)size / 2 + 1 : (size_t)size, number = 0;
    size_t limited = limit > 0 ? (size_t)limit : 0;
    if (!is_ascii && learn_kinds(text, text + size) < 0) return NULL;
    if (is_ascii && most > limited) most = limited;
    Words all = {.prefix = prefix, .prefix_length = prefix_length, .slots = power_of_two(2 * most)};
    PyObject *result = NULL;
    /* for what is kept of long words; a letter with many marks is in two pairs */
    char *rooms = PyMem_Malloc((2 * (size_t)size / WORD_LIMIT + 2) * LONG_ROOM), *room = rooms;
    all.distinct = PyMem_Malloc((most + 1) * sizeof *all.distinct);
    all.place = PyMem_Calloc(all.slots, sizeof *all.place);
    all.pair_place = PyMem_Calloc(all.slots, sizeof *all.pair_place);
    if (!rooms || !all.distinct || !all.place || !all.pair_place) {
        PyErr_NoMemory();
        goto done;
    }
    const char *end = text + size;
    for (const char *at = text; at < end && number < limited;) {
        int bytes, kind = kind_at(at, &bytes);
        Word word = {at, 0, 0, 0};
        const char *stop = kind & (IN_WORD | MONEY) ? end_of_word(at, end, &word.letters) : at;
        if (kind & UNSPACED) {
            stop = add_run(&all, at, end, &room);
            if (stop == NULL) goto done;
        } else if (stop > at) {
            word.length = (uint32_t)(stop - at);
            if (add_word(&all, kept(word, &room)) < 0) goto done;
        }
        number += stop > at;
        at = stop > at ? stop : at + bytes;
    }
    int spaced = add_marks(&all);
    if (spaced >= 0)
        result =
            Py_BuildValue("nONN", (Py_ssize_t)all.number, spaced && has_spaced_letters(text, end) ? Py_True : Py_False,
                          PyUnicode_DecodeUTF8(all.found.text, (Py_ssize_t)all.found.size, NULL),
                          PyUnicode_DecodeUTF8(all.pairs.text, (Py_ssize_t)all.pairs.size, NULL));
done:
    PyMem_Free(rooms);
    PyMem_Free(all.distinct);
    PyMem_Free(all.place);
    PyMem_Free(all.pair_place);
    PyMem_Free(all.found.text);
    PyMem_Free(all.pairs.text);
    return result;
}
