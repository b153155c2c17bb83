/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of Valgrind's core that its archive exports and its installed headers do not declare.
 * They have been what they are since 3.10; the build fails where one is missing. */
#ifndef AS_SYM_VG_CORE_H
#define AS_SYM_VG_CORE_H

#include "pub_tool_basics.h"

SysRes VG_(am_shared_mmap_file_float_valgrind)(SizeT length, UInt prot, Int fd, Off64T offset);
Bool VG_(translate)(ThreadId tid, Addr orig_addr, Bool debugging, Int verbosity, ULong bbs_done,
		    Bool allow_redirection);
Bool VG_(search_transtab)(Addr *res_hcode, UInt *res_sNo, UInt *res_tteNo, Addr guest_addr,
			  Bool upd_cache);
void VG_(do_atfork_pre)(ThreadId tid);
void VG_(do_atfork_parent)(ThreadId tid);
void VG_(do_atfork_child)(ThreadId tid);
Int VG_(safe_fd)(Int oldfd);
SysRes VG_(pread)(Int fd, void *buf, Int count, Off64T offset);
Int VG_(count_living_threads)(void);
Int VG_(kill)(Int pid, Int signal);

#endif
