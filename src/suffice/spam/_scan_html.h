/* The visible and the hidden text of HTML, its links and its elements.

   Attributes that may change visibility are rare and have many forms: html.py reads them. */

enum {
    INLINE = 1,
    VOID = 2,
    UNSEEN = 4,
    MET = 1 << 16
}; /* kinds of elements as in html.py, and one met in this text */
enum { MOST_OPEN = 100, LINK_LIMIT = 2000, COLOUR_DISTANCE = 24 }; /* as in html.py */
enum { UNKNOWN_COLOUR = -1, WHITE = 0xffffff };

typedef struct {
    int is_hidden, has_background;
    int32_t background, ink; /* 0xrrggbb, or UNKNOWN_COLOUR */
} Style;

/* An open element that changes visibility or background, and both outside of it. */
typedef struct {
    uint32_t name, depth; /* `depth` counts the open elements of that name */
    int is_hidden;
    int32_t background;
} Open;

typedef struct {
    PyObject *kinds, *read_tag, *follow; /* of html.py */
    PyObject *links, *elements;
    Tokens names;             /* of elements in lower case, with their kinds as field */
    Buffer lowered, shown[2]; /* the last name; visible and hidden text */
    Open open[MOST_OPEN];
    int open_count, is_hidden;
    int32_t background;
} Page;

static int add_text(Buffer *buffer, const char *text, size_t length) {
    if (length == 0) return 0;
    if (reserve(buffer, length) < 0) return -1;
    memcpy(buffer->text + buffer->size, text, length);
    buffer->size += length;
    return 0;
}

/* Add text that is not shown, and a space behind it. */
static int add_unseen(Page *page, const char *text, const char *end) {
    return add_text(&page->shown[1], text, (size_t)(end - text)) < 0 ? -1 : add_text(&page->shown[1], " ", 1);
}

