/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record_inprocess_priv: what record_inprocess.c, record_text.c and record_enter.c share. */
#ifndef AS_RECORD_RECORD_INPROCESS_PRIV_H
#define AS_RECORD_RECORD_INPROCESS_PRIV_H

#include "base/table.h"
#include "calls/pieces.h"
#include "record/inside/layout.h"
#include "record/record_ptrace_priv.h"

/* What we know of a slot. */
struct as_slot {
	pid_t tid, tgid; /* the thread; 0: none */
	unsigned scan; /* all before this is reported */
	unsigned filled; /* the end of the complete records */
	unsigned pinned_end; /* position of the last record whose call has not returned */
	bool broken; /* rubbish was found */
};

/* A call began or ended. */
struct as_inside_event {
	uint64_t moment;
	unsigned short slot, at;
	bool end;
};

struct as_text_file;

struct as_inside {
	char image[AS_INSIDE_IMAGE_MAX] __attribute__((aligned(8)));
	unsigned image_bytes;
	int pool_id;
	char *pool;
	struct as_slot slots[AS_INSIDE_SLOTS];
	unsigned short free_slots[AS_INSIDE_SLOTS];
	unsigned n_free, next_slot;
	uint64_t told, accounted; /* how many moments were reported, and explained by records */
	struct as_inside_event *events;
	size_t n_events, cap_events;
	char pieces[AS_PIECES_ROOM] __attribute__((aligned(8)));
	char room[AS_SYSCALL_ROOM];

	/* record_text.c and record_enter.c */
	struct as_text_file **files;
	size_t n_files, cap_files;
	struct as_table file_table; /* of the files, by device and inode */
	uint64_t vdso_call; /* a call in the kernel's page, counted from its beginning */
	pid_t mem_tid; /* whose memory is open */
	int mem_fd;
};

/* 0: there is none left. */
unsigned as_inside_take_slot(struct as_inside *in, pid_t tid, pid_t tgid);
/* How many calls in the slot never returned. */
unsigned as_inside_give_slot(struct as_inside *in, unsigned slot);
void as_inside_set_back(struct as_inside *in, unsigned slot);

AS_MUST_CHECK int as_text_new(struct as_inside *in, struct as_err *err);
void as_text_free(struct as_inside *in);

#endif
