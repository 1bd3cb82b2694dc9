/* SPDX-License-Identifier: BSL-1.0
   Leaves a block of 321 bytes, and then the process in the way that the argument says. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void* volatile kept;

static void leave_in_handler(int number)
{
    (void)number;
    _exit(5);
}

static void* leave_in_thread(void* status)
{
    _exit(*(int*)status);
    return NULL;
}

static void leave_in_exit_handler(void) { _exit(5); }

static int status_of(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

int main(int count, char** arguments)
{
    const char* way = count > 1 ? arguments[1] : "return";
    kept = malloc(321);
    if (strcmp(way, "return") == 0) return 0;
    if (strcmp(way, "exit") == 0) exit(5);
    if (strcmp(way, "lose") == 0) {
        kept = NULL;
        return 0;
    }
    if (strcmp(way, "_exit") == 0) _exit(5);
    if (strcmp(way, "_Exit") == 0) _Exit(5);
    if (strcmp(way, "quick_exit") == 0) quick_exit(5);
    if (strcmp(way, "handler") == 0) {
        signal(SIGTERM, leave_in_handler);
        raise(SIGTERM);
    }
    if (strcmp(way, "thread") == 0) {
        pthread_t thread;
        int status = 5;
        pthread_create(&thread, NULL, leave_in_thread, &status);
        pthread_join(thread, NULL);
    }
    if (strcmp(way, "exit_handler") == 0) {
        atexit(leave_in_exit_handler);
        return 0;
    }
    if (strcmp(way, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) _exit(5);
        return status_of(child);
    }
    if (strcmp(way, "vfork") == 0) {
        pid_t child = vfork();
        if (child == 0) _exit(5);
        return status_of(child);
    }
    return 9;
}
