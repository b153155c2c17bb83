/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/against.h"

int main(void)
{
	return t_run_against("lab", 0, false);
}
