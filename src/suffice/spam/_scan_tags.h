/* Tags of HTML with their attributes and links, as the patterns of html.py find them. */

static inline char in_lower_case(char letter) {
    return letter >= 'A' && letter <= 'Z' ? (char)(letter + 'a' - 'A') : letter;
}

static inline int is_ascii_letter(char letter) {
    letter = in_lower_case(letter);
    return letter >= 'a' && letter <= 'z';
}

static inline int is_ascii_alphanumeric(char letter) {
    return is_ascii_letter(letter) || (letter >= '0' && letter <= '9');
}

/* Return whether `\s` of Python's re matches a character of ASCII. */
static inline int is_ascii_space(char letter) {
    return letter == ' ' || (letter >= '\t' && letter <= '\r') || (letter >= 0x1c && letter <= 0x1f);
}

static const char *skip_space(const char *at, const char *end) {
    while (at < end && is_ascii_space(*at)) at++;
    return at;
}

/* Return whether a text begins with a word, which is given in lower case. */
static int begins_with(const char *at, const char *end, const char *word, size_t length) {
    if ((size_t)(end - at) < length) return 0;
    for (size_t i = 0; i < length; i++)
        if (in_lower_case(at[i]) != word[i]) return 0;
    return 1;
}

typedef struct {
    const char *begin, *stop; /* from "<" until behind the tag, or behind an element whose contents are not shown */
    const char *name, *attributes, *close; /* where each begins; `close` is at ">" */
    int is_closing;
} Tag;

/* Read the tag at "<", which is no comment; return 0 if it is none, and then only `stop` is set: no tag begins before. */
static int read_tag_at(const char *at, const char *end, Tag *tag) {
    const char *name = at + 1, *close = name;
    tag->stop = name;
    if (name == end || !(is_ascii_letter(*name) || *name == '!' || *name == '?' || *name == '/')) return 0;
    while (close < end && *close != '<' && *close != '>') close++;
    if (close == end || *close == '<') {
        tag->stop = close;
        return 0;
    }
    tag->begin = at;
    tag->stop = close + 1;
    tag->close = close;
    tag->is_closing = *name == '/';
    tag->name = tag->attributes = name + tag->is_closing;
    if (is_ascii_letter(*tag->name)) /* else it is no element, and has no name */
        while (is_ascii_alphanumeric(*tag->attributes)) tag->attributes++;
    return 1;
}

/* Return the end of the comment that begins at `at`, and set where its text ends. */
static const char *end_of_comment(const char *at, const char *end, const char **text_end) {
    for (const char *from = at + 2, *close = from; (close = memchr(close, '>', (size_t)(end - close))) != NULL; close++)
        if (close - from >= 2 && close[-1] == '-' && close[-2] == '-') {
            *text_end = close - 2 > at + 4 ? close - 2 : at + 4; /* the dashes of <!--> are both ends of it */
            return close + 1;
        }
    return *text_end = end;
}

/* Return the end of an element whose contents are not shown, from behind its tag on, and set where its text ends. */
static const char *end_of_contents(const char *at, const char *end, const char *name, size_t length,
                                   const char **text_end) {
    while ((at = memchr(at, '<', (size_t)(end - at))) != NULL) {
        const char *close = at + 2;
        if (close <= end && at[1] == '/' && begins_with(close, end, name, length)) {
            *text_end = at;
            for (close += length; close < end && *close != '<' && *close != '>'; close++);
            return close < end && *close == '>' ? close + 1 : close;
        }
        at++;
    }
    return *text_end = end;
}

enum { HOLDS_LINK = 1, HOLDS_STYLE = 2, HOLDS_FOREIGN = 4 };

/* Return the length of the word that a link follows, such as href, or 0. */
static size_t linking_word(const char *at, const char *end) {
    switch (in_lower_case(*at)) {
        case 'a': return begins_with(at, end, "action", 6) ? 6 : 0;
        case 'b': return begins_with(at, end, "background", 10) ? 10 : 0;
        case 'h': return begins_with(at, end, "href", 4) ? 4 : 0;
        case 's': return begins_with(at, end, "src", 3) ? 3 : 0;
        default: return 0;
    }
}

/* Return whether a word begins here that may change visibility. */
static int is_styling_word(const char *at, const char *end) {
    switch (in_lower_case(*at)) {
        case 'b': return begins_with(at, end, "background", 10);
        case 'c': return begins_with(at, end, "color", 5);
        case 'h': return begins_with(at, end, "hidden", 6);
        case 's': return begins_with(at, end, "style", 5);
        default: return 0;
    }
}

/* Return what attributes may hold: links, what changes visibility, and characters beyond ASCII. */
static int contents_of_attributes(const char *at, const char *end) {
    int found = 0;
    for (; at < end; at++) {
        if ((unsigned char)*at >= 0x80) found |= HOLDS_FOREIGN;
        if (linking_word(at, end)) found |= HOLDS_LINK;
        if (is_styling_word(at, end)) found |= HOLDS_STYLE;
    }
    return found;
}

/* Return the next link of attributes in ASCII and go on behind it, NULL after the last one. */
static const char *next_link(const char **at, const char *end, size_t *length) {
    for (const char *begin = *at; begin < end; begin++) {
        size_t word = linking_word(begin, end);
        if (word == 0) continue;
        const char *link = skip_space(begin + word, end);
        if (link == end || *link != '=') continue;
        link = skip_space(link + 1, end);
        char quote = link < end && (*link == '"' || *link == '\'') ? *link : 0;
        if (quote) link = skip_space(link + 1, end);
        const char *stop = link;
        while (stop < end && (quote ? *stop != quote : !is_ascii_space(*stop) && *stop != '"' && *stop != '\'')) stop++;
        if (stop == link) continue;
        *at = stop;
        *length = (size_t)(stop - link);
        return link;
    }
    return NULL;
}

/* Return whether a browser follows a link in ASCII exactly as it is written. */
static int is_followed_as_written(const char *link, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (link[i] == '&' || link[i] == '\\' || link[i] == '\t' || link[i] == '\r' || link[i] == '\n') return 0;
    return !is_ascii_space(link[length - 1]);
}
