/* suffice-filter: a message from standard input to standard output, stamped by the daemon; does the work of
 * `suffice spam filter --daemon` without the time that Python takes to start.
 *
 * The message, or its first HEAD bytes, goes to the daemon, which sends it back with its stamps; the rest is copied. If
 * the daemon cannot be asked, or an option is not known here, `suffice spam filter` does the work. No error loses mail.
 */

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define HEAD ((size_t)16000000) /* as in pipe.py */
#define PIECE ((size_t)65536)

typedef struct {
    char *data;
    size_t size, room;
} Bytes;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Make room for a piece; 0 if there is no memory. */
static int grow(Bytes *bytes) {
    if (bytes->room - bytes->size >= PIECE) return 1;
    size_t room = 2 * bytes->room + PIECE;
    char *data = realloc(bytes->data, room);
    if (!data) return 0;
    bytes->data = data;
    bytes->room = room;
    return 1;
}

static int write_all(int to, const char *data, size_t size) {
    while (size) {
        ssize_t done = write(to, data, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return 0;
        data += done;
        size -= (size_t)done;
    }
    return 1;
}

static int copy_rest(int from, int to) {
    static char piece[PIECE];
    for (;;) {
        ssize_t got = read(from, piece, PIECE);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) return 1;
        if (got < 0 || !write_all(to, piece, (size_t)got)) return 0;
    }
}

/* Wait until a socket can be used; 0 when the time is over. */
static int wait_for(int socket, short events, double deadline) {
    for (;;) {
        double left = deadline - now();
        struct pollfd one = {socket, events, 0};
        int found = poll(&one, 1, left > 0 ? (int)(1e3 * left) + 1 : 0);
        if (found > 0) return 1;
        if (found == 0 || errno != EINTR) return 0;
    }
}

static int connect_unix(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return -1;
    strcpy(address.sun_path, path);
    int connection = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connection >= 0 && connect(connection, (struct sockaddr *)&address, sizeof address)) {
        close(connection);
        return -1;
    }
    return connection;
}

/* inet:PORT@HOST, as in serving/address.py */
static int connect_inet(const char *address) {
    char port[8] = "", host[64] = "127.0.0.1";
    if (!strncmp(address, "inet6:", 6)) strcpy(host, "::1");
    if (sscanf(address, "inet%*1[6]:%7[0-9]@%63s", port, host) < 1 &&
        sscanf(address, "inet:%7[0-9]@%63s", port, host) < 1)
        return -1;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *found;
    if (!strcmp(host, "localhost")) strcpy(host, "127.0.0.1");
    if (getaddrinfo(host, port, &hints, &found)) return -1;
    int connection = socket(found->ai_family, SOCK_STREAM, 0);
    if (connection >= 0 && connect(connection, found->ai_addr, found->ai_addrlen)) {
        close(connection);
        connection = -1;
    }
    freeaddrinfo(found);
    return connection;
}

/* As `running_daemon` in location.py. */
static int connect_daemon(const char *address) {
    static char own[256];
    if (!address) address = getenv("SUFFICE_SPAM_DAEMON");
    if (!address || !*address) {
        const char *folder = getenv("XDG_RUNTIME_DIR");
        if (folder && *folder && snprintf(own, sizeof own, "%s/suffice-spam.sock", folder) < (int)sizeof own &&
            !access(own, F_OK))
            return connect_unix(own);
        return connect_unix("/run/suffice/spam.sock");
    }
    if (!strncmp(address, "unix:", 5)) return connect_unix(address + 5);
    if (!strncmp(address, "local:", 6)) return connect_unix(address + 6);
    return connect_inet(address);
}

