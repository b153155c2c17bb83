/* SPDX-License-Identifier: GPL-2.0-or-later */
/* words: see words.h. */
#include "dossier/letter/words.h"

#include "base/finding.h"
#include "base/show.h"
#include "dossier/steps.h"

#include <string.h>

#define SUBJECT_MAX 150 /* bytes of what a subject quotes */
#define SAYS ", model says "
#define PLACE_NAME "NAME"

/* What each kind means, for a reader who does not know assay. */
static const char *const meanings[AS_FIND_KINDS] = {
	[AS_FIND_OUTCOME] =
		"An operation gave an answer that neither POSIX nor Linux allows there.",
	[AS_FIND_DATA] = "An operation succeeded, but it returned the wrong data.",
	[AS_FIND_TREE] = "The whole tree is not what the operations should have left.",
	[AS_FIND_SIGNAL] = "The file system ended the process it ran in.",
	[AS_FIND_HANG] = "The file system did not come back from a call.",
	[AS_FIND_LEAK] = "After unmount, memory was still allocated.",
	[AS_FIND_CHECKER] = "After a clean unmount, the file system's own checker found errors.",
	[AS_FIND_MOUNT] = "mkfs, mount or unmount failed though nothing was wrong.",
	[AS_FIND_MISUSE] = "The file system broke a rule of the interface with its disk or memory.",
	[AS_FIND_KERNEL] =
		"The kernel under test crashed, warned or complained of corruption: see its log.",
	[AS_FIND_CRASH] =
		"After a power cut, the tree is not one that was promised, or cannot be read.",
	[AS_FIND_RACE] =
		"No order of the calls that overlapped explains their answers or the tree.",
	[AS_FIND_DIFF] = "One file system answered an operation differently from others.",
	[AS_FIND_LOCK] = "The file system took or gave back its locks in a way that can end in a "
			 "deadlock.",
	[AS_FIND_PAIR] = "The file system did not give back what it had taken, or too often.",
	[AS_FIND_INVARIANT] = "A rule that the file system declared for itself was broken.",
	[AS_FIND_SILENT] = "A call answered success, although memory, a read or a write that it "
			   "asked for had failed.",
	[AS_FIND_LIMIT] = "A call needed more memory or stack than it was allowed.",
	[AS_FIND_FSCK] = "A checker contradicts itself, or loses what it was to save.",
	[AS_FIND_RECOVERY] = "Two recoveries of the same disk do not end in the same tree.",
};

static const char *const shorts[AS_FIND_KINDS] = {
	[AS_FIND_OUTCOME] = "wrong answer",
	[AS_FIND_DATA] = "wrong data",
	[AS_FIND_TREE] = "wrong tree",
	[AS_FIND_SIGNAL] = "the process dies",
	[AS_FIND_HANG] = "a call does not return",
	[AS_FIND_LEAK] = "memory leak",
	[AS_FIND_CHECKER] = "the checker finds errors after a clean unmount",
	[AS_FIND_MOUNT] = "mkfs, mount or unmount fails",
	[AS_FIND_MISUSE] = "misuse of the disk or of memory",
	[AS_FIND_KERNEL] = "kernel complaint",
	[AS_FIND_CRASH] = "after a power cut",
	[AS_FIND_RACE] = "race",
	[AS_FIND_DIFF] = "other answer than other file systems",
	[AS_FIND_LOCK] = "locks",
	[AS_FIND_PAIR] = "something is not given back",
	[AS_FIND_INVARIANT] = "its own rule is broken",
	[AS_FIND_SILENT] = "an error is not reported",
	[AS_FIND_LIMIT] = "more memory or stack than allowed",
	[AS_FIND_FSCK] = "checker",
	[AS_FIND_RECOVERY] = "recovery is not repeatable",
};

