/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * space: whether all space is free again.
 *
 * Method. Space that is lost shows in no answer and in no tree, and a checker may take it for used.
 * So statfs is asked three times:
 *   - on the fresh mount;
 *   - at the end of the workload, with everything closed and synced, and once more after the mount
 *     that follows: the mount must not find anything to free (an orphan that was kept);
 *   - after that, with everything removed and synced: no less may be free than was on the fresh
 *     disk.
 * Besides, after that mount, st_blocks of every file is compared with what its data can need
 * (model/footprint.h): a hole that was punched, and an end that was cut, have no blocks. Most holes
 * that a workload makes are too small to tell. So a few files are then punched from end to end, and
 * may have next to nothing afterwards.
 * And when an operation on names or data says that the disk is full, statfs may not say that more
 * than half of it is free. (An attribute that is too long for its place is ENOSPC on any disk.)
 * What each type promises is a trait (as_traits.space). A root directory that became longer may
 * keep its blocks; then only the number of free inodes is judged.
 *
 * It is the last thing that happens to a disk. The model does not follow it.
 */
#ifndef AS_TRIAL_SPACE_H
#define AS_TRIAL_SPACE_H

#include "base/buf.h"
#include "model/model.h"
#include "vfs/vfs.h"

/* What statfs told. */
struct as_space_seen {
	struct as_statfs fresh, ended;
	uint64_t root_bytes; /* size of the root directory on the fresh disk */
	bool fresh_known, ended_known;
};

/* Whether no file has more of the disk than the model says that it can need. spoil: some files may
 * be punched to find out. */
bool as_space_files(struct as_vfs *vfs, const struct as_model *model, bool spoil,
		    struct as_buf *why);
/* What is judged: the trait, but nothing where inodes belong to projects: of a directory that gives
 * its project away, statfs tells the project's limits. */
uint32_t as_space_promised(const struct as_traits *traits);
/* After an answer that the model allows, of a target without faults: whether it is ENOSPC though
 * there is room, and the type promises otherwise; `why` tells. Nobody who watches sees what is
 * asked. */
bool as_space_has_room(struct as_vfs *vfs, const struct as_model *model, const struct as_op *op,
		       const struct as_outcome *got, struct as_buf *why);
void as_space_begin(struct as_space_seen *space, struct as_vfs *vfs); /* on the fresh mount */
/* At the end of the workload, still mounted: closes what the model has open. 0, or the errno of a
 * close or of the sync. */
int as_space_end(struct as_space_seen *space, struct as_vfs *vfs, const struct as_model *model);
/* After the next mount; removes everything. False: space is missing; `why` tells. */
bool as_space_agrees(const struct as_space_seen *space, struct as_vfs *vfs,
		     const struct as_model *model, struct as_buf *why);

#endif
