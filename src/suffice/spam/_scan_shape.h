/* The shape of a value: each run of small letters as "a", of capitals as "A" and of digits as "9". */

PyDoc_STRVAR(shape_doc,
             "shape(value) -> str | None\n\nOf the first 200 characters, at most 30; None for text beyond ASCII.");

static PyObject *shape(PyObject *Py_UNUSED(module), PyObject *value) {
    enum { LETTERS_READ = 200, LETTERS_KEPT = 30 }; /* as in `shape` of tokenizing.py */
    char found[LETTERS_KEPT], last = 0;
    Py_ssize_t size, kept = 0;
    if (!PyUnicode_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "a value must be a str");
        return NULL;
    }
    Py_ssize_t length = PyUnicode_GetLength(value);
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == NULL && !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return NULL;
    PyErr_Clear();
    if (text == NULL || size != length) Py_RETURN_NONE;
    for (Py_ssize_t i = 0; i < size && i < LETTERS_READ && kept < LETTERS_KEPT; i++) {
        char letter = text[i];
        char class = letter >= 'a' && letter <= 'z' ? 'a' : letter >= 'A' && letter <= 'Z' ? 'A' : 0;
        class = letter >= '0' && letter <= '9' ? '9' : class;
        if (class == 0 || class != last) found[kept++] = class ? class : letter;
        last = class;
    }
    return PyUnicode_FromStringAndSize(found, kept);
}
