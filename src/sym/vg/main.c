/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assaysym: a tool of Valgrind that follows bytes of a disk through an unmodified checker.
 * docs/SYMBOLIC-FORMAT.md says how it is talked to. */
#include "code.h"
#include "core.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_options.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"

extern Int VG_(clo_vgdb); /* an enum there: no debugger asks for us, and its pipes cost time */

static const HChar *disk, *ranges, *log_path;
static Int cmd_fd = -1, answer_fd = -1;

static Bool option(const HChar *arg)
{
	if VG_STR_CLO (arg, "--disk", disk) {
	} else if VG_STR_CLO (arg, "--ranges", ranges) {
	} else if VG_STR_CLO (arg, "--symlog", log_path) {
	} else if VG_INT_CLO (arg, "--cmd-fd", cmd_fd) {
	} else if VG_INT_CLO (arg, "--answer-fd", answer_fd) {
	} else if VG_BOOL_CLO (arg, "--cover-only", as_vg_cover_only) {
	} else if VG_BOOL_CLO (arg, "--stand-early", as_vg_stand_early) {
	} else
		return False;
	return True;
}

static void usage(void)
{
	VG_(printf)
	("    --symlog=FILE         the log: a file with room, mapped\n"
	 "    --disk=FILE           the disk whose bytes are symbolic\n"
	 "    --ranges=FILE         which of them: symbolic|watched OFFSET LENGTH\n"
	 "    --cmd-fd=N            serve: commands come from there ...\n"
	 "    --answer-fd=N         ... and answers go there\n"
	 "    --stand-early=yes|no  stand where the disk is first named, not where a range\n"
	 "                          is first read [no]\n"
	 "    --cover-only=yes|no   nothing is symbolic, code is covered [no]\n");
}

static void debug_usage(void)
{
}

static void bad(const HChar *what)
{
	VG_(umsg)("assaysym: %s\n", what);
	VG_(exit)(3);
}

static void post_clo_init(void)
{
	SysRes r;

	if (!log_path)
		bad("--symlog is missing");
	r = VG_(open)(log_path, VKI_O_RDWR, 0);
	if (sr_isError(r))
		bad("--symlog cannot be opened");
	as_vg_log_open((Int)sr_Res(r));
	VG_(close)((Int)sr_Res(r));
	if (!as_vg_cover_only && (!disk || !ranges))
		bad("--disk and --ranges are missing");
	if (disk)
		as_vg_io_open(disk);
	if (ranges && !as_vg_ranges_read(ranges))
		bad("--ranges cannot be read");
	if ((cmd_fd < 0) != (answer_fd < 0))
		bad("--cmd-fd and --answer-fd go together");
	if (cmd_fd >= 0)
		as_vg_server_open(cmd_fd, answer_fd);
	as_vg_ops_start();
	as_vg_expr_start();
	as_vg_shadow_start();
}

void as_vg_objects(void)
{
	UInt index = 0;

	for (const DebugInfo *d = VG_(next_DebugInfo)(NULL); d; d = VG_(next_DebugInfo)(d))
		as_vg_event_object(index++, VG_(DebugInfo_get_text_bias)(d),
				   VG_(DebugInfo_get_text_avma)(d), VG_(DebugInfo_get_text_size)(d),
				   VG_(DebugInfo_get_filename)(d));
}

void as_vg_finish(void)
{
	if (as_vg_run_covers()) {
		as_vg_objects();
		as_vg_code_cover();
	}
	as_vg_log_end();
}

static void fini(Int status)
{
	(void)status;
	if (as_vg_muted())
		return;
	as_vg_finish();
	as_vg_server_unreached();
}

static void pre_clo_init(void)
{
	VG_(details_name)("assaysym");
	VG_(details_version)("1");
	VG_(details_description)("symbolic bytes of a disk through a checker");
	VG_(details_copyright_author)("GPL-2.0-or-later.");
	VG_(details_bug_reports_to)("the authors of assay");
	VG_(details_avg_translation_sizeB)(640);
	VG_(clo_vgdb) = 0;
	VG_(basic_tool_funcs)(post_clo_init, as_vg_instrument, fini);
	VG_(needs_command_line_options)(option, usage, debug_usage);
	as_vg_io_start();
	as_vg_server_start();
}

VG_DETERMINE_INTERFACE_VERSION(pre_clo_init)
