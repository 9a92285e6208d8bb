/* The loops over texts, words and tokens that the spam filter spends its time in. Fallbacks: see `scan.py`.

   Texts are given as UTF-8, in which the order of bytes is the order of characters. Hashes are SipHash-1-3 with a key
   of the process, so that no message can be made whose words collide. */

/* one build for every CPython from 3.11 on; formats with "#" are left out, for they differ between versions */
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* each uses those before it */
/* clang-format off */
#include "_scan_slices.h"
#include "_scan_letters.h"
#include "_scan_words.h"
#include "_scan_tokens.h"
#include "_scan_json.h"
#include "_scan_weights.h"
#include "_scan_tags.h"
#include "_scan_html.h"
#include "_scan_shape.h"
/* clang-format on */

static int start(PyObject *module) {
    uint64_t *keys[] = {&key_low, &key_high};
    for (int i = 0; i < 2; i++) { /* Python's own hashes, which differ from process to process */
        PyObject *name = PyUnicode_FromFormat("suffice.spam._scan %d", i);
        Py_hash_t hash = name ? PyObject_Hash(name) : -1;
        Py_XDECREF(name);
        if (hash == -1) return -1;
        *keys[i] = (uint64_t)hash;
    }
    for (const char *letter = "abcdefghijklmnopqrstuvwxyz"; *letter; letter++) kind_of[(unsigned char)*letter] = LETTER;
    for (const char *digit = "0123456789"; *digit; digit++) kind_of[(unsigned char)*digit] = DIGIT;
    for (const char *sign = "'.,@$!|+-"; *sign; sign++) kind_of[(unsigned char)*sign] = JOINS;
    kind_of['$'] |= MONEY;
    kind_of['!'] |= ENDS;
    kind_of['%'] = ENDS;
    for (const char *sign = " .-_*/|"; *sign; sign++) kind_of[(unsigned char)*sign] |= SEPARATES;
    for (const char *sign = "013457|@$!+", *letter = "oieastlasit"; *sign; sign++, letter++)
        disguised_as[(unsigned char)*sign] = *letter;
    PyObject *type = PyType_FromSpec(&weights_spec);
    if (type == NULL || PyModule_AddObjectRef(module, "Weights", type) < 0) {
        Py_XDECREF(type);
        return -1;
    }
    Py_DECREF(type);
    return 0;
}

static PyMethodDef functions[] = {
    {"words", words, METH_VARARGS, words_doc},
    {"sorted_lines", sorted_lines, METH_O, sorted_lines_doc},
    {"count", count, METH_O, count_doc},
    {"json_rows", json_rows, METH_VARARGS, json_rows_doc},
    {"html", html, METH_VARARGS, html_doc},
    {"shape", shape, METH_O, shape_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, (void *)start}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_scan", "Words and tokens, quickly.", 0, functions, module_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__scan(void) { return PyModuleDef_Init(&definition); }
