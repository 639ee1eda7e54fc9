/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/filter.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system.h"

struct cgroup_mount {
	char folder[4096];
	char options[1024];
	bool is_v2;
};

/* Finds the mounted tree that contains @path: the longest mount point that is a prefix of it. */
static bool find_mount(const char *path, struct cgroup_mount *ret)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *entry;
	size_t best = 0;

	if (!mounts)
		return false;
	while ((entry = getmntent(mounts))) {
		size_t n = strlen(entry->mnt_dir);
		bool is_v2 = strcmp(entry->mnt_type, "cgroup2") == 0;

		if (!is_v2 && strcmp(entry->mnt_type, "cgroup") != 0)
			continue;
		if (n < best || strncmp(path, entry->mnt_dir, n) != 0 ||
		    (path[n] != '/' && path[n] != '\0'))
			continue;
		best = n;
		ret->is_v2 = is_v2;
		snprintf(ret->folder, sizeof ret->folder, "%s", entry->mnt_dir);
		snprintf(ret->options, sizeof ret->options, "%s", entry->mnt_opts);
	}
	endmntent(mounts);
	return best > 0;
}

/*
 * Tries the path itself, then the same below each tree's root, v2 first: /proc/PID/cgroup shows
 * users such paths.
 */
static bool find_folder(const char *path, char *resolved, struct cgroup_mount *mount)
{
	FILE *mounts;
	struct mntent *entry;
	char text[8192];
	bool found = false;

	if (!*path)
		return false;
	if (realpath(path, resolved) && find_mount(resolved, mount))
		return true;
	mounts = setmntent("/proc/self/mounts", "re");
	if (!mounts)
		return false;
	while (!found && (entry = getmntent(mounts))) {
		if (strncmp(entry->mnt_type, "cgroup", 6) != 0)
			continue;
		snprintf(text, sizeof text, "%s/%s", entry->mnt_dir, path);
		found = realpath(text, resolved) && find_mount(resolved, mount);
	}
	endmntent(mounts);
	return found;
}

/* Finds `<name>_cgrp_id` of enum cgroup_subsys_id: kernels differ in their controllers. */
static int subsys_number(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, "cgroup_subsys_id", BTF_KIND_ENUM);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, id) : NULL;
	char wanted[64];

	snprintf(wanted, sizeof wanted, "%s_cgrp_id", name);
	for (int i = 0; type && i < btf_vlen(type); i++) {
		const struct btf_enum *value = &btf_enum(type)[i];

		if (strcmp(btf__name_by_offset(btf, value->name_off), wanted) == 0)
			return value->val;
	}
	return -1;
}

/* The first controller among a v1 tree's mount options. */
static int find_subsys(const struct cgroup_mount *mount)
{
	char options[sizeof mount->options], *save, *option;
	struct btf *btf = btf__load_vmlinux_btf();
	int subsys = -1;

	if (!btf)
		return -1;
	memcpy(options, mount->options, sizeof options);
	for (option = strtok_r(options, ",", &save); option && subsys < 0;
	     option = strtok_r(NULL, ",", &save)) {
		/* Two have another name inside the kernel. */
		if (strcmp(option, "blkio") == 0)
			option = "io";
		subsys = subsys_number(btf, option);
	}
	btf__free(btf);
	return subsys;
}

int cgroup_resolve(const char *path, struct bf_config *config, struct failure *failure)
{
	char resolved[4096];
	struct cgroup_mount mount;
	struct stat stat_;

	if (!find_folder(path, resolved, &mount) || stat(resolved, &stat_) < 0 ||
	    !S_ISDIR(stat_.st_mode)) {
		failure_set(failure, -ENOENT, "-G: no cgroup '%s'", path);
		return failure_fix(failure, -ENOENT,
				   "give a folder below /sys/fs/cgroup, or what "
				   "/proc/PID/cgroup shows after its last colon");
	}
	config->cgroup_subsys = mount.is_v2 ? -1 : find_subsys(&mount);
	if (!mount.is_v2 && config->cgroup_subsys < 0)
		return failure_set(failure, -EINVAL,
				   "-G: %s belongs to a v1 tree without a controller", path);
	config->by_cgroup = 1;
	config->cgroup_id = stat_.st_ino; /* on 64-bit machines the inode is the cgroup's id */
	return 0;
}

int cgroup_open(const char *path)
{
	char resolved[4096];
	struct cgroup_mount mount;
	int fd = find_folder(path, resolved, &mount)
			 ? open(resolved, O_PATH | O_DIRECTORY | O_CLOEXEC)
			 : -1;

	return fd < 0 ? -ENOENT : fd;
}

bool cgroup_is_removed(int fd)
{
	return faccessat(fd, "cgroup.procs", F_OK, 0) < 0 && (errno == ENOENT || errno == ENODEV);
}
