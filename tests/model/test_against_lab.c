/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "against.h"

int main(void)
{
	return run_against("lab", 0, false);
}
