/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy: what a file system promises of a tree after a power cut: the guarantee of its type
 * (target/fstype.def), narrowed or widened by its mount options, which can change while a workload
 * runs (remount, mount).
 */
#ifndef AS_LEGAL_POLICY_H
#define AS_LEGAL_POLICY_H

#include "target/fstype.h"

#include <stdbool.h>
#include <stdint.h>

struct as_target;

/* What may stand in a file whose data was not synced. */
enum as_data_rule {
	AS_DATA_JOURNAL, /* as names and attributes: what it was at one point, the same for all */
	AS_DATA_ORDERED, /* old, new, short or zero; never someone else's */
	AS_DATA_WRITEBACK, /* anything: what lay on the disk before may show */
};

struct as_policy {
	enum as_guarantee guarantee;
	enum as_data_rule data;
	/* An option cancels all promises (nobarrier), or the type makes none: only what is wrong on
	 * any file system is reported. */
	bool none;
	bool sync; /* mounted with sync: a write is stable when it returns */
	bool dirsync; /* the same for what makes, renames and removes names */
	/* fsync of a file also makes its names stable; POSIX does not ask for that. */
	bool fsync_names;
	/* So does fdatasync; if not, it promises that a file with data has some name. */
	bool fdatasync_names;
	/* fsync of a file need not keep another one that had its name before, and until it returns
	 * the file may show anything. */
	bool light_fsync;
	/* A state that no fsync has a part in is of one moment, data included; unless data is
	 * written over in place, before the commit. */
	bool whole_data, in_place;
	/* A file that a rename puts in the place of another one is not shorter than it was then;
	 * nor is one that was emptied, written and closed. */
	bool replaces;
	/* Data and size are stable at close, too; until then they may be old ones, whatever else is
	 * seen to have happened. */
	bool at_close;
	/* Contents and size are those of one moment. */
	bool whole_files;
	/* fsync of a file makes its times stable; the blocks that it has. */
	bool times, blocks;
	/* ... but for blocks of its map, after a checker's run; or that it had in memory alone,
	 * once blocks were shared. */
	bool map_anew, copies_ahead;
	/* After a checker's run, what has no name is in lost+found. */
	bool lost_found;
	/* It makes /lost+found if there is none. */
	bool makes_found;
	/* A recovery that was interrupted may come to another state that is allowed. */
	bool redo_differs;
	bool apart; /* each object is of a moment of its own, also after a sync */
	/* The options of a remount change nothing; "sync" of a remount is for data alone. */
	bool no_remount, late_sync;
	uint32_t block_bytes; /* what the file system writes at once; 0: not known */
};

struct as_policy as_policy_of(const struct as_target *target);
/* Applies mount options ("data=journal,sync"); unknown ones change nothing. */
void as_policy_mount(struct as_policy *policy, const char *opts);
/* What is promised after a mount or remount with these options. first: without any; mounted: since
 * the last mount; now: before it. */
struct as_policy as_policy_after(const struct as_policy *first, const struct as_policy *mounted,
				 const struct as_policy *now, bool remounts, const char *opts);

#endif
