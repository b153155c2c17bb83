/* SPDX-License-Identifier: GPL-2.0 */
/* Only what kernels/kcov.patch changes; it is not compiled. */
/* ... */
	return ip;
}

/*
 * Entry point from instrumented code.
 * This is called once per basic-block/edge.
/* ... */
	unsigned long ip = canonicalize_ip(_RET_IP_);
	unsigned long pos;

	t = current;
	if (!check_kcov_mode(KCOV_MODE_TRACE_PC, t))
		return;
/* ... */
	 * use of debugfs_create_file_unsafe() is actually safe here.
	 */
	debugfs_create_file_unsafe("kcov", 0600, NULL, NULL, &kcov_fops);

#ifdef CONFIG_KCOV_SELFTEST
	selftest();
