/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * past: what a power cut may leave now, as a value: the states since everything was stable, and
 * what was promised in between. It is a persistent structure, as the model is: a copy is O(1), and
 * what is added to one does not show in the other. It has a digest; a history (history.h), which
 * judges trees, can be made of it.
 *
 * The digest is the same for pasts that allow the same trees up to names. Pasts that allow the same
 * trees for other reasons may have different digests: that costs time, but loses nothing. Not part
 * of it: times, and what only they depend on.
 */
#ifndef AS_LEGAL_PAST_H
#define AS_LEGAL_PAST_H

#include "base/hash.h"
#include "legal/history.h"

struct as_past;

/* Begins with a state of which all is stable. The traits of the model must outlive it. */
struct as_past *as_past_new(const struct as_model *stable, const struct as_policy *policy);
/* The past after one more operation, which led to the state `after`. */
struct as_past *as_past_add(struct as_past *past, const struct as_op *op,
			    const struct as_outcome *outcome, const struct as_model *after);
struct as_past *as_past_get(struct as_past *past);
void as_past_put(struct as_past *past); /* takes NULL */

struct as_digest as_past_digest(const struct as_past *past);
/* The same, but names count. */
struct as_digest as_past_exact(const struct as_past *past);
/* Operations since everything was stable that count. */
size_t as_past_len(const struct as_past *past);
/* The history that begins where everything was stable; the caller frees it. */
struct as_history *as_past_history(const struct as_past *past);

#endif
