/* Documents as counts of words: the words of a text, a hash table that numbers them, and the counts of each document.
 *
 * A text is documents in UTF-8, each followed by a byte that is no letter. A word is lowered in ASCII only; Python
 * lowers documents with other letters before they come here. The table belongs to the caller, whose arrays it fills, so
 * that one table serves many texts: if an array is full, a kernel returns which (WORDS_FULL, STORE_FULL, BAGS_FULL), and
 * is called again with a longer one. */
#include "common.h"

/* A distinct word or n-gram. The first eight bytes of a word are its head, so that the text of short words, which are
 * most, is not needed to compare them. An n-gram is the numbers of the (n-1)-gram and of the word that it ends in. */
typedef struct {
    uint64_t head;  /* the first bytes of a word, lowest first; the two numbers of an n-gram */
    uint64_t hash;  /* of its text or its numbers */
    int64_t begin;  /* of its text in the store, of words only */
    int32_t length; /* of its text in bytes; -n for an n-gram */
    int32_t place;  /* of its count in the bags, valid if that has the word's number */
} Entry;

typedef struct {
    Entry *entries;
    int64_t n_entries, *slots, mask;
    uint8_t *store;
    int64_t stored;
    uint64_t secret, factor;
} Table;

/* A word of a text; several are found, and their slots prefetched, before the first of them is looked up. */
enum { WORDS_AHEAD = 32 };
typedef struct {
    int64_t begin, length;
    uint64_t head, hash;
} Word;

/* The bags of documents; the last one begins at `row`. */
typedef struct {
    int32_t *indices, *counts;
    int64_t row, used;
} Bags;

/* Return the upper half of a product xor the lower one. */
INLINE uint64_t folded(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32, low = a0 * b0;
    const uint64_t middle = a1 * b0 + (low >> 32), other = a0 * b1 + (uint32_t)middle;
    return (a1 * b1 + (middle >> 32) + (other >> 32)) ^ ((other << 32) | (uint32_t)low);
#endif
}

/* Return up to eight bytes as a number, the first one lowest; eight can be read. Capitals become small if `lowercase`:
 * adding to the lower seven bits of each byte carries into the eighth if it is at least A, or beyond Z. */
INLINE uint64_t bytes_at(const uint8_t *text, int64_t length, int64_t lowercase) {
    const uint64_t ones = 0x0101010101010101u;
    uint64_t x;
    memcpy(&x, text, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    if (length < 8) x &= (UINT64_C(1) << 8 * length) - 1;
    if (lowercase) {
        const uint64_t seven = x & 0x7F * ones, from_a = seven + (0x80 - 'A') * ones,
                       beyond_z = seven + (0x7F - 'Z') * ones;
        x |= ((from_a ^ beyond_z) & ~x & 0x80 * ones) >> 2;
    }
    return x;
}

/* Write up to eight bytes; there is room for eight. */
INLINE void put_bytes(uint8_t *to, uint64_t x) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    memcpy(to, &x, sizeof x);
}

/* Return the hash of a word. Who writes documents does not know the secret and the factor, so cannot make words collide. */
INLINE uint64_t hash_of(const Table *t, const uint8_t *text, int64_t length, uint64_t head, int64_t lowercase) {
    uint64_t hash = folded(head ^ t->secret ^ (uint64_t)length, t->factor);
    for (int64_t at = 8; at < length; at += 8)
        hash = folded(hash ^ bytes_at(text + at, length - at, lowercase), t->factor);
    return hash;
}

/* Return whether the bytes of a word after the eighth are those of an entry. */
INLINE int rest_is(const Table *t, const Entry *entry, const uint8_t *text, int64_t length, int64_t lowercase) {
    if (entry->begin < 0 || entry->begin > t->stored - length) return 0;
    for (int64_t at = 8; at < length; at += 8)
        if (bytes_at(text + at, length - at, lowercase) != bytes_at(t->store + entry->begin + at, length - at, 0))
            return 0;
    return 1;
}

/* Return the number of a word, or of an n-gram if the length is negative; a new one is entered. There must be room. */
INLINE int32_t number_of(Table *t, const uint8_t *text, int64_t length, uint64_t head, uint64_t hash,
                         int64_t lowercase) {
    int64_t at = (int64_t)hash & t->mask;
    for (; t->slots[at]; at = (at + 1) & t->mask) {
        const uint64_t slot = (uint64_t)t->slots[at];
        const int64_t number = (int64_t)(uint32_t)slot - 1;
        if (slot >> 32 != hash >> 32 || !within(number, t->n_entries)) continue;
        const Entry *entry = t->entries + number;
        if (entry->head == head && entry->length == length &&
            (length <= 8 || rest_is(t, entry, text, length, lowercase)))
            return (int32_t)number;
    }
    t->entries[t->n_entries] = (Entry){head, hash, t->stored, (int32_t)length, -1};
    if (length >= 0) {
        for (int64_t done = 0; done < length; done += 8)
            put_bytes(t->store + t->stored + done, bytes_at(text + done, length - done, lowercase));
        t->stored += length;
        t->store[t->stored++] = 0;
    }
    t->slots[at] = (int64_t)((hash >> 32 << 32) | (uint64_t)(t->n_entries + 1));
    return (int32_t)t->n_entries++;
}

