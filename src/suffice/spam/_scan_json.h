/* JSON, which SQLite takes quicker than rows. */

/* Append a new object, which is taken over; -1 if there is none. */
static int append(PyObject *list, PyObject *object) {
    int failed = object == NULL || PyList_Append(list, object) < 0;
    Py_XDECREF(object);
    return failed ? -1 : 0;
}

/* Add a string in quotes, after a comma where one is needed. */
static int add_quoted(Buffer *buffer, const char *text, size_t length) {
    if (reserve(buffer, 6 * length + 3) < 0) return -1;
    char *at = buffer->text + buffer->size;
    if (buffer->size > 1) *at++ = ',';
    *at++ = '"';
    for (size_t i = 0; i < length; i++) {
        unsigned char letter = (unsigned char)text[i];
        if (letter < 0x20) {
            memcpy(at, "\\u00", 4);
            at[4] = "01"[letter >> 4];
            at[5] = "0123456789abcdef"[letter & 15];
            at += 6;
            continue;
        }
        if (letter == '"' || letter == '\\') *at++ = '\\';
        *at++ = (char)letter;
    }
    *at++ = '"';
    buffer->size = (size_t)(at - buffer->text);
    return 0;
}

static int must_be_escaped(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == '"' || text[i] == '\\') return 1;
    return 0;
}

PyDoc_STRVAR(json_rows_doc, "json_rows(lines, spam, ham, most) -> (list of JSON, list of rows)\n\n"
                            "Objects of at most so many tokens with spam << 32 | ham; apart from them the rows whose "
                            "tokens would need escapes.");

static PyObject *json_rows(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *lines;
    Py_buffer spam = {0}, ham = {0};
    Py_ssize_t most;
    Buffer buffer = {0};
    PyObject *texts = NULL, *rows = NULL, *result = NULL;
    if (!PyArg_ParseTuple(arguments, "Uy*y*n", &lines, &spam, &ham, &most)) return NULL;
    const char *end = NULL, *at = NULL, *line;
    size_t length, number = 0, within = 0, total = (size_t)spam.len / sizeof(unsigned int);
    if (spam.len != ham.len || most < 1) {
        PyErr_SetString(PyExc_ValueError, "spam and ham must be equally long, and most must be positive");
        goto done;
    }
    texts = PyList_New(0);
    rows = PyList_New(0);
    if (texts == NULL || rows == NULL) goto done;
    at = lines_of(lines, &end);
    if (PyErr_Occurred()) goto done;
    if (at == NULL && total == 1) at = end; /* one token, which is empty */
    for (; number < total && (line = next_line(&at, end, &length)) != NULL; number++) {
        unsigned int held[2];
        memcpy(&held[0], (char *)spam.buf + number * sizeof held[0], sizeof held[0]);
        memcpy(&held[1], (char *)ham.buf + number * sizeof held[1], sizeof held[1]);
        if (must_be_escaped(line, length)) {
            if (append(rows, Py_BuildValue("NII", PyUnicode_FromStringAndSize(line, (Py_ssize_t)length), held[0],
                                           held[1])) < 0)
                goto done;
            continue;
        }
        if (within == 0 && reserve(&buffer, 1) == 0) buffer.text[buffer.size++] = '{';
        if (PyErr_Occurred() || add_quoted(&buffer, line, length) < 0 || reserve(&buffer, 32) < 0) goto done;
        unsigned long long both = (unsigned long long)held[0] << 32 | held[1];
        buffer.size += (size_t)snprintf(buffer.text + buffer.size, 31, ":%llu", both);
        if (++within == (size_t)most) {
            buffer.text[buffer.size++] = '}';
            if (append(texts, PyUnicode_DecodeUTF8(buffer.text, (Py_ssize_t)buffer.size, NULL)) < 0) goto done;
            buffer.size = within = 0;
        }
    }
    if (number != total || (at != NULL && at <= end)) {
        PyErr_SetString(PyExc_ValueError, "there must be as many lines as counts");
        goto done;
    }
    if (within) {
        buffer.text[buffer.size++] = '}'; /* there is room: 32 were asked for */
        if (append(texts, PyUnicode_DecodeUTF8(buffer.text, (Py_ssize_t)buffer.size, NULL)) < 0) goto done;
    }
    result = PyTuple_Pack(2, texts, rows);
done:
    Py_XDECREF(texts);
    Py_XDECREF(rows);
    PyMem_Free(buffer.text);
    PyBuffer_Release(&spam);
    PyBuffer_Release(&ham);
    return result;
}
