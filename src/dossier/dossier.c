/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dossier: see dossier.h. */
#include "dossier/dossier.h"

#include "dossier/letter/mail.h"
#include "dossier/program/emit_c.h"
#include "dossier/program/expect.h"
#include "dossier/readme.h"
#include "dossier/recipe.h"
#include "dossier/script.h"
#include "dossier/writes.h"

int as_dossier_begin(const struct as_dir *folder, const struct as_finding *f, const char *id,
		     struct as_err *err)
{
	int rc = as_emit_c_write(folder, f->workload_name ? f->workload_name : "workload",
				 f->workload, err);

	return rc ? rc : as_readme_write(folder, f, id, err);
}

int as_dossier_tell(const struct as_dir *folder, bool own_files, struct as_err *err)
{
	int rc = own_files ? 0 : as_script_write(folder, err);

	return rc ? rc : as_mail_write(folder, err);
}

int as_dossier_write(const struct as_dir *folder, const struct as_stored *stored,
		     struct as_err *err)
{
	int rc = as_recipe_is_library(stored->record.finding.target)
			 ? 0
			 : as_expect_write(folder, stored, err);

	if (!rc)
		rc = as_writes_save(folder, err);
	return rc ? rc : as_dossier_tell(folder, false, err);
}