/* The search for words in a document: the edges of the runs of letters in 64 bytes at a time. */
typedef struct {
    const uint8_t *text, *letters;
    int64_t block, end; /* where the block begins, and where the document ends */
    uint64_t
        edges; /* one bit per byte of the block: whether a run of letters begins or ends there, and is yet to be read */
    int64_t wide_end; /* of the last character beyond ASCII, which may lie in the next block */
    int inside, wide; /* whether a run has begun, and whether that character is a letter */
} Search;

/* Return the highest bit of each of eight bytes as one byte, the first one lowest. */
INLINE uint64_t highest_bits(uint64_t x) { return (x >> 7 & 0x0101010101010101u) * 0x0102040810204080u >> 56; }

/* Return which of eight bytes are letters, digits or underscores of ASCII, by their highest bit. */
INLINE uint64_t ascii_letters(uint64_t x) {
    const uint64_t ones = 0x0101010101010101u, seven = x & 0x7F * ones, small = seven | 0x20 * ones;
    const uint64_t alphabet = (small + (0x80 - 'a') * ones) & ~(small + (0x7F - 'z') * ones);
    const uint64_t digits = (seven + (0x80 - '0') * ones) & ~(seven + (0x7F - '9') * ones);
    const uint64_t underscores = ~((seven ^ '_' * ones) + 0x7F * ones);
    return (alphabet | digits | underscores) & ~x & 0x80 * ones;
}

/* Return the number of bytes of a character by its first one. */
INLINE int64_t wide_length(uint8_t first) { return first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4; }

/* Return which bytes of a block belong to letters beyond ASCII; `wide` are those that are not ASCII. */
static uint64_t wide_letters(Search *s, uint64_t wide) {
    uint64_t found = 0;
    for (; wide; wide &= wide - 1) {
        const int64_t bit = __builtin_ctzll(wide), at = s->block + bit;
        if (at >= s->wide_end) {
            const uint8_t *text = s->text + at;
            const int64_t length = wide_length(text[0]);
            uint32_t code = text[0] & 0x7Fu >> length;
            for (int64_t i = 1; i < length; i++) code = code << 6 | (text[i] & 0x3F);
            s->wide = s->letters && code < 8 * LETTERS_BYTES && (s->letters[code >> 3] >> (code & 7) & 1);
            s->wide_end = at + length;
        }
        found |= (uint64_t)s->wide << bit;
    }
    return found;
}

/* Find the edges of the runs of letters in the block that begins at s->block. */
INLINE void find_edges(Search *s) {
    const int64_t left = s->end - s->block;
    uint64_t letters = 0, wide = 0;
    for (int64_t at = 0; at < 64 && at < left; at += 8) {
        const uint64_t x = bytes_at(s->text + s->block + at, 8, 0);
        letters |= highest_bits(ascii_letters(x)) << at;
        wide |= highest_bits(x) << at;
    }
    const uint64_t before_end = left >= 64 ? ~UINT64_C(0) : left > 0 ? (UINT64_C(1) << left) - 1 : 0;
    if (wide & before_end) letters |= wide_letters(s, wide & before_end);
    letters &= before_end;
    s->edges = letters ^ (letters << 1 | (uint64_t)s->inside);
}

/* Return whether there is another word of two characters or more, and set where it begins and ends. */
INLINE int next_word(Search *s, int64_t *begin, int64_t *end) {
    for (;;) {
        while (s->edges) {
            const int64_t at = s->block + __builtin_ctzll(s->edges);
            s->edges &= s->edges - 1;
            s->inside ^= 1;
            if (s->inside)
                *begin = at;
            else if (at - *begin >= 2 && at - *begin > (s->text[*begin] < 0x80 ? 1 : wide_length(s->text[*begin]))) {
                *end = at;
                return 1;
            }
        }
        s->block += 64;
        if (s->block >= s->end && !s->inside) return 0;
        find_edges(s);
    }
}

/* Count a word in the last bag; the place of its entry may be left from another bag. */
INLINE void count_once(Bags *bags, Entry *entry, int32_t number) {
    const int64_t place = entry->place;
    if (place >= bags->row && place < bags->used && bags->indices[place] == number)
        bags->counts[place]++;
    else {
        bags->indices[bags->used] = number;
        bags->counts[bags->used] = 1;
        entry->place = (int32_t)bags->used++;
    }
}

