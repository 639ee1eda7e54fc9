/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroup_words: what the path of a cgroup says: whose container or service it is. By the names
 * that Docker, containerd, CRI-O, Podman, LXC and systemd give.
 */
#ifndef STORE_CGROUP_WORDS_H
#define STORE_CGROUP_WORDS_H

#define CGROUP_WORD_SIZE 256

/* Each writes "" where the path says nothing of it. */
/* The container's id: 64 hexadecimal digits, or a substitute. */
void cgroup_container(const char *path, char word[static CGROUP_WORD_SIZE]);
/* The innermost `….service` or `….scope` that is no container's. */
void cgroup_unit(const char *path, char word[static CGROUP_WORD_SIZE]);

#endif
