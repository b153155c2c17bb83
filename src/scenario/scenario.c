/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scenario: the table. */
#include "scenario/scenario.h"

#include "base/buf.h"

#include <string.h>

static const struct as_scenario_ops *const scenarios[] = {
	&as_scenario_sequential,
	&as_scenario_race,
	&as_scenario_crash,
	&as_scenario_diff,
};

#define NSCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

const struct as_scenario_ops *as_scenario(unsigned i)
{
	return i < NSCENARIOS ? scenarios[i] : NULL;
}

int as_scenario_find(const char *text, const struct as_scenario_ops **ops, const char **params,
		     struct as_err *err)
{
	size_t len = strcspn(text, ":");
	struct as_buf names = { 0 };
	int rc;

	for (size_t i = 0; i < NSCENARIOS; i++) {
		if (strlen(scenarios[i]->name) == len && !strncmp(scenarios[i]->name, text, len)) {
			as_assert(scenarios[i]->api == AS_SCENARIO_API);
			*ops = scenarios[i];
			*params = text + len + (text[len] == ':');
			as_buf_free(&names);
			return 0;
		}
		as_buf_addf(&names, "%s%s", i ? ", " : "", scenarios[i]->name);
	}
	rc = as_fail(err, AS_EUSE, "unknown scenario '%.*s': there is %s", (int)len, text,
		     as_buf_str(&names));
	as_buf_free(&names);
	return rc;
}