/* Count the words and n-grams of documents. Document i ends at ends[i], and the next one begins one byte later; its
 * words are found by the rule, or each ends with the byte separators[i] if that is not negative. The bag of document
 * i is the cells indptr[i] to indptr[i + 1] of `indices` and `counts`, in the order in which its words first occur;
 * n-grams of `least` to `most` words are counted, in the order of their ends. `grams` are the numbers of the n-grams that
 * end in the last word, by n. `letters` has one bit per character of Unicode. `state` is the document, the place in it,
 * the words read of it, the cells of bags, the entries and the bytes stored: where the kernel begins, and how far it
 * came. NumPy fallback: _count_in_python in suffice.tables.words. */
EXPORT int64_t NAME(count_words)(const uint8_t *text, int64_t size, const int64_t *ends, const int32_t *separators,
                                 int64_t n, int64_t lowercase, int64_t least, int64_t most, const uint8_t *letters,
                                 const int64_t *secret, int64_t *entries, int64_t capacity, int64_t *slots,
                                 int64_t width, uint8_t *store, int64_t extent, int64_t *indptr, int32_t *indices,
                                 int32_t *counts, int64_t room, int32_t *grams, int64_t *state) {
    int64_t i = state[0], at = state[1], words = state[2];
    Bags bags = {indices, counts, 0, state[3]};
    Table t = {(Entry *)entries, state[4], slots, width - 1, store, state[5], (uint64_t)secret[0], (uint64_t)secret[1]};
    if (!within(i, n + 1) || at < 0 || words < 0 || !within(bags.used, room + 1) ||
        !within(t.n_entries, capacity + 1) || !within(t.stored, extent + 1) || width & (width - 1) ||
        capacity >= width || least < 1 || least > most || capacity > INT32_MAX || room > INT32_MAX ||
        !within(indptr[i], bags.used + 1))
        return OUT_OF_RANGE;
    int64_t full = 0;
    for (; i < n; i++, words = 0) {
        const int64_t end = ends[i];
        const int given = separators[i] >= 0;
        const int64_t lower = lowercase && !given;
        bags.row = indptr[i];
        if (end < at || end > size) return OUT_OF_RANGE;
        Search search = {text, letters, at - 64, end, 0, 0, 0, 0};
        int64_t n_ahead;
        do {
            Word ahead[WORDS_AHEAD];
            for (n_ahead = 0; n_ahead < WORDS_AHEAD; n_ahead++) {
                int64_t word_end;
                if (given) {
                    if (at >= end) break;
                    const uint8_t *found = memchr(text + at, separators[i], (size_t)(end - at));
                    word_end = found ? found - text : end;
                } else if (!next_word(&search, &at, &word_end))
                    break;
                const int64_t length = word_end - at;
                if (length >= INT32_MAX) return OUT_OF_RANGE;
                const uint64_t head = length ? bytes_at(text + at, length, lower) : 0;
                const uint64_t hash = hash_of(&t, text + at, length, head, lower);
                __builtin_prefetch(slots + (hash & (uint64_t)t.mask));
                ahead[n_ahead] = (Word){at, length, head, hash};
                at = word_end + given;
            }
            for (int64_t next = 0; next < n_ahead; next++) {
                const Word *w = ahead + next;
                full = (t.n_entries + most > capacity ? WORDS_FULL : 0) |
                       (t.stored + w->length + 8 > extent ? STORE_FULL : 0) | (bags.used + most > room ? BAGS_FULL : 0);
                if (full) {
                    at = w->begin;
                    goto stop;
                }
                int32_t longer = number_of(&t, text + w->begin, w->length, w->head, w->hash, lower);
                const int32_t word = longer;
                for (int64_t level = 1;; level++) {
                    if (level >= least) count_once(&bags, t.entries + longer, longer);
                    const int32_t shorter = grams[level - 1]; /* of as many words, up to the one before */
                    grams[level - 1] = longer;
                    if (level == most || level > words) break;
                    const uint64_t pair = (uint64_t)(uint32_t)shorter << 32 | (uint32_t)word;
                    longer = number_of(&t, 0, -level - 1, pair, folded(pair ^ t.secret, t.factor), 0);
                }
                words++;
            }
        } while (n_ahead == WORDS_AHEAD);
        at = end + 1;
        indptr[i + 1] = bags.used;
    }
stop:
    state[0] = i, state[1] = at, state[2] = words, state[3] = bags.used, state[4] = t.n_entries, state[5] = t.stored;
    return full;
}

/* Enter n words in slots, which must be 0, after the table has grown. NumPy fallback: none, since only count_words
 * needs it. */
