/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * legal: may a recovered tree be what a power cut leaves? The rules are those of rule.def; which of
 * them hold is said by the history's policy (policy.h).
 */
#ifndef AS_LEGAL_LEGAL_H
#define AS_LEGAL_LEGAL_H

#include "base/buf.h"
#include "legal/history.h"
#include "snapshot/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum as_rule {
#define RULE(id, name, help) AS_RULE_##id,
#include "legal/rule.def"
#undef RULE
	AS_RULES
};

const char *as_rule_name(enum as_rule rule); /* "persisted" */

/* When the power failed: operations 0..done-1 had answered; begun is done, or done + 1 where one
 * was under way; of an order of calls (as_history_end()) there may be more. Both at most
 * as_history_len(). */
struct as_moment {
	size_t done, begun;
	/* What is on the disk was written by operations 0..wrote-1; 0: not known. */
	size_t wrote;
};

#define AS_LEGAL_NO_OP SIZE_MAX

struct as_legal {
	bool legal;
	bool unjudged; /* legal because nothing can be said */
	enum as_rule rule; /* broken; when not legal */
	/* The operation whose promise was broken (the fsync), or the one that is half done; or
	 * AS_LEGAL_NO_OP. */
	size_t op;
	/* "after fsync of /a/f at op 7, /a/f must exist; recovered tree has no /a" */
	struct as_buf why;
	struct as_buf signature; /* the same without names and numbers */
	/* When legal: the states of the history that have the tree's names and attributes, the
	 * first and the last of them; AS_LEGAL_NO_POINT where it need not be one state. */
	uint32_t oldest, newest;
};

#define AS_LEGAL_NO_POINT UINT32_MAX

/* *verdict is zeroed or was used before (its buffers are used again). Returns verdict->legal.
 * Verdicts are remembered for trees with the same digest at moments that allow the same. */
bool as_legal_judge(struct as_history *history, struct as_moment moment, const struct as_tree *tree,
		    struct as_legal *verdict);
/* The same for a tree that a checker's run has led to, and which may have a /lost+found that the
 * checker has made. */
bool as_legal_judge_checked(struct as_history *history, struct as_moment moment,
			    const struct as_tree *tree, struct as_legal *verdict);
/* The same for the last commit, without what fsync has written since (target/fstype.h,
 * shows_commit): names and attributes are those of one moment, not before the last sync. */
bool as_legal_judge_commit(struct as_history *history, struct as_moment moment,
			   const struct as_tree *tree, struct as_legal *verdict);
/* Whether quotas are right, of a tree that has some (as_tree_quotas()). */
bool as_legal_judge_quotas(struct as_history *history, struct as_moment moment,
			   const struct as_tree *tree, struct as_legal *verdict);
/* Whether an interrupted recovery may come to this tree, though it is not that of one which was not
 * interrupted. */
bool as_legal_judge_redone(struct as_history *history, struct as_moment moment,
			   const struct as_tree *tree);
/* The tree without an empty /lost+found, where the checker of the type makes one whether it needs
 * it or not; NULL: it does not, or there is none. again: the checker's run was interrupted once,
 * and the directory that it was about to make may be in the one that it has made since. */
struct as_tree *as_legal_without_found(const struct as_history *history, const struct as_tree *tree,
				       bool again);
void as_legal_free(struct as_legal *verdict); /* leaves it zeroed */

/* Makes a legal verdict an illegal one: the tree is older than what the same disk, with less on it,
 * has led to, which was at least `floor` (as_legal.oldest). */
void as_legal_say_older(const struct as_history *history, uint32_t floor, struct as_legal *verdict);

/* False: a mount option has taken away the order of writes (nobarrier). What a power cut leaves may
 * then be anything, and so may what recovery makes of it. */
bool as_legal_is_ordered(const struct as_history *history, struct as_moment moment);

#endif