/* Find the number of the name of an element; -1 with an error. */
static int find_name(Page *page, const Tag *tag, uint32_t *number) {
    size_t length = (size_t)(tag->attributes - tag->name), known = page->names.count;
    page->lowered.size = 0;
    if (reserve(&page->lowered, length) < 0) return -1;
    for (size_t i = 0; i < length; i++) page->lowered.text[i] = in_lower_case(tag->name[i]);
    Entry *entry = find_or_add(&page->names, page->lowered.text, length);
    if (entry == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *number = (uint32_t)(entry - page->names.entries);
    if (page->names.count == known) return 0;
    PyObject *name = PyUnicode_FromStringAndSize(page->lowered.text, (Py_ssize_t)length);
    PyObject *kind = name ? PyDict_GetItemWithError(page->kinds, name) : NULL;
    entry->field = kind ? (uint32_t)PyLong_AsUnsignedLong(kind) : 0;
    Py_XDECREF(name);
    return PyErr_Occurred() ? -1 : 0;
}

/* Set a colour from (red, green, blue) or None; -1 with an error. */
static int read_colour(PyObject *object, int32_t *colour) {
    int red, green, blue;
    *colour = UNKNOWN_COLOUR;
    if (object == Py_None) return 0;
    if (!PyTuple_Check(object) || !PyArg_ParseTuple(object, "iii", &red, &green, &blue)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a colour must be a tuple or None");
        return -1;
    }
    *colour = (int32_t)((red & 255) << 16 | (green & 255) << 8 | (blue & 255));
    return 0;
}

static int are_alike(int32_t ink, int32_t background) {
    int distance = 0;
    if (ink == UNKNOWN_COLOUR || background == UNKNOWN_COLOUR) return 0;
    for (int shift = 0; shift < 24; shift += 8) distance += abs((ink >> shift & 255) - (background >> shift & 255));
    return distance <= COLOUR_DISTANCE;
}

/* Enter an element; `style` is NULL if it is that of the element around it. */
static void open_element(Page *page, uint32_t name, const Style *style) {
    if (style && page->open_count < MOST_OPEN) {
        int32_t background = style->has_background ? style->background : page->background;
        int is_unseen = style->is_hidden || are_alike(style->ink, background);
        if (is_unseen || background != page->background) {
            page->open[page->open_count++] = (Open){name, 1, page->is_hidden, page->background};
            page->background = background;
            page->is_hidden |= is_unseen; /* an element inside a hidden one stays hidden */
            return;
        }
    }
    if (page->open_count && page->open[page->open_count - 1].name == name) page->open[page->open_count - 1].depth++;
}

/* Leave an element, and those inside it that were not closed. */
static void close_element(Page *page, uint32_t name) {
    int i = page->open_count;
    while (i-- > 0 && page->open[i].name != name);
    if (i < 0 || --page->open[i].depth > 0) return;
    page->is_hidden = page->open[i].is_hidden;
    page->background = page->open[i].background;
    page->open_count = i;
}

/* Let html.py read a tag, add its links, and enter its element; -1 with an error. */
static int open_by_python(Page *page, const Tag *tag, uint32_t name) {
    PyObject *source = PyUnicode_DecodeUTF8(tag->begin, tag->stop - tag->begin, NULL);
    PyObject *found = source ? PyObject_CallFunctionObjArgs(page->read_tag, source, NULL) : NULL;
    PyObject *links, *style_object, *background, *ink;
    Style style = {0};
    int result = -1;
    Py_XDECREF(source);
    if (found == NULL) return -1;
    if (!PyTuple_Check(found))
        PyErr_SetString(PyExc_TypeError, "a tag must be a tuple");
    else if (PyArg_ParseTuple(found, "O!O", &PyTuple_Type, &links, &style_object)) {
        Py_ssize_t count = PyList_Size(page->links);
        if (style_object == Py_None)
            result = 0;
        else if (!PyTuple_Check(style_object))
            PyErr_SetString(PyExc_TypeError, "a style must be a tuple or None");
        else if (PyArg_ParseTuple(style_object, "ppOO", &style.is_hidden, &style.has_background, &background, &ink) &&
                 read_colour(background, &style.background) == 0)
            result = read_colour(ink, &style.ink);
        if (result == 0 && PyTuple_Size(links)) result = PyList_SetSlice(page->links, count, count, links);
        if (result == 0) open_element(page, name, style_object == Py_None ? NULL : &style);
    }
    Py_DECREF(found);
    return result;
}

/* Add the links of attributes in ASCII; -1 with an error. */
static int add_links(Page *page, const Tag *tag) {
    const char *link, *at = tag->attributes;
    size_t length;
    while ((link = next_link(&at, tag->close, &length)) != NULL) {
        PyObject *text = PyUnicode_FromStringAndSize(link, (Py_ssize_t)length);
        if (text != NULL && (length > LINK_LIMIT || !is_followed_as_written(link, length))) {
            PyObject *followed = PyObject_CallFunctionObjArgs(page->follow, text, NULL);
            Py_DECREF(text);
            text = followed;
        }
        if (append(page->links, text) < 0) return -1;
    }
    return 0;
}

/* Enter or leave the element of a tag, and set where the tag and what is not shown of the element end; -1 with an error. */
static int read_element(Page *page, Tag *tag, const char *end) {
    uint32_t name;
    if (find_name(page, tag, &name) < 0) return -1;
    Entry *entry = &page->names.entries[name];
    if (!(entry->field & INLINE) && add_text(&page->shown[page->is_hidden], "\n", 1) < 0) return -1;
    if (tag->is_closing) {
        close_element(page, name);
        return 0;
    }
    if (!(entry->field & MET)) {
        const char *text = page->names.text + entry->place;
        entry->field |= MET;
        if (append(page->elements, PyUnicode_FromStringAndSize(text, (Py_ssize_t)entry->length)) < 0) return -1;
    }
    if (entry->field & UNSEEN) {
        const char *begin = tag->stop, *text_end;
        tag->stop = end_of_contents(begin, end, page->names.text + entry->place, entry->length, &text_end);
        open_element(page, name, NULL);
        return add_unseen(page, begin, text_end);
    }
    int held = contents_of_attributes(tag->attributes, tag->close);
    if (held & HOLDS_FOREIGN || (held & HOLDS_STYLE && !(entry->field & VOID))) return open_by_python(page, tag, name);
    open_element(page, name, NULL);
    return held & HOLDS_LINK ? add_links(page, tag) : 0;
}

/* Read a whole text; -1 with an error. */
static int read_page(Page *page, const char *at, const char *end) {
    const char *from = at; /* text from here on is still to be added */
    while (at < end && (at = memchr(at, '<', (size_t)(end - at))) != NULL) {
        Tag tag = {0};
        int is_comment = end - at >= 4 && !memcmp(at, "<!--", 4);
        if (!is_comment && !read_tag_at(at, end, &tag)) {
            at = tag.stop;
            continue;
        }
        if (add_text(&page->shown[page->is_hidden], from, (size_t)(at - from)) < 0) return -1;
        if (is_comment) {
            const char *text_end;
            tag.stop = end_of_comment(at, end, &text_end);
            if (add_unseen(page, at + 4, text_end) < 0) return -1;
        } else if (tag.attributes > tag.name && read_element(page, &tag, end) < 0)
            return -1;
        from = at = tag.stop;
    }
    return add_text(&page->shown[page->is_hidden], from, (size_t)(end - from));
}

PyDoc_STRVAR(html_doc,
             "html(text, kinds, read_tag, follow) -> (visible, hidden, links, elements) | None\n\n"
             "Kinds of elements by name; read_tag returns (links, style) of a tag, follow a link as followed. "
             "None where the text cannot be encoded.");

static PyObject *html(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *text_object, *result = NULL;
    Py_ssize_t size;
    Page page = {.background = WHITE};
    if (!PyArg_ParseTuple(arguments, "UO!OO", &text_object, &PyDict_Type, &page.kinds, &page.read_tag, &page.follow))
        return NULL;
    const char *text = PyUnicode_AsUTF8AndSize(text_object, &size);
    if (text == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return NULL;
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    page.links = PyList_New(0);
    page.elements = PyList_New(0);
    if (page.links && page.elements && read_page(&page, text, text + size) == 0)
        result = Py_BuildValue("NNOO", PyUnicode_DecodeUTF8(page.shown[0].text, (Py_ssize_t)page.shown[0].size, NULL),
                               PyUnicode_DecodeUTF8(page.shown[1].text, (Py_ssize_t)page.shown[1].size, NULL),
                               page.links, page.elements);
    Py_XDECREF(page.links);
    Py_XDECREF(page.elements);
    clear_tokens(&page.names);
    PyMem_Free(page.lowered.text);
    PyMem_Free(page.shown[0].text);
    PyMem_Free(page.shown[1].text);
    return result;
}