EXPORT int64_t NAME(enter_words)(const int64_t *entries, int64_t capacity, int64_t n, int64_t *slots, int64_t width) {
    if (n > capacity || n >= width || width & (width - 1)) return OUT_OF_RANGE;
    for (int64_t number = 0; number < n; number++) {
        const uint64_t hash = ((const Entry *)entries)[number].hash;
        int64_t at = (int64_t)hash & (width - 1);
        while (slots[at]) at = (at + 1) & (width - 1);
        slots[at] = (int64_t)((hash >> 32 << 32) | (uint64_t)(number + 1));
    }
    return 0;
}

/* out[i] = FNV-1a of the text of entry i, for i from `first` to n; n-grams have spaces between their words. It can be
 * continued at the end of a text, so the hash of an n-gram follows from that of its first words, which is in `out`.
 * NumPy fallback: word_buckets in suffice.tables.buckets. */
EXPORT int64_t NAME(hash_words)(const int64_t *entries, int64_t capacity, int64_t first, int64_t n,
                                const uint8_t *store, int64_t extent, int64_t *out) {
    if (first < 0 || n > capacity) return OUT_OF_RANGE;
    for (int64_t number = first; number < n; number++) {
        const Entry *entry = (const Entry *)entries + number, *word = entry;
        uint64_t hash = 0xCBF29CE484222325u;
        if (entry->length < 0) {
            const int64_t before = (int64_t)(entry->head >> 32), last = (int64_t)(uint32_t)entry->head;
            if (before >= number || last >= number) return OUT_OF_RANGE;
            hash = ((uint64_t)out[before] ^ ' ') * 0x100000001B3u;
            word = (const Entry *)entries + last;
        }
        if (word->length < 0 || word->begin < 0 || word->begin > extent - word->length) return OUT_OF_RANGE;
        const uint8_t *text = store + word->begin;
        for (int32_t i = 0; i < word->length; i++) hash = (hash ^ text[i]) * 0x100000001B3u;
        out[number] = (int64_t)hash;
    }
    return 0;
}

/* Sort keys by their upper halves, by one byte of them at a time, or by insertion if there are few; `other` is scratch. */
INLINE uint64_t *sorted_keys(uint64_t *keys, uint64_t *other, int64_t n, uint64_t largest) {
    if (n <= 24) {
        for (int64_t i = 1; i < n; i++) {
            const uint64_t key = keys[i];
            int64_t at = i;
            for (; at > 0 && keys[at - 1] > key; at--) keys[at] = keys[at - 1];
            keys[at] = key;
        }
        return keys;
    }
    for (int shift = 32; shift < 64 && largest >> shift; shift += 8) {
        int64_t starts[257] = {0};
        for (int64_t i = 0; i < n; i++) starts[(keys[i] >> shift & 0xFF) + 1]++;
        for (int digit = 0; digit < 256; digit++) starts[digit + 1] += starts[digit];
        for (int64_t i = 0; i < n; i++) other[starts[keys[i] >> shift & 0xFF]++] = keys[i];
        uint64_t *const swapped = keys;
        keys = other;
        other = swapped;
    }
    return keys;
}

/* Replace the numbers in bags by mapping[number], sort each bag by them, and add up counts of the same number, in place;
 * unknown[i] is the sum of the counts whose new number is negative, which are left out. Returns the number of cells that
 * are left. `longest` is the size of the largest bag. NumPy fallback: _count_in_python in suffice.tables.words. */
EXPORT int64_t NAME(sort_bags)(int64_t *indptr, int64_t n, int32_t *indices, int32_t *counts, int64_t size,
                               const int32_t *mapping, int64_t m, int64_t longest, int64_t *keys, double *unknown) {
    int64_t used = 0, begin = indptr[0];
    for (int64_t i = 0; i < n; i++) {
        const int64_t end = indptr[i + 1];
        if (begin < used || end < begin || end > size || end - begin > longest) return OUT_OF_RANGE;
        uint64_t *found = (uint64_t *)keys, largest = 0;
        int64_t length = 0, left_out = 0;
        for (int64_t at = begin; at < end; at++) {
            if (!within(indices[at], m)) return OUT_OF_RANGE;
            const int32_t number = mapping[indices[at]];
            if (number < 0) {
                left_out += counts[at];
                continue;
            }
            const uint64_t key = (uint64_t)number << 32 | (uint32_t)counts[at];
            largest = key > largest ? key : largest;
            found[length++] = key;
        }
        found = sorted_keys(found, found + longest, length, largest);
        indptr[i] = used;
        for (int64_t at = 0; at < length; at++) {
            const int32_t number = (int32_t)(found[at] >> 32), count = (int32_t)(uint32_t)found[at];
            if (used > indptr[i] && indices[used - 1] == number)
                counts[used - 1] += count;
            else {
                indices[used] = number;
                counts[used++] = count;
            }
        }
        unknown[i] = (double)left_out;
        begin = end;
    }
    indptr[n] = used;
    return used;
}
