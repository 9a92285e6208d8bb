/* What tokens weigh, kept between messages. */

enum { MOST_FIELDS = 64 };

typedef struct {
    PyObject_HEAD
    Tokens tokens;
    size_t filled;  /* so many entries have their weight */
    Tokens prefixes; /* of the fields */
    unsigned int words, pairs;
} Weights;

static PyObject *weights_new(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    PyObject *prefixes, *key, *value;
    unsigned int words, pairs;
    static char *keywords[] = {"prefixes", "words", "pairs", NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "O!II", keywords, &PyDict_Type, &prefixes, &words, &pairs))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Weights *self = (Weights *)allocate(type, 0);
    if (self == NULL)
        return NULL;
    self->words = words;
    self->pairs = pairs;
    for (Py_ssize_t position = 0; PyDict_Next(prefixes, &position, &key, &value);) {
        Py_ssize_t length;
        const char *text = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, &length) : NULL;
        unsigned long field = PyLong_Check(value) ? PyLong_AsUnsignedLong(value) : MOST_FIELDS;
        Entry *entry = text && field < MOST_FIELDS ? find_or_add(&self->prefixes, text, (size_t)length) : NULL;
        if (entry == NULL) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "prefixes must map text to numbers of fields");
            Py_DECREF(self);
            return NULL;
        }
        entry->field = (uint32_t)field;
    }
    if (words >= MOST_FIELDS || pairs >= MOST_FIELDS) {
        PyErr_SetString(PyExc_ValueError, "there are too many fields");
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void weights_free(PyObject *object)
{
    Weights *self = (Weights *)object;
    PyTypeObject *type = Py_TYPE(object);
    clear_tokens(&self->tokens);
    clear_tokens(&self->prefixes);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static uint32_t field_of(const Weights *self, const char *text, size_t length)
{
    size_t slot;
    const char *colon = memchr(text, ':', length);
    if (colon == NULL)
        return memchr(text, ' ', length) ? self->pairs : self->words;
    size_t prefix = (size_t)(colon - text);
    const Entry *entry = find(&self->prefixes, text, prefix, hash_of(text, prefix), &slot);
    return entry ? entry->field : self->words;
}

PyDoc_STRVAR(add_doc, "add(messages) -> (JSON, number)\n\n"
                      "Tokens of messages, lines each, that are not known yet, sorted; `fill` is to follow.");

static PyObject *weights_add(PyObject *object, PyObject *messages)
{
    Weights *self = (Weights *)object;
    Tokens *tokens = &self->tokens;
    PyObject *lines, *result = NULL, *iterator = PyObject_GetIter(messages);
    Buffer buffer = {0};
    Slice *slices = NULL;
    Entry *sorted = NULL;
    size_t slot = 0;
    if (iterator == NULL)
        return NULL;
    while ((lines = PyIter_Next(iterator)) != NULL) {
        const char *end = NULL, *at = lines_of(lines, &end);
        if (!PyErr_Occurred() && add_lines(tokens, at, end) < 0)
            PyErr_NoMemory();
        Py_DECREF(lines);
        if (PyErr_Occurred())
            goto done;
    }
    size_t from = self->filled, new_count = tokens->count - from;
    if (PyErr_Occurred() || (slices = sorted_entries(tokens, from)) == NULL || reserve(&buffer, 2) < 0)
        goto done;
    sorted = PyMem_Malloc((new_count + 1) * sizeof *sorted);
    if (sorted == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    buffer.text[buffer.size++] = '[';
    for (size_t i = 0; i < new_count; i++) {
        sorted[i] = tokens->entries[slices[i].number];
        sorted[i].field = field_of(self, slices[i].text, slices[i].length);
        sorted[i].value.weight = NAN;
        if (add_quoted(&buffer, slices[i].text, slices[i].length) < 0)
            goto done;
    }
    if (reserve(&buffer, 1) < 0)
        goto done;
    buffer.text[buffer.size++] = ']';
    result = Py_BuildValue("Nn", PyUnicode_FromStringAndSize(buffer.text, (Py_ssize_t)buffer.size), (Py_ssize_t)new_count);
    if (result == NULL)
        goto done;
    /* the new entries in their order, so that weights come in it; their slots are told the new places */
    for (size_t i = 0; i < new_count; i++) {
        find(tokens, slices[i].text, slices[i].length, sorted[i].hash, &slot);
        slices[i].number = (uint32_t)slot;
    }
    for (size_t i = 0; i < new_count; i++) {
        tokens->entries[from + i] = sorted[i];
        tokens->slots[slices[i].number] = (uint32_t)(from + i) + 1;
    }
done:
    Py_DECREF(iterator);
    PyMem_Free(buffer.text);
    PyMem_Free(slices);
    PyMem_Free(sorted);
    return result;
}

PyDoc_STRVAR(fill_doc, "fill(weights)\n\nDoubles, of the tokens that `add` returned; NaN for what nobody knows.");

static PyObject *weights_fill(PyObject *object, PyObject *given)
{
    Weights *self = (Weights *)object;
    Py_buffer weights;
    if (PyObject_GetBuffer(given, &weights, PyBUF_SIMPLE) < 0)
        return NULL;
    if ((size_t)weights.len != (self->tokens.count - self->filled) * sizeof(double)) {
        PyErr_SetString(PyExc_ValueError, "there must be one weight for each new token");
        PyBuffer_Release(&weights);
        return NULL;
    }
    const char *at = weights.buf;
    for (; self->filled < self->tokens.count; self->filled++, at += sizeof(double))
        memcpy(&self->tokens.entries[self->filled].value.weight, at, sizeof(double));
    PyBuffer_Release(&weights);
    Py_RETURN_NONE;
}

/* Return the factor of a side that counts at most so much. */
static double factor(double side, double most)
{
    return side > most ? most / side : 1.0;
}

PyDoc_STRVAR(evidence_doc, "evidence(lines, temper, majority, allowed, field_weights) -> (lines, doubles)\n\n"
                           "The tokens of a message that are known, and what each adds to the log-odds.");

static PyObject *weights_evidence(PyObject *object, PyObject *arguments)
{
    Weights *self = (Weights *)object;
    PyObject *lines, *field_weights, *text = NULL, *parts = NULL, *result = NULL;
    double temper, majority, allowed, energy[2][MOST_FIELDS], scale[2][MOST_FIELDS]; /* against and towards spam */
    if (!PyArg_ParseTuple(arguments, "UdddO!", &lines, &temper, &majority, &allowed, &PyList_Type, &field_weights))
        return NULL;
    const char *end = NULL, *at = lines_of(lines, &end), *begin = at, *line;
    if (PyErr_Occurred())
        return NULL;
    size_t length, slot, most = begin ? 1 : 0, seen = 0;
    for (const char *each = begin; each && (each = memchr(each, '\n', (size_t)(end - each))) != NULL; each++)
        most++;
    for (int i = 0; i < MOST_FIELDS; i++)
        for (int side = 0; side < 2; side++)
            energy[side][i] = scale[side][i] = 0.0;
    const Entry **entries = PyMem_Malloc((most + 1) * sizeof *entries);
    char *buffer = PyMem_Malloc((begin ? (size_t)(end - begin) : 0) + 1), *to = buffer;
    if (entries == NULL || buffer == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    while ((line = next_line(&at, end, &length)) != NULL) {
        const Entry *entry = find(&self->tokens, line, length, hash_of(line, length), &slot);
        if (entry == NULL || isnan(entry->value.weight))
            continue;
        energy[entry->value.weight > 0.0][entry->field] += entry->value.weight * entry->value.weight;
        if (seen)
            *to++ = '\n';
        memcpy(to, line, length);
        to += length;
        entries[seen++] = entry;
    }
    for (Py_ssize_t i = 0; i < PyList_Size(field_weights) && i < MOST_FIELDS; i++) {
        double weight = PyFloat_AsDouble(PyList_GetItem(field_weights, i));
        if (weight == -1.0 && PyErr_Occurred())
            goto done;
        double minus = energy[0][i], plus = energy[1][i];
        double a_minus = factor(minus, majority * plus + allowed), a_plus = factor(plus, majority * minus + allowed);
        double total = plus + minus, part = 0.0;
        if (total > 0.0)
            part = weight * total / ((a_plus * plus + a_minus * minus) * (total + temper));
        scale[0][i] = a_minus * part;
        scale[1][i] = a_plus * part;
    }
    parts = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(seen * sizeof(double)));
    if (parts == NULL)
        goto done;
    char *numbers = PyBytes_AsString(parts);
    for (size_t i = 0; i < seen; i++) {
        double weight = entries[i]->value.weight;
        double part = weight * weight * weight * scale[weight > 0.0][entries[i]->field];
        memcpy(numbers + i * sizeof part, &part, sizeof part);
    }
    text = PyUnicode_DecodeUTF8(buffer, to - buffer, NULL);
    if (text != NULL)
        result = PyTuple_Pack(2, text, parts);
done:
    PyMem_Free(entries);
    PyMem_Free(buffer);
    Py_XDECREF(text);
    Py_XDECREF(parts);
    return result;
}

static Py_ssize_t weights_length(PyObject *object)
{
    return (Py_ssize_t)((Weights *)object)->tokens.count;
}

static PyMethodDef weights_methods[] = {
    {"add", weights_add, METH_O, add_doc},
    {"fill", weights_fill, METH_O, fill_doc},
    {"evidence", weights_evidence, METH_VARARGS, evidence_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot weights_slots[] = {
    {Py_tp_doc, (void *)"Weights(prefixes, words, pairs)\n\nWhat tokens weigh, and their fields."},
    {Py_tp_new, (void *)weights_new},
    {Py_tp_dealloc, (void *)weights_free},
    {Py_tp_methods, weights_methods},
    {Py_sq_length, (void *)weights_length},
    {0, NULL},
};

static PyType_Spec weights_spec = {"suffice.spam._scan.Weights", sizeof(Weights), 0, Py_TPFLAGS_DEFAULT, weights_slots};
