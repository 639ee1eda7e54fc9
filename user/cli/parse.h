/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parse: numbers, times and lists as people type them. All functions return 0 or -EINVAL. */
#ifndef CLI_PARSE_H
#define CLI_PARSE_H

#include <stddef.h>
#include <stdint.h>

/* `10`, `0.5`, `500us`, `10ms`, `2s`, `3m`, `1h`; a bare number counts units of @unit_ns. */
int parse_time(const char *text, uint64_t unit_ns, uint64_t *ret_ns);
int parse_unsigned(const char *text, uint64_t most, uint64_t *ret);
/* `1048576`, `64M`, `1G`, `512K`: bytes, in powers of 1024. */
int parse_size(const char *text, uint64_t *ret);
/* The same with at least a capital letter, as a number of bytes: `500M`, `2GiB`, `4096B`. */
int parse_bytes(const char *text, uint64_t *ret);
/* Finite and not negative. */
int parse_decimal(const char *text, double *ret);
/* `12,34`; appends to the malloc'ed *ids. Also -ENOMEM. */
int parse_ids(const char *text, uint32_t **ids, size_t *n_ids);

#endif
