/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record_memory: the memory of traced tasks. */
#include "record/record_ptrace_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define PAGE 4096u
#define FIRST_BYTES 256u /* most paths are shorter */

/* For a process whose memory others may not read (prctl PR_SET_DUMPABLE): its tracer may. */
static size_t read_words(pid_t tid, uint64_t address, char *out, size_t len)
{
	size_t done = 0;

	while (done < len) {
		uint64_t at = (address + done) & ~7ull, skip = (address + done) & 7, n = 8 - skip;
		long word;

		errno = 0;
		word = ptrace(PTRACE_PEEKDATA, tid, at, 0);
		if (errno)
			break;
		n = n < len - done ? n : len - done;
		memcpy(out + done, (char *)&word + skip, n);
		done += n;
	}
	return done;
}

size_t as_tracer_read(pid_t tid, uint64_t address, void *out, size_t len)
{
	struct iovec here = { out, len }, there = { (void *)(uintptr_t)address, len };
	ssize_t n = process_vm_readv(tid, &here, 1, &there, 1, 0);

	if (n < 0 && errno == EPERM)
		return read_words(tid, address, out, len);
	return n < 0 ? 0 : (size_t)n;
}

/* In pieces that end at pages: what lies after the text may not be readable. */
size_t as_tracer_text(void *ctx, uint64_t address, void *out, size_t len, bool text)
{
	pid_t tid = *(const pid_t *)ctx;
	size_t done = 0;

	while (done < len) {
		size_t piece = PAGE - (address + done) % PAGE, n;

		if (text && !done && piece > FIRST_BYTES)
			piece = FIRST_BYTES;
		if (piece > len - done)
			piece = len - done;
		n = as_tracer_read(tid, address + done, (char *)out + done, piece);
		if (text && memchr((char *)out + done, 0, n))
			return done +
			       (size_t)((char *)memchr((char *)out + done, 0, n) -
					((char *)out + done)) +
			       1;
		done += n;
		if (n < piece)
			break;
	}
	return done;
}

struct as_tracer_status as_tracer_status(pid_t tid)
{
	struct as_tracer_status st = { 0 };
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "State: %c", &st.state);
		sscanf(line, "Tgid: %d", &st.tgid);
		sscanf(line, "PPid: %d", &st.parent);
		sscanf(line, "TracerPid: %d", &st.tracer);
	}
	if (f)
		fclose(f);
	return st;
}