static const char *const kind_rules[AS_FIND_KINDS] = {
	[AS_FIND_OUTCOME] = "Each call is compared with a model of POSIX and of Linux. The answer "
			    "is none of those that the model allows in this state.",
	[AS_FIND_DATA] = "What a call returns must be what the calls before it have left there: "
			 "the bytes that were written, the names that were made, the attributes "
			 "that were set.",
	[AS_FIND_TREE] = "At the end, and after a new mount, the whole tree must be what the "
			 "calls have left: names, types, attributes, contents.",
	[AS_FIND_SIGNAL] = "Whatever the calls are, the file system must answer each of them.",
	[AS_FIND_HANG] = "Whatever the calls are, the file system must answer each of them.",
	[AS_FIND_LEAK] = "After unmount, all that was allocated since mount must have been freed.",
	[AS_FIND_CHECKER] = "After an unmount that succeeded, the disk must be clean: its own "
			    "checker has nothing to repair.",
	[AS_FIND_MOUNT] = "A file system that was just made can be mounted, and one without open "
			  "files can be unmounted.",
	[AS_FIND_MISUSE] =
		"No access outside the disk, no write while it is mounted read-only, and "
		"no memory is freed twice or used after it was freed.",
	[AS_FIND_KERNEL] = "No sequence of system calls may make a kernel crash, warn, or report "
			   "that a sound disk is corrupted.",
	[AS_FIND_CRASH] = "After a power cut the disk must be recoverable, and the recovered tree "
			  "must be one that was promised: fsync(2), sync(2).",
	[AS_FIND_RACE] = "Calls that overlap must answer as if they had run one after the other "
			 "in some order, and the tree must be what that order leaves.",
	[AS_FIND_DIFF] = "Other file systems, given the same calls, agree on another answer.",
	[AS_FIND_LOCK] = "Locks are taken in one order everywhere, and are given back.",
	[AS_FIND_PAIR] = "What is taken is given back, once.",
	[AS_FIND_INVARIANT] = "The file system declared the rule itself.",
	[AS_FIND_SILENT] = "A call whose read, write or allocation failed must not answer success, "
			   "unless what it promises was reached in another way.",
	[AS_FIND_LIMIT] = "No call may need more memory or stack than is allowed. The person who "
			  "tested has set the bound.",
	[AS_FIND_FSCK] = "A checker that says that all is well must be right, must say the same "
			 "when it is asked again, and must not lose what it could have kept.",
	[AS_FIND_RECOVERY] = "A recovery that is interrupted and begins again must come to the "
			     "tree that it comes to without interruption, and two ways of "
			     "recovery must agree.",
};

static const struct {
	const char *name, *help;
} power_rules[] = {
#define RULE(id, name, help) { name, help },
#include "legal/rule.def"
#undef RULE
};

/* Of answers that the model would allow, and something else speaks against. */
static const struct {
	const char *words, *help;
} answer_rules[] = {
	{ "returned -# ENOSPC, but #",
	  "ENOSPC means that there is no room. Right after the call, statfs(2) says that more "
	  "than half of the blocks are free, and more than half of the inodes, if they are "
	  "counted; and the call wants less than three quarters of the free space" },
};

const char *as_kind_meaning(enum as_finding_kind kind)
{
	return meanings[kind];
}

const char *as_kind_short(enum as_finding_kind kind)
{
	return shorts[kind];
}

const char *as_kind_rule(enum as_finding_kind kind)
{
	return kind_rules[kind];
}

/* "crash: rename: both names; after ...", "answer: mkdir: returned ..." */
const char *as_rule_of_signature(const char *signature)
{
	const char *name = strncmp(signature, "crash: ", 7) ? NULL : signature + 7;
	size_t len = name ? strcspn(name, ":;") : 0;

	for (size_t i = 0; len && i < sizeof(power_rules) / sizeof(power_rules[0]); i++)
		if (strlen(power_rules[i].name) == len && !memcmp(power_rules[i].name, name, len))
			return power_rules[i].help;
	for (size_t i = 0; !len && i < sizeof(answer_rules) / sizeof(answer_rules[0]); i++)
		if (strstr(signature, answer_rules[i].words))
			return answer_rules[i].help;
	return NULL;
}

