/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vdso: the ELF image that the kernel maps into every process.
 */
#ifndef TESTS_VDSO_H
#define TESTS_VDSO_H

#include <stdio.h>
#include <sys/auxv.h>

/* The image, or NULL where there is none; *ret_size: the mapped size. */
static inline void *vdso_image(size_t *ret_size)
{
	unsigned long image = getauxval(AT_SYSINFO_EHDR), start, end;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	*ret_size = 0;
	while (maps && fgets(line, sizeof line, maps)) {
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start == image)
			*ret_size = end - start;
	}
	if (maps)
		fclose(maps);
	return *ret_size ? (void *)image : NULL;
}

#endif
