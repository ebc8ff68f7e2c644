/* Preloaded into a server with LD_PRELOAD, this library simulates a failing disk or a kernel without io_uring.
 *
 * FAILING_DISK=directory: the first SIGRTMIN replaces every open file below the directory with a file whose reads and writes
 * fail with EIO. No further file can be opened there. The next SIGRTMIN restores the original state. (The replacement is
 * /proc/self/mem. Addresses below 64 KiB are never mapped, so segments must not be larger than that.)
 *
 * REFUSE_IO_URING=1: io_uring_setup fails with EPERM, as under the seccomp rules of a container. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_FILES 1024

static const char *disk;
static volatile sig_atomic_t failing;
static int mended[MOST_FILES];

static int is_link_to(int fd, const char *path, size_t length) {
    char name[32], target[PATH_MAX];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t got = readlink(name, target, sizeof target);
    return got >= (ssize_t)length && memcmp(target, path, length) == 0;
}

static void fail_or_mend(int signal_number) {
    (void)signal_number;
    int before = errno;
    failing = !failing;
    int broken = failing ? open("/proc/self/mem", O_RDWR | O_CLOEXEC) : -1;
    for (int fd = 3; fd < MOST_FILES; fd++) {
        if (failing && is_link_to(fd, disk, strlen(disk))) {
            mended[fd] = fcntl(fd, F_DUPFD_CLOEXEC, MOST_FILES);
            dup3(broken, fd, O_CLOEXEC);
        } else if (!failing && mended[fd] > 0) {
            /* Meanwhile the server may have closed the descriptor and reused it for another file. */
            if (is_link_to(fd, "/proc/", 6)) dup3(mended[fd], fd, O_CLOEXEC);
            close(mended[fd]);
            mended[fd] = 0;
        }
    }
    if (broken >= 0) close(broken);
    errno = before;
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (failing && strncmp(path, disk, strlen(disk)) == 0) {
        errno = EIO;
        return -1;
    }
    int (*usual)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    return usual(path, flags, mode);
}

static void refuse_io_uring(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof rules / sizeof *rules, .filter = rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) abort();
}

__attribute__((constructor)) static void begin(void) {
    if (getenv("REFUSE_IO_URING")) refuse_io_uring();
    if (!getenv("FAILING_DISK")) return;
    disk = strdup(getenv("FAILING_DISK")); /* copied, because the server overwrites its environment with its process title */
    struct sigaction action = {.sa_handler = fail_or_mend, .sa_flags = SA_RESTART};
    sigaction(SIGRTMIN, &action, NULL);
}
