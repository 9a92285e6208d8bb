/* What tokens weigh, kept between messages. */

enum { MOST_FIELDS = 64 };

typedef struct {
    PyObject_HEAD Tokens tokens;
    size_t filled;   /* so many entries have their weight */
    Tokens prefixes; /* of the fields */
    unsigned int words, pairs;
} Weights;

static PyObject *weights_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
    PyObject *prefixes, *key, *value;
    unsigned int words, pairs;
    static char *keywords[] = {"prefixes", "words", "pairs", NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "O!II", keywords, &PyDict_Type, &prefixes, &words, &pairs))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Weights *self = (Weights *)allocate(type, 0);
    if (self == NULL) return NULL;
    self->words = words;
    self->pairs = pairs;
    for (Py_ssize_t position = 0; PyDict_Next(prefixes, &position, &key, &value);) {
        Py_ssize_t length;
        const char *text = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, &length) : NULL;
        unsigned long field = PyLong_Check(value) ? PyLong_AsUnsignedLong(value) : MOST_FIELDS;
        Entry *entry = text && field < MOST_FIELDS ? find_or_add(&self->prefixes, text, (size_t)length) : NULL;
        if (entry == NULL) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "prefixes must map text to numbers of fields");
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

static void weights_free(PyObject *object) {
    Weights *self = (Weights *)object;
    PyTypeObject *type = Py_TYPE(object);
    clear_tokens(&self->tokens);
    clear_tokens(&self->prefixes);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static uint32_t field_of(const Weights *self, const char *text, size_t length) {
    size_t slot;
    const char *colon = memchr(text, ':', length);
    if (colon == NULL) return memchr(text, ' ', length) ? self->pairs : self->words;
    size_t prefix = (size_t)(colon - text);
    const Entry *entry = find(&self->prefixes, text, prefix, hash_of(text, prefix), &slot);
    return entry ? entry->field : self->words;
}

PyDoc_STRVAR(add_doc, "add(messages) -> (JSON, number)\n\n"
                      "Tokens of messages, lines each, that are not known yet, sorted; `fill` is to follow.");

static PyObject *weights_add(PyObject *object, PyObject *messages) {
    Weights *self = (Weights *)object;
    Tokens *tokens = &self->tokens;
    PyObject *lines, *result = NULL, *iterator = PyObject_GetIter(messages);
    Buffer buffer = {0};
    Slice *slices = NULL;
    Entry *sorted = NULL;
    size_t slot = 0;
    if (iterator == NULL) return NULL;
    while ((lines = PyIter_Next(iterator)) != NULL) {
        const char *end = NULL, *at = lines_of(lines, &end);
        if (!PyErr_Occurred() && add_lines(tokens, at, end) < 0) PyErr_NoMemory();
        Py_DECREF(lines);
        if (PyErr_Occurred()) goto done;
    }
    size_t from = self->filled, new_count = tokens->count - from;
    if (PyErr_Occurred() || (slices = sorted_entries(tokens, from)) == NULL || reserve(&buffer, 2) < 0) goto done;
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
        if (add_quoted(&buffer, slices[i].text, slices[i].length) < 0) goto done;
    }
    if (reserve(&buffer, 1) < 0) goto done;
    buffer.text[buffer.size++] = ']';
    result =
        Py_BuildValue("Nn", PyUnicode_FromStringAndSize(buffer.text, (Py_ssize_t)buffer.size), (Py_ssize_t)new_count);
    if (result == NULL) goto done;
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

static PyObject *weights_fill(PyObject *object, PyObject *given) {
    Weights *self = (Weights *)object;
    Py_buffer weights;
    if (PyObject_GetBuffer(given, &weights, PyBUF_SIMPLE) < 0) return NULL;
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
static double factor(double side, double most) { return side > most ? most / side : 1.0; }

/* Return the sum of numbers, correctly rounded as that of math.fsum; NaN where this is not certain.

   `high` is the rounded sum, and `low` sums what rounding took from it, with an error of less than `doubt`. */
static double rounded_sum(const double *numbers, size_t count) {
    double high = 0.0, low = 0.0, lost = 0.0;
    for (size_t i = 0; i < count; i++) {
        double sum = high + numbers[i], added = sum - high;
        double error = (high - (sum - added)) + (numbers[i] - added);
        high = sum;
        low += error;
        lost += fabs(error);
    }
    double doubt = 2.0 * (double)count * DBL_EPSILON * lost;
    double least = high + (low - doubt), most = high + (low + doubt);
    return least == most ? least : NAN;
}

/* Set what a token of weight w adds to the log-odds, over w cubed, by the side and the field of the token; -1 with an error.

   `energy` holds the sums of squared weights against spam and towards it; see scoring.py for the formulas. */
static int find_scales(PyObject *field_weights, double temper, double majority, double allowed,
                       double energy[2][MOST_FIELDS], double scale[2][MOST_FIELDS]) {
    for (Py_ssize_t i = 0; i < PyList_Size(field_weights) && i < MOST_FIELDS; i++) {
        double weight = PyFloat_AsDouble(PyList_GetItem(field_weights, i));
        if (weight == -1.0 && PyErr_Occurred()) return -1;
        double minus = energy[0][i], plus = energy[1][i];
        double a_minus = factor(minus, majority * plus + allowed), a_plus = factor(plus, majority * minus + allowed);
        double total = plus + minus, part = 0.0;
        if (total > 0.0) part = weight * total / ((a_plus * plus + a_minus * minus) * (total + temper));
        scale[0][i] = a_minus * part;
        scale[1][i] = a_plus * part;
    }
    return 0;
}

PyDoc_STRVAR(evidence_doc,
             "evidence(lines, temper, majority, allowed, field_weights) -> (lines, doubles, sum) | None\n\n"
             "The tokens of a message that some message learned holds, what each adds to the log-odds, and "
             "the sum of that, or NaN where its rounding is not certain; None if a token has no weight yet.");

static PyObject *weights_evidence(PyObject *object, PyObject *arguments) {
    const Weights *self = (Weights *)object;
    const Tokens *tokens = &self->tokens;
    PyObject *lines, *field_weights, *result = NULL;
    double temper, majority, allowed;
    double energy[2][MOST_FIELDS] = {{0.0}}, scale[2][MOST_FIELDS] = {{0.0}}; /* against and towards spam */
    if (!PyArg_ParseTuple(arguments, "UdddO!", &lines, &temper, &majority, &allowed, &PyList_Type, &field_weights))
        return NULL;
    const char *end = NULL, *at = lines_of(lines, &end), *begin = at;
    if (PyErr_Occurred()) return NULL;
    size_t slot, most = begin ? 1 : 0, seen = 0;
    for (const char *each = begin; each && (each = memchr(each, '\n', (size_t)(end - each))) != NULL; each++) most++;
    struct {
        double weight;
        uint32_t field;
    } *found = PyMem_Malloc((most + 1) * sizeof *found);
    double *parts = PyMem_Malloc((most + 1) * sizeof *parts);
    char *text = PyMem_Malloc((begin ? (size_t)(end - begin) : 0) + 1), *to = text;
    if (found == NULL || parts == NULL || text == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Line group[GROUP];
    for (int count; (count = next_group(tokens, &at, end, group)) > 0;)
        for (int i = 0; i < count; i++) {
            const Entry *entry = find(tokens, group[i].text, group[i].length, group[i].hash, &slot);
            if (entry == NULL || (size_t)(entry - tokens->entries) >= self->filled) {
                result = Py_NewRef(Py_None);
                goto done;
            }
            double weight = entry->value.weight;
            if (isnan(weight)) continue;
            energy[weight > 0.0][entry->field] += weight * weight;
            found[seen].weight = weight;
            found[seen].field = entry->field;
            if (seen++) *to++ = '\n';
            memcpy(to, group[i].text, group[i].length);
            to += group[i].length;
        }
    if (find_scales(field_weights, temper, majority, allowed, energy, scale) < 0) goto done;
    for (size_t i = 0; i < seen; i++) {
        double weight = found[i].weight;
        parts[i] = weight * weight * weight * scale[weight > 0.0][found[i].field];
    }
    result = Py_BuildValue("NNd", PyUnicode_DecodeUTF8(text, to - text, NULL),
                           PyBytes_FromStringAndSize((char *)parts, (Py_ssize_t)(seen * sizeof *parts)),
                           rounded_sum(parts, seen));
done:
    PyMem_Free(found);
    PyMem_Free(parts);
    PyMem_Free(text);
    return result;
}

static Py_ssize_t weights_length(PyObject *object) { return (Py_ssize_t)((Weights *)object)->tokens.count; }

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
