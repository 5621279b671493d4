/* The wall clock of a program, moved by the seconds that the file $COVEY_CLOCK says; other clocks as
   they are. To be loaded with LD_PRELOAD. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    const char *name = getenv("COVEY_CLOCK");
    if (result != 0 || clock != CLOCK_REALTIME || name == NULL) {
        return result;
    }
    char text[32] = {0};
    int file = open(name, O_RDONLY);
    if (file >= 0) {
        if (read(file, text, sizeof text - 1) > 0) {
            now->tv_sec += atoll(text);
        }
        close(file);
    }
    return result;
}