/* The length of what a placeholder stands for (base/signature.c): a number, or a text in quotes. */
static size_t held_len(const char *text, const char *part)
{
	size_t len;

	if (*part == '#')
		return strspn(text, "0123456789");
	if (strncmp(part, PLACE_NAME, strlen(PLACE_NAME)) || (*text != '\'' && *text != '"'))
		return 0;
	len = strcspn(text + 1, *text == '"' ? "\"" : "'");
	return text[1 + len] ? len + 2 : 0;
}

/* How much of `text` fits a part of a signature with its placeholders; 0: it does not. */
static size_t fitting(const char *text, const char *part)
{
	size_t at = 0;

	while (*part) {
		size_t len = held_len(text + at, part);

		if (!len && text[at] != *part)
			return 0;
		part += len && *part != '#' ? strlen(PLACE_NAME) : 1;
		at += len ? len : 1;
	}
	return at;
}

/* The end of the summary of which a part of a signature was made; NULL: there is none. */
static const char *end_of_which(const char *summary, const char *part)
{
	struct as_buf made = { 0 };
	const char *found = NULL;

	for (; *summary && !found; summary++) {
		made.len = 0;
		as_signature_add(&made, summary);
		if (!strcmp(as_buf_str(&made), part))
			found = summary;
	}
	as_buf_free(&made);
	return found;
}

/* The numbers and names that a signature does not have are in the summary: its words are taken, if
 * they are found there: of the whole signature, or else from one of its colons on. */
static void put_about(const char *summary, struct as_buf *about, struct as_buf *shown)
{
	const char *all = as_buf_str(about), *part = all, *colon, *end = NULL;
	size_t len = 0;

	if (!strchr(all, '#') && !strstr(all, PLACE_NAME)) {
		as_show(shown, all);
		return;
	}
	while (!(end = end_of_which(summary, part)) && (colon = strstr(part, ": ")))
		part = colon + 2;
	if (end) {
		len = strlen(summary = end);
	} else {
		while (*summary && !(len = fitting(summary, part)))
			summary++;
	}
	if (len) {
		about->len = (size_t)(part - all);
		as_buf_add(about, summary, len);
	}
	as_show(shown, as_buf_str(about));
}

void as_words_subject(const struct as_finding *f, const struct as_op *op, struct as_buf *out)
{
	const char *about = strchr(f->signature, ':'), *end;
	struct as_buf shown = { 0 }, text = { 0 };
	size_t len = strcspn(f->target, ":");

	as_shown(out, f->target, len);
	as_buf_addf(out, ": %s", shorts[f->kind]);
	if (op && (f->kind == AS_FIND_OUTCOME || f->kind == AS_FIND_DATA))
		as_buf_addf(out, ": %s", as_step_manual(op->code));
	about = about ? about + 1 + strspn(about + 1, " ") : f->signature;
	end = strstr(about, AS_SIGNATURE_AFTER);
	as_buf_add(&text, about, end ? (size_t)(end - about) : strlen(about));
	put_about(f->summary ? f->summary : "", &text, &shown);
	if (shown.len) {
		as_buf_adds(out, ": ");
		for (size_t i = 0, n; i < shown.len && i < SUBJECT_MAX; i += n) {
			n = as_utf8_len(shown.data + i, shown.len - i);
			as_buf_add(out, shown.data + i, n);
		}
	}
	as_buf_free(&shown);
	as_buf_free(&text);
}

void as_words_summary(const char *summary, struct as_buf *seen, struct as_buf *expected)
{
	const char *says = NULL;

	for (const char *at = summary; (at = strstr(at, SAYS)); at += strlen(SAYS))
		says = at;
	as_buf_add(seen, summary, says ? (size_t)(says - summary) : strlen(summary));
	if (says)
		as_buf_adds(expected, says + strlen(SAYS));
}
