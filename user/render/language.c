/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/language.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool has(const char *text, const char *what)
{
	return strstr(text, what) != NULL;
}

static bool has_any(const char *text, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (has(text, list[i]))
			return true;
	return false;
}

/* Matches a file of this suffix, as in `load config.py:12`. */
static bool names_file(const char *name, const char *suffix)
{
	size_t n = strlen(suffix);

	for (const char *at = name; (at = strstr(at, suffix)); at++)
		if (at > name && !isalnum((unsigned char)at[n]) && at[n] != '_' && at[n] != '.')
			return true;
	return false;
}

static bool is_python(const char *name)
{
	static const char *const marks[] = {"<module>",	 "<lambda>",   "<listcomp>",
					    "<genexpr>", "<dictcomp>", "<frozen "};

	return text_begins(name, "py::") || names_file(name, ".py") ||
	       has_any(name, marks, COUNT(marks));
}

/* Matches a module of node's own, node:fs, but not its C++, node::fs. */
static bool names_node_module(const char *name)
{
	for (const char *at = name; (at = strstr(at, "node:")); at++)
		if ((at == name || !isalnum((unsigned char)at[-1])) && at[5] != ':')
			return true;
	return false;
}

/* V8 marks code by how well it is compiled: ~interpreted, ^baseline, *optimized. */
static bool is_javascript(const char *name)
{
	static const char *const prefixes[] = {
		"Builtins_", "Builtin:", "BytecodeHandler:", "LazyCompile:", "JS:", "RegExp:"};
	static const char *const suffixes[] = {".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx"};

	if (text_begins_any(name, prefixes, COUNT(prefixes)))
		return true;
	for (size_t i = 0; i < COUNT(suffixes); i++)
		if (names_file(name, suffixes[i]))
			return true;
	return names_node_module(name);
}

static bool is_perl(const char *name)
{
	return text_begins(name, "Perl_") || names_file(name, ".pl") || names_file(name, ".pm");
}

static bool is_ruby(const char *name, const char *module)
{
	return names_file(name, ".rb") || text_begins(module, "<internal:") ||
	       text_ends(module, ".rb");
}

static bool is_php(const char *name, const char *module)
{
	return names_file(name, ".php") || text_begins(module, "<php") || text_ends(module, ".php");
}

static bool is_erlang(const char *name, const char *module)
{
	return names_file(name, ".erl") || names_file(name, ".ex") || text_ends(module, ".erl") ||
	       text_ends(module, ".ex");
}

/* C++ and Rust both have std::; these modules are only Rust's. */
static const char *const rust_std[] = {"std::rt::",
				       "std::sys::",
				       "std::sys_common::",
				       "std::panicking::",
				       "std::panic::",
				       "std::io::",
				       "std::fs::",
				       "std::collections::",
				       "std::process::",
				       "std::env::",
				       "std::path::",
				       "std::net::",
				       "std::sync::",
				       "std::alloc::",
				       "std::backtrace::",
				       "std::thread::local::",
				       "std::thread::spawn",
				       "core::",
				       "alloc::",
				       "hashbrown::",
				       "__rust_",
				       "__rdl_",
				       "rust_begin_unwind",
				       "<core::",
				       "<alloc::",
				       "<std::",
				       "<hashbrown::"};

/* `::h` and 16 hexadecimal digits: the hash of the legacy mangling. */
static bool ends_in_rust_hash(const char *name)
{
	size_t n = strlen(name);

	return n > 19 && text_begins(name + n - 19, "::h") &&
	       strspn(name + n - 16, "0123456789abcdef") == 16;
}

static bool is_rust(const char *name)
{
	static const char *const marks[] = {"{{closure}}", "{closure#", "{impl#", "{{impl}}",
					    "{shim:",	   "$LT$",	"::<"};

	if (text_begins(name, "_R") && has(name, "Nv"))
		return true;
	if (text_begins_any(name, rust_std, COUNT(rust_std)) && !text_ends(name, ")"))
		return true;
	return has_any(name, marks, COUNT(marks)) || ends_in_rust_hash(name) ||
	       (name[0] == '<' && has(name, ">::") && !text_ends(name, ")"));
}

static const char *const java_own[] = {"java.", "java/", "Ljava/", "javax.", "javax/", "Ljavax/",
				       "jdk.",	"jdk/",	 "Ljdk/",  "sun.",   "sun/",   "Lsun/"};

