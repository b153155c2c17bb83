/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record_text_priv: the text of processes, and the calls in it: what record_text.c and
 * record_enter.c share. */
#ifndef AS_RECORD_RECORD_TEXT_PRIV_H
#define AS_RECORD_RECORD_TEXT_PRIV_H

#include "record/record_inprocess_priv.h"
#include "record/record_site.h"

#define AS_AREAS_MAX 4

struct as_text_site {
	uint64_t offset; /* in the file */
	struct as_site plan;
	bool met;
};

struct as_text_file {
	uint64_t dev, ino;
	struct as_text_site *sites; /* by offset */
	unsigned n_sites;
	size_t cap_sites;
	bool searched; /* all are there that can be found without running it */
};

struct as_text {
	uint64_t start, end, offset;
	struct as_text_file *file;
	unsigned char failed; /* failed attempts to redirect a call of it */
	bool runs; /* the processor runs it; else it may be what an emulator reads */
};

struct as_area {
	uint64_t base, used, end;
};

struct as_inside_space {
	unsigned refs; /* tasks */
	unsigned running; /* tasks that vfork has not suspended */
	bool complete; /* all calls of all texts were redirected */
	struct as_area areas[AS_AREAS_MAX];
	unsigned n_areas;
	bool no_more; /* no more areas can be made */
	struct as_text *texts;
	unsigned n_texts;
	size_t cap_texts;
	uint64_t vdso;
	uint64_t loader, loader_end; /* the loader's text, if the program has one */
};

/* NULL: there are too many. */
struct as_text_file *as_text_file_of(struct as_inside *in, uint64_t dev, uint64_t ino);
void as_text_add(struct as_inside_space *space, uint64_t start, uint64_t end, uint64_t offset,
		 struct as_text_file *file, bool runs);
/* NULL: it is not the text of a file. */
struct as_text *as_text_at(const struct as_inside_space *space, uint64_t address);

struct as_text_site *as_text_site(struct as_text_file *file, uint64_t offset);
/* The plan for a call that is made just now; NULL: it cannot be looked at. */
struct as_text_site *as_text_plan(pid_t tid, const struct as_text *text, uint64_t call, int nr);
/* Finds all calls of interest that can be found without running it. */
void as_text_search(struct as_inside *in, pid_t tid, const struct as_text *text);

/* Those of the text that were met before, or all. */
void as_text_lead(struct as_inside *in, const struct as_task *task, const struct as_text *text,
		  struct as_area *area, bool all);
/* The unused bytes may have been taken by another call meanwhile: then this looks for others. */
bool as_text_lead_one(struct as_inside *in, pid_t tid, struct as_area *area,
		      const struct as_text *text, struct as_text_site *site, uint64_t call);

bool as_text_write(struct as_inside *in, pid_t tid, uint64_t address, const void *data, size_t len);
void as_text_close(struct as_inside *in);

#endif
