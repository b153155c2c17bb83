/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lengths given to the allocator and to functions for blocks of memory. Inside those, a symbolic
 * length would make addresses and the allocator's own records symbolic, and pin the length at once.
 * Instead, it is concrete inside, without a constraint, and a PIN event (LENGTH) says so. This is
 * the one place where a path is not spelled out in full: another length may find no memory, or
 * leave other bytes. */
#include "code.h"
#include "pub_tool_debuginfo.h"

#define REG(name) offsetof(VexGuestAMD64State, guest_##name)

static const struct {
	const HChar *name;
	UShort regs[2]; /* offsets of the arguments that are lengths */
} rows[] = {
	{ "malloc", { REG(RDI), 0 } },	       { "calloc", { REG(RDI), REG(RSI) } },
	{ "realloc", { REG(RSI), 0 } },	       { "reallocarray", { REG(RSI), REG(RDX) } },
	{ "memalign", { REG(RSI), 0 } },       { "aligned_alloc", { REG(RSI), 0 } },
	{ "posix_memalign", { REG(RDX), 0 } }, { "valloc", { REG(RDI), 0 } },
	{ "memcpy", { REG(RDX), 0 } },	       { "memmove", { REG(RDX), 0 } },
	{ "mempcpy", { REG(RDX), 0 } },	       { "memset", { REG(RDX), 0 } },
};

const UShort *as_vg_lengths_at(Addr at)
{
	const HChar *name;

	if (!VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), at, &name))
		return NULL;
	for (UInt i = 0; i < sizeof rows / sizeof *rows; i++)
		if (VG_(strcmp)(rows[i].name, name) == 0)
			return rows[i].regs;
	return NULL;
}
