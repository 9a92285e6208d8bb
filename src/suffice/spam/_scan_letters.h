/* Characters of UTF-8, and the kinds of them that words are made of. */

enum {
    JOINS = 1,
    LETTER = 2,
    DIGIT = 4,
    NUMERIC = 8,
    MONEY = 16,
    ENDS = 32,
    UNSPACED = 64,
    MARK = 256,
    SEPARATES = 512
};
enum { IN_WORD = LETTER | DIGIT | NUMERIC };
enum { LEARNED = 128 };            /* the kind of a character beyond ASCII is known */
static uint16_t kind_of[0x110000]; /* of each character: of ASCII from the start, of others from `learn_kinds` on */
static char disguised_as[128];     /* the letter that a digit or sign stands for; 0 for none */

/* Return the character at `at`, which is well-formed UTF-8, and set how many bytes it has. */
static inline uint32_t letter_at(const char *at, int *bytes) {
    const unsigned char *byte = (const unsigned char *)at;
    if (byte[0] < 0x80) {
        *bytes = 1;
        return byte[0];
    }
    if (byte[0] < 0xe0) {
        *bytes = 2;
        return (uint32_t)(byte[0] & 0x1f) << 6 | (byte[1] & 0x3f);
    }
    if (byte[0] < 0xf0) {
        *bytes = 3;
        return (uint32_t)(byte[0] & 0x0f) << 12 | (uint32_t)(byte[1] & 0x3f) << 6 | (byte[2] & 0x3f);
    }
    *bytes = 4;
    uint32_t high = (uint32_t)(byte[0] & 0x07) << 18 | (uint32_t)(byte[1] & 0x3f) << 12;
    return high | (uint32_t)(byte[2] & 0x3f) << 6 | (byte[3] & 0x3f);
}

static inline int kind_at(const char *at, int *bytes) { return kind_of[letter_at(at, bytes)]; }

/* Return whether a method of str without arguments says yes; -1 with an error. */
static int is_so(PyObject *text, const char *method) {
    PyObject *answer = PyObject_CallMethod(text, method, NULL);
    int result = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return result;
}

/* Return whether a character, given as a text, is a mark upon others, by unicodedata; -1 with an error. */
static int is_mark(PyObject *text) {
    PyObject *module = PyImport_ImportModule("unicodedata");
    PyObject *category = module ? PyObject_CallMethod(module, "category", "O", text) : NULL;
    int result = -1;
    if (category != NULL)
        result = PyUnicode_CompareWithASCIIString(category, "Mn") == 0 ||
                 PyUnicode_CompareWithASCIIString(category, "Mc") == 0;
    Py_XDECREF(category);
    Py_XDECREF(module);
    return result;
}

/* Return whether a character is of a script without spaces between words, as UNSPACED of scripts.py says. */
static int is_unspaced(uint32_t letter) {
    return (letter >= 0xe00 && letter <= 0xeff) || (letter >= 0x1000 && letter <= 0x109f) ||
           (letter >= 0x1780 && letter <= 0x17ff) || (letter >= 0x3005 && letter <= 0x3007) ||
           (letter >= 0x3040 && letter <= 0x30ff) || (letter >= 0x3400 && letter <= 0x9fff) ||
           (letter >= 0xac00 && letter <= 0xd7af) || (letter >= 0x20000 && letter <= 0x3ffff);
}

/* Return the kind of a character beyond ASCII, which Python's own str is asked for; -1 with an error. */
static int find_kind(uint32_t letter) {
    if (letter == 0xa3 || letter == 0x20ac) /* pound and euro */
        return MONEY;
    if (letter == 0x2019) /* an apostrophe */
        return JOINS;
    PyObject *text = PyUnicode_FromOrdinal((int)letter);
    int is_letter = text ? is_so(text, "isalpha") : -1;
    int is_digit = is_letter ? 0 : is_so(text, "isdigit");
    int is_number = is_letter || is_digit ? 0 : is_so(text, "isalnum");
    int is_other = !is_letter && !is_digit && !is_number && letter >= 0x300 && letter <= 0x1efff;
    int is_a_mark = is_other ? is_mark(text) : 0;
    Py_XDECREF(text);
    if (is_letter < 0 || is_digit < 0 || is_number < 0 || is_a_mark < 0) return -1;
    int kind = is_letter ? LETTER : is_digit ? DIGIT : is_number ? NUMERIC : is_a_mark ? MARK : 0;
    return kind & IN_WORD && is_unspaced(letter) ? kind | UNSPACED : kind;
}

/* Find the kinds of all characters of a text that were not met before; -1 with an error. */
static int learn_kinds(const char *at, const char *end) {
    for (int bytes; at < end; at += bytes) {
        uint32_t letter = letter_at(at, &bytes);
        if (letter < 0x80 || kind_of[letter] & LEARNED) continue;
        int kind = find_kind(letter);
        if (kind < 0) return -1;
        kind_of[letter] = (uint16_t)(kind | LEARNED);
    }
    return 0;
}