static bool is_java(enum frame_kind kind, const char *name)
{
	static const char *const roots[] = {"com.",  "com/",	"org.",	    "org/",   "Lcom/",
					    "Lorg/", "kotlin.", "kotlin/",  "scala.", "scala/",
					    "Lnet/", "Lio/",	"Lkotlin/", "Lscala/"};
	static const char *const stubs[] = {"Interpreter", "StubRoutines", "vtable stub",
					    "call_stub", "I2C/C2I"};

	if (text_begins_any(name, java_own, COUNT(java_own)) || has(name, ";::") || has(name, ";."))
		return true;
	/*
	 * github.com/… begins differently; com.example.Main and com/example/Main::run do not match.
	 */
	if (text_begins_any(name, roots, COUNT(roots)) && !has(name, ".("))
		return true;
	return kind == FRAME_JIT && text_begins_any(name, stubs, COUNT(stubs));
}

static const char *const go_own[] = {
	"runtime.",  "runtime/",  "net.",      "net/",	  "syscall.", "sync.",	 "sync/",
	"internal/", "reflect.",  "encoding/", "os.",	  "os/",      "io.",	 "io/",
	"fmt.",	     "bufio.",	  "strings.",  "bytes.",  "time.",    "sort.",	 "context.",
	"crypto/",   "compress/", "math.",     "math/",	  "strconv.", "regexp.", "unicode/",
	"hash/",     "log.",	  "errors.",   "slices.", "maps.",    "go:",	 "type:",
	"vendor/",   "gogo",	  "database/"};

static bool is_go(const char *name)
{
	const char *slash = strrchr(name, '/'), *dot;

	if (has(name, "::") || strchr(name, ' '))
		return false;
	if (text_begins_any(name, go_own, COUNT(go_own)) || text_begins(name, "main.") ||
	    has(name, ".(*"))
		return true;
	/*
	 * golang.org/x/net/http2.Serve: a domain before the first slash, a package after the last.
	 */
	dot = strchr(name, '.');
	return slash && dot && dot < strchr(name, '/') && strchr(slash, '.');
}

static bool is_cpp(const char *name)
{
	return text_begins(name, "_Z") || has(name, "::") || text_begins(name, "operator") ||
	       (text_ends(name, ")") && strchr(name, '(') > name) || text_ends(name, ") const") ||
	       (strchr(name, '<') && strchr(name, '>') && name[0] != '<');
}

enum language language_of(enum frame_kind kind, const char *name, const char *module)
{
	/* Not a name: [libfoo.so.1+0x1a2b]. */
	if (name[0] == '[')
		return LANGUAGE_C;
	if (is_python(name) || text_ends(module, ".py"))
		return LANGUAGE_PYTHON;
	if (is_javascript(name))
		return LANGUAGE_JAVASCRIPT;
	if (is_perl(name) || text_ends(module, ".pl") || text_ends(module, ".pm"))
		return LANGUAGE_PERL;
	if (is_ruby(name, module))
		return LANGUAGE_RUBY;
	if (is_php(name, module))
		return LANGUAGE_PHP;
	if (is_erlang(name, module))
		return LANGUAGE_ERLANG;
	if (is_rust(name))
		return LANGUAGE_RUST;
	if (is_java(kind, name) || text_ends(module, ".jar") || text_ends(module, ".oat"))
		return LANGUAGE_JAVA;
	if (is_go(name))
		return LANGUAGE_GO;
	return is_cpp(name) ? LANGUAGE_CPP : LANGUAGE_C;
}

bool language_has(enum language language, const char *name)
{
	static const char *const javascript[] = {"Builtin", "BytecodeHandler", "RegExp:"};
	static const char *const python[] = {"/lib/python", "site-packages", "dist-packages",
					     "<frozen ", "importlib"};

	switch (language) {
	case LANGUAGE_CPP:
		return text_begins(name, "std::") || text_begins(name, "__gnu_cxx::") ||
		       text_begins(name, "_ZNS");
	case LANGUAGE_RUST:
		return text_begins(name, "std::") ||
		       text_begins_any(name, rust_std, COUNT(rust_std));
	case LANGUAGE_GO: return text_begins_any(name, go_own, COUNT(go_own));
	case LANGUAGE_JAVA: return text_begins_any(name, java_own, COUNT(java_own));
	case LANGUAGE_JAVASCRIPT:
		return text_begins_any(name, javascript, COUNT(javascript)) ||
		       names_node_module(name) || has(name, "node_modules/");
	case LANGUAGE_PYTHON: return has_any(name, python, COUNT(python));
	case LANGUAGE_PERL: return text_begins(name, "Perl_");
	case LANGUAGE_RUBY: return has(name, "/lib/ruby") || has(name, "<internal:");
	default: return false;
	}
}

const char *language_text(enum language language)
{
	// clang-format off
	static const char *const texts[N_LANGUAGES] = {
		"C", "C++", "Rust", "Go", "Java", "JavaScript", "Python", "Perl", "Ruby", "PHP", "Erlang"};
	// clang-format on

	return texts[language];
}