/* Send the message and read the answer; 0 if it does not come in time. */
static int converse(int connection, const char *head, const Bytes *message, Bytes *answer, double deadline) {
    const char *parts[] = {head, message->data};
    size_t sizes[] = {strlen(head), message->size};
    for (int part = 0; part < 2; part++)
        while (sizes[part]) {
            if (!wait_for(connection, POLLOUT, deadline)) return 0;
            ssize_t done = send(connection, parts[part], sizes[part], MSG_DONTWAIT);
            if (done < 0 && (errno == EINTR || errno == EAGAIN)) continue;
            if (done <= 0) return 0;
            parts[part] += done;
            sizes[part] -= (size_t)done;
        }
    for (;;) {
        if (!wait_for(connection, POLLIN, deadline) || !grow(answer)) return 0;
        ssize_t got = recv(connection, answer->data + answer->size, PIECE, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return 0;
        if (got == 0) return 1;
        answer->size += (size_t)got;
    }
}

/* Return where a header of the answer begins behind its name, NULL if it is not there. */
static const char *header(const char *answer, const char *end, const char *name) {
    size_t length = strlen(name);
    for (const char *line = answer; line && line < end;) {
        if ((size_t)(end - line) > length && !strncasecmp(line, name, length)) return line + length;
        line = memchr(line, '\n', (size_t)(end - line));
        if (line) line++;
    }
    return NULL;
}

/* Return where the stamped message begins, and set its length and the exit code; NULL if there is none. */
static const char *stamped(Bytes *answer, size_t *size, int *code) {
    if (!grow(answer)) return NULL;
    answer->data[answer->size] = 0;
    const char *end = strstr(answer->data, "\r\n\r\n"); /* headers hold no NUL */
    if (!end || strncmp(answer->data, "SPAMD/1.1 0 ", 12)) return NULL;
    end += 4;
    const char *label = header(answer->data, end, "Suffice: "), *length = header(answer->data, end, "Content-length: ");
    *size = answer->size - (size_t)(end - answer->data);
    if (!label || !length || strtoull(length, NULL, 10) != *size) return NULL;
    *code = !strncmp(label, "spam", 4) ? 0 : !strncmp(label, "ham", 3) ? 1 : !strncmp(label, "unsure", 6) ? 2 : 3;
    return end;
}

/* Become `suffice spam filter`, with what was read of the message in front of what is left. */
static int fall_back(const char *self, char **arguments, const Bytes *message, int is_all) {
    static char beside[4096];
    if (message->size || is_all) {
        int ends[2];
        pid_t child;
        if (pipe(ends) || (child = fork()) < 0) {
            fprintf(stderr, "error: the message is passed on as it is: %s\n", strerror(errno));
            if (write_all(1, message->data, message->size) && !is_all) copy_rest(0, 1);
            return 3;
        }
        if (child == 0) {
            close(ends[0]);
            signal(SIGPIPE, SIG_IGN);
            _exit(!(write_all(ends[1], message->data, message->size) && (is_all || copy_rest(0, ends[1]))));
        }
        close(ends[1]);
        dup2(ends[0], 0);
        close(ends[0]);
    }
    const char *slash = strrchr(self, '/');
    if (slash && snprintf(beside, sizeof beside, "%.*s/suffice", (int)(slash - self), self) < (int)sizeof beside)
        execv(beside, arguments);
    execvp("suffice", arguments);
    copy_rest(0, 1); /* not even that: the message goes on as it came */
    fprintf(stderr, "error: the message is passed on as it is: neither the daemon nor `suffice` can be run\n");
    return 3;
}

int main(int count, char **given) {
    static char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) snprintf(self, sizeof self, "%s", given[0]);
    const char *address = NULL;
    double seconds = 20.0;
    int no_exit_code = 0, is_known = 1;
    const char *wanted = "details";
    char **arguments = calloc((size_t)count + 3, sizeof *arguments); /* of the program that does the work otherwise */
    if (!arguments) return 75;
    int kept = 0;
    arguments[kept++] = "suffice";
    arguments[kept++] = "spam";
    arguments[kept++] = "filter";
    for (int place = 1; place < count; place++) {
        char *each = given[place];
        if (!strcmp(each, "--daemon")) continue;
        if (!strncmp(each, "--daemon=", 9)) {
            address = each + 9;
            continue;
        }
        arguments[kept++] = each;
        if (!strcmp(each, "-p") || !strcmp(each, "--no-exit-code"))
            no_exit_code = 1;
        else if (!strcmp(each, "--no-details"))
            wanted = "status";
        else if (!strcmp(each, "--timeout") && place + 1 < count)
            seconds = atof(arguments[kept++] = given[++place]);
        else if (!strncmp(each, "--timeout=", 10))
            seconds = atof(each + 10);
        else
            is_known = 0;
    }
    signal(SIGPIPE, SIG_IGN);
    Bytes message = {0}, answer = {0};
    int is_all = 0;
    while (is_known && message.size < HEAD && grow(&message)) {
        ssize_t got = read(0, message.data + message.size, PIECE < HEAD - message.size ? PIECE : HEAD - message.size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) { /* who gave the message still has it */
            fprintf(stderr, "error: standard input cannot be read: %s\n", strerror(errno));
            return 75;
        }
        if (got == 0) {
            is_all = 1;
            break;
        }
        message.size += (size_t)got;
    }
    int connection = is_known && seconds > 0 && seconds <= 3600 ? connect_daemon(address) : -1;
    if (connection >= 0) {
        char head[128];
        snprintf(head, sizeof head, "PROCESS SPAMC/1.5\r\nSuffice: %s\r\nContent-length: %zu\r\n\r\n", wanted,
                 message.size);
        size_t size;
        int code;
        const char *body;
        if (converse(connection, head, &message, &answer, now() + seconds) && (body = stamped(&answer, &size, &code))) {
            if (!write_all(1, body, size) || (!is_all && !copy_rest(0, 1))) {
                fprintf(stderr, "error: the message cannot be passed on: %s\n", strerror(errno));
                return 75;
            }
            return no_exit_code ? 0 : code;
        }
        close(connection);
    }
    if (is_known) fprintf(stderr, "the daemon cannot be asked; `suffice spam filter` judges the message\n");
    signal(SIGPIPE, SIG_DFL);
    return fall_back(self, arguments, &message, is_all);
}
