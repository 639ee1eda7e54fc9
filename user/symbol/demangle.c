/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * demangle: runs libiberty within a limit.
 *
 * A C++ or Rust name of a few hundred bytes can mean a text of any size, since parts refer back to
 * earlier parts. libiberty gives the text piece by piece and can't be stopped, so the callback
 * leaves by longjmp() once there is enough. Its callback entry points keep their state on the
 * stack; at most one identifier that Rust wrote in punycode leaks. Its own recursion limit leaves
 * C++ names above 1 KiB as they are.
 */
#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "symbol/demangle_d.h"

struct text {
	char *bytes;
	size_t n;
	bool is_cut;
	jmp_buf full;
};

static void append(const char *piece, size_t n, void *opaque)
{
	struct text *text = opaque;
	size_t room = DEMANGLED_MAX - text->n;

	memcpy(text->bytes + text->n, piece, n < room ? n : room);
	text->n += n < room ? n : room;
	if (n > room) {
		text->is_cut = true;
		longjmp(text->full, 1);
	}
}

/* Ends a cut text between two UTF-8 characters. Returns its length. */
static size_t cut(char *bytes, size_t n)
{
	while (n && ((unsigned char)bytes[n - 1] & 0xc0) == 0x80)
		n--;
	if (n && (unsigned char)bytes[n - 1] >= 0xc0)
		n--;
	memcpy(bytes + n, "…", sizeof "…");
	return n + strlen("…");
}

static size_t finish(struct text *text)
{
	if (text->is_cut)
		return cut(text->bytes, text->n);
	text->bytes[text->n] = '\0';
	return text->n;
}

static bool leaves_names;

void demangle_leave(bool leave)
{
	leaves_names = leave;
}

static bool is_mangled(const char *name)
{
	return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

static size_t copy(const char *name, char *bytes)
{
	size_t n = strnlen(name, DEMANGLED_MAX + 1);

	if (n <= DEMANGLED_MAX) {
		memcpy(bytes, name, n + 1);
		return n;
	}
	memcpy(bytes, name, DEMANGLED_MAX);
	return cut(bytes, DEMANGLED_MAX);
}

/* Fills @text with the meaning of @mangled, as far as it fits; false: it has none. */
static bool translate(const char *mangled, struct text *text)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;

	if (setjmp(text->full))
		return true;
	if (rust_demangle_callback(mangled, options, append, text))
		return text->n;
	text->n = 0;
	return cplus_demangle_v3_callback(mangled, options, append, text) && text->n;
}

/* D's grammar does not know what compilers append (".isra.0"). */
static bool translate_d(const char *name, struct text *text)
{
	size_t n = strcspn(name, ".");

	text->n = demangle_d(name, n, text->bytes, DEMANGLED_MAX, &text->is_cut);
	if (!text->n || text->is_cut || !name[n] || setjmp(text->full))
		return text->n;
	append(" [clone ", strlen(" [clone "), text);
	append(name + n, strlen(name + n), text);
	append("]", 1, text);
	return true;
}

size_t demangle(const char *name, char bytes[static DEMANGLED_SIZE])
{
	const char *mangled = strncmp(name, "__Z", 3) == 0 ? name + 1 : name;
	struct text text = {.bytes = bytes};

	if (leaves_names || strlen(mangled) >= SYMBOL_NAME_MAX)
		return copy(name, bytes);
	if (strncmp(name, "_D", 2) == 0 ? !translate_d(name, &text)
					: !is_mangled(mangled) || !translate(mangled, &text))
		return copy(name, bytes);
	return finish(&text);
}

int demangle_add(struct strings *strings, const char *name, uint32_t *ret_id)
{
	char text[DEMANGLED_SIZE];
	size_t n = demangle(name, text);

	return strings_add_bytes(strings, text, n, ret_id);
}

int symbol_name_compare(const char *a, const char *b)
{
	size_t underscores_a = strspn(a, "_"), underscores_b = strspn(b, "_");
	size_t length_a = strlen(a), length_b = strlen(b);

	if (underscores_a != underscores_b)
		return underscores_a < underscores_b ? -1 : 1;
	if (length_a != length_b)
		return length_a < length_b ? -1 : 1;
	return strcmp(a, b);
}
