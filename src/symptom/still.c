/* SPDX-License-Identifier: GPL-2.0-or-later */
/* still: see still.h. */
#include "symptom/still.h"

#include "base/finding.h"

#include <string.h>

enum compares { ALL, BEFORE_THE_OPERATION, BEFORE_THE_FIELD, NOTHING };

static const enum compares rows[] = {
#define STILL(how, compares, why) compares,
#include "symptom/still.def"
#undef STILL
};

/* Both name a field, and it is all that may differ. */
static bool is_same_before(const char *a, const char *b, const char *mark)
{
	const char *x = strstr(a, mark), *y = strstr(b, mark);

	return x && y && x - a == y - b && !memcmp(a, b, (size_t)(x - a));
}

bool as_still_fails(enum as_still how, const char *before, const char *now)
{
	if (!now)
		return false;
	switch (rows[how]) {
	case ALL:
		return !strcmp(before, now);
	case BEFORE_THE_OPERATION:
		return as_signature_same_symptom(before, now);
	case BEFORE_THE_FIELD:
		return is_same_before(before, now, AS_SIGNATURE_FIELD);
	case NOTHING:
		break;
	}
	return true;
}
