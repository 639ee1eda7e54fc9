/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/kernel_names.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "bpf/wire.h"
#include "base/unpack_object.h"
#include "names.skel.h"
#include "symbol/demangle.h"

/* Names the request's addresses; @ids are their names. A module's name follows a space. */
static int add_names(struct bf_kernel_names *request, uint32_t *ids, bool *lasting,
		     struct strings *strings)
{
	for (uint32_t i = 0; i < request->n; i++) {
		char *name = request->names[i];
		int r;

		/* Unnamed addresses come back as numbers, which no function begins with. */
		if (lasting)
			lasting[i] = !strchr(name, ' ');
		if (strncmp(name, "0x", 2) == 0)
			continue;
		name[strcspn(name, " ")] = '\0';
		r = demangle_add(strings, name, &ids[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int ask(struct names *skel, struct lookups *lookups, bool *lasting, struct strings *strings,
	       int *ret_refused)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	struct bf_kernel_names *request = &skel->bss->request;
	int r;

	for (size_t i = 0; i < lookups->n; i += request->n) {
		request->n = lookups->n - i < BF_KERNEL_NAMES ? lookups->n - i : BF_KERNEL_NAMES;
		memcpy(request->addresses, lookups->addresses + i,
		       request->n * sizeof *request->addresses);
		*ret_refused = bpf_prog_test_run_opts(bpf_program__fd(skel->progs.name_addresses),
						      &options);
		if (*ret_refused < 0)
			return 0;
		r = add_names(request, lookups->names + i, lasting ? lasting + i : NULL, strings);
		if (r < 0)
			return r;
	}
	return 0;
}

static struct names *kept; /* NULL: each search loads the program anew */

static struct names *load(int *ret_refused)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL); /* our caller reports refusals */
	struct names *skel = names__open();

	*ret_refused = skel ? 0 : -errno;
	if (skel) {
		unpack_object_free(&skel->skeleton->data);
		*ret_refused = names__load(skel);
	}
	if (*ret_refused < 0) {
		names__destroy(skel);
		skel = NULL;
	}
	libbpf_set_print(print);
	return skel;
}

void kernel_names_keep(void)
{
	int refused;

	if (!kept)
		kept = load(&refused);
}

void kernel_names_done(void)
{
	names__destroy(kept);
	kept = NULL;
}

int kernel_names_find(struct lookups *lookups, bool *ret_lasting, struct strings *strings,
		      int *ret_refused)
{
	struct names *skel = kept;
	int r = 0;

	*ret_refused = 0;
	if (!lookups->n)
		return 0;
	if (!skel)
		skel = load(ret_refused);
	if (skel)
		r = ask(skel, lookups, ret_lasting, strings, ret_refused);
	if (skel != kept)
		names__destroy(skel);
	return r;
}
