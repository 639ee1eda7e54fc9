/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * language: guesses the programming language of a function by its name.
 *
 * Compilers leave marks in names (Rust's hashes and `as` in angle brackets, Go's packages with
 * slashes, V8's and the JVM's notation for compiled code), and files have suffixes. A name without
 * any mark counts as C.
 */
#ifndef RENDER_LANGUAGE_H
#define RENDER_LANGUAGE_H

#include "core/profile.h"

enum language {
	LANGUAGE_C,
	LANGUAGE_CPP,
	LANGUAGE_RUST,
	LANGUAGE_GO,
	LANGUAGE_JAVA,
	LANGUAGE_JAVASCRIPT,
	LANGUAGE_PYTHON,
	LANGUAGE_PERL,
	LANGUAGE_RUBY,
	LANGUAGE_PHP,
	LANGUAGE_ERLANG,
	N_LANGUAGES,
};

/* @module: the file's name without folders, "" when unknown. @kind: code of any kind. */
enum language language_of(enum frame_kind kind, const char *name, const char *module);

/* Whether @name belongs to the standard library or runtime of @language. */
bool language_has(enum language language, const char *name);

/* "C++" */
const char *language_text(enum language language);

#endif
