/* System calls that fail, fall short, or are the last thing that a process does.
 *
 *     LD_PRELOAD=build/sabotage.so python ...
 *
 * Nothing happens until sabotage(...) arms it, from Python through ctypes. Then every call below
 * whose file contains `part` in its path ("" for all, "socket:" for sockets) is counted, and from
 * the n-th on, `times` calls are struck in the way that `how` says.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

enum { OFF, KILL_BEFORE, KILL_WITHIN, KILL_AFTER, FAIL, SHORT, STOP };

static int armed_how, armed_error;
static long first, last, counted;
static char armed_part[PATH_MAX];

/* Python calls these three. */
void sabotage(int how, long n, long times, int error, const char *part) {
    armed_how = OFF;
    armed_error = error;
    first = n;
    last = n + times - 1;
    counted = 0;
    strncpy(armed_part, part, sizeof armed_part - 1);
    armed_how = how;
}
long sabotage_counted(void) { return counted; }
long sabotage_struck(void) { return counted < first ? 0 : (counted < last ? counted : last) - first + 1; }

static void end(void) {
    kill(getpid(), SIGKILL);
    pause();
}

/* What happens to this call: OFF for nothing. A kill before it does not return. */
static int strike(int descriptor, const char *path) {
    char link[64], found[PATH_MAX];
    if (armed_how == OFF) return OFF;
    if (path == NULL && armed_part[0] != 0) {
        int before = errno;
        snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
        ssize_t length = readlink(link, found, sizeof found - 1);
        errno = before;
        if (length < 0) return OFF;
        found[length] = 0;
        path = found;
    }
    if (armed_part[0] != 0 && strstr(path, armed_part) == NULL) return OFF;
    counted++;
    if (counted < first || counted > last) return OFF;
    if (armed_how == KILL_BEFORE) end();
    if (armed_how == STOP) kill(getpid(), SIGSTOP);
    return armed_how;
}

/* The function of the same name in the C library. */
#define REAL(name) \
    static __typeof__(name) *real; \
    if (real == NULL) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* `whole` is the call; `half` is the call on half of the bytes, or nothing. */
#define RUN(type, name, descriptor, path, whole, half) \
    REAL(name); \
    int how = strike(descriptor, path); \
    if (how == FAIL) { errno = armed_error; return (type)-1; } \
    if (how == SHORT) return half; \
    if (how == KILL_WITHIN) { (void)half; end(); } \
    type result = whole; \
    if (how == KILL_AFTER) end(); \
    return result

#define HALF (n > 1 ? n / 2 : n)

ssize_t write(int fd, const void *from, size_t n) { RUN(ssize_t, write, fd, NULL, real(fd, from, n), real(fd, from, HALF)); }
ssize_t pwrite(int fd, const void *from, size_t n, off_t at) { RUN(ssize_t, pwrite, fd, NULL, real(fd, from, n, at), real(fd, from, HALF, at)); }
ssize_t pwrite64(int fd, const void *from, size_t n, off64_t at) { RUN(ssize_t, pwrite64, fd, NULL, real(fd, from, n, at), real(fd, from, HALF, at)); }
ssize_t read(int fd, void *to, size_t n) { RUN(ssize_t, read, fd, NULL, real(fd, to, n), real(fd, to, HALF)); }
ssize_t pread64(int fd, void *to, size_t n, off64_t at) { RUN(ssize_t, pread64, fd, NULL, real(fd, to, n, at), real(fd, to, HALF, at)); }
ssize_t send(int fd, const void *from, size_t n, int flags) { RUN(ssize_t, send, fd, NULL, real(fd, from, n, flags), real(fd, from, HALF, flags)); }
ssize_t recv(int fd, void *to, size_t n, int flags) { RUN(ssize_t, recv, fd, NULL, real(fd, to, n, flags), real(fd, to, HALF, flags)); }
int fsync(int fd) { RUN(int, fsync, fd, NULL, real(fd), real(fd)); }
int fdatasync(int fd) { RUN(int, fdatasync, fd, NULL, real(fd), real(fd)); }
int ftruncate(int fd, off_t n) { RUN(int, ftruncate, fd, NULL, real(fd, n), real(fd, n)); }
int ftruncate64(int fd, off64_t n) { RUN(int, ftruncate64, fd, NULL, real(fd, n), real(fd, n)); }
int rename(const char *old, const char *new) { RUN(int, rename, -1, new, real(old, new), real(old, new)); }
int linkat(int from, const char *old, int to, const char *new, int flags) { RUN(int, linkat, to, to == AT_FDCWD ? new : NULL, real(from, old, to, new, flags), real(from, old, to, new, flags)); }
int unlink(const char *path) { RUN(int, unlink, -1, path, real(path), real(path)); }

static mode_t mode_of(int flags, va_list more) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = mode_of(flags, more); \
        va_end(more); \
        RUN(int, name, -1, path, real(path, flags, mode), real(path, flags, mode)); \
    }
OPEN(open)
OPEN(open64)
