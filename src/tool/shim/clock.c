/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock: everything that differs from one run of a program to the next: the time, the process id,
 * what it has used of the machine, and random numbers. The clock moves only a microsecond each time
 * it is asked for more than seconds (some programs wait for it to move). Sleeping in the main
 * thread takes no time and moves the clock.
 */
#include "tool/shim/shim.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

bool shim_clock_on;
static int64_t now_us;
static uint64_t random_state;

void shim_clock_start(int64_t now_s)
{
	now_us = now_s * 1000000;
	random_state = 0;
	shim_clock_on = true;
}

pid_t shim_real_pid(void)
{
	return (pid_t)syscall(SYS_getpid, NULL);
}

static int64_t tick(void)
{
	return __atomic_add_fetch(&now_us, 1, __ATOMIC_RELAXED);
}

static long raw(long number, const long *a);

SHIM_EXPORT time_t time(time_t *to)
{
	struct timespec ts;
	time_t now;

	if (shim_clock_on)
		now = __atomic_load_n(&now_us, __ATOMIC_RELAXED) / 1000000;
	else
		now = raw(SYS_clock_gettime, (long[6]){ CLOCK_REALTIME, (long)&ts }) ? -1
										     : ts.tv_sec;
	if (to)
		*to = now;
	return now;
}

SHIM_EXPORT int gettimeofday(struct timeval *tv, void *zone)
{
	int64_t now;

	if (!shim_clock_on)
		return (int)raw(SYS_gettimeofday, (long[6]){ (long)tv, (long)zone });
	now = tick();
	*tv = (struct timeval){ now / 1000000, now % 1000000 };
	if (zone)
		memset(zone, 0, sizeof(struct timezone));
	return 0;
}

SHIM_EXPORT int clock_gettime(clockid_t id, struct timespec *ts)
{
	int64_t now;

	if (!shim_clock_on)
		return (int)raw(SYS_clock_gettime, (long[6]){ id, (long)ts });
	now = tick();
	*ts = (struct timespec){ now / 1000000, now % 1000000 * 1000 };
	return 0;
}

/* A program that prints what it has used would print something else each time. */
SHIM_EXPORT int getrusage(__rusage_who_t who, struct rusage *use)
{
	if (!shim_clock_on)
		return (int)raw(SYS_getrusage, (long[6]){ who, (long)use });
	memset(use, 0, sizeof(*use));
	return 0;
}

/* ---- Sleeping ---- */

static bool skips_sleep(void)
{
	return shim_clock_on && shim_real_pid() == (pid_t)raw(SYS_gettid, (long[6]){ 0 });
}

SHIM_EXPORT int nanosleep(const struct timespec *want, struct timespec *left)
{
	if (!skips_sleep())
		return shim_next()->nanosleep(want, left);
	__atomic_add_fetch(&now_us, want->tv_sec * 1000000 + want->tv_nsec / 1000,
			   __ATOMIC_RELAXED);
	return 0;
}

SHIM_EXPORT unsigned sleep(unsigned seconds)
{
	nanosleep(&(struct timespec){ .tv_sec = seconds }, NULL);
	return 0;
}

SHIM_EXPORT int usleep(useconds_t us)
{
	return nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL);
}

/* ---- Who we are ---- */

SHIM_EXPORT pid_t getpid(void)
{
	return shim_clock_on ? AS_SHIM_PID : shim_real_pid();
}

/* libuuid makes random numbers from it. */
SHIM_EXPORT pid_t getppid(void)
{
	return shim_clock_on ? AS_SHIM_PID - 1 : (pid_t)raw(SYS_getppid, (long[6]){ 0 });
}

SHIM_EXPORT int kill(pid_t pid, int sig)
{
	if (shim_clock_on && pid == AS_SHIM_PID)
		pid = shim_real_pid();
	if (shim_head && pid && pid != shim_real_pid()) {
		errno = EPERM; /* it may signal only itself and its group */
		return -1;
	}
	return shim_next()->kill(pid, sig);
}

/* The C library reads a file for this each time. The server asks first, so that no run has to. */
SHIM_EXPORT long sysconf(int name)
{
	static long cpus;

	if (name != _SC_NPROCESSORS_CONF || !shim_head)
		return shim_next()->sysconf(name);
	if (!cpus)
		cpus = shim_next()->sysconf(name);
	return cpus;
}

/* ---- Random numbers: SplitMix64 ---- */

static uint64_t draw(void)
{
	uint64_t z =
		__atomic_add_fetch(&random_state, UINT64_C(0x9e3779b97f4a7c15), __ATOMIC_RELAXED);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

SHIM_EXPORT ssize_t getrandom(void *buf, size_t len, unsigned flags)
{
	unsigned char *to = buf;

	if (!shim_clock_on)
		return raw(SYS_getrandom, (long[6]){ (long)buf, (long)len, flags });
	for (size_t i = 0; i < len; i++)
		to[i] = (unsigned char)draw();
	return (ssize_t)len;
}

SHIM_EXPORT int getentropy(void *buf, size_t len)
{
	if (len > 256) {
		errno = EIO;
		return -1;
	}
	return getrandom(buf, len, 0) < 0 ? -1 : 0;
}

/* ---- System calls by number ---- */

static long raw(long number, const long *a)
{
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	register long r9 __asm__("r9") = a[5];
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	if (ret < 0 && ret > -4096) {
		errno = (int)-ret;
		return -1;
	}
	return ret;
}

SHIM_EXPORT long syscall(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_getrandom && shim_clock_on)
		return getrandom((void *)a[0], (size_t)a[1], (unsigned)a[2]);
	if (number == SYS_gettid && skips_sleep())
		return AS_SHIM_PID;
	return raw(number, a);
}
