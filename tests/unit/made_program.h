/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_program: a C++ program whose inlined functions are known. A label in the code marks each
 * address; the comment after it lists the frames there, innermost first, with their lines.
 */
#ifndef TESTS_UNIT_MADE_PROGRAM_H
#define TESTS_UNIT_MADE_PROGRAM_H

/* clang-format off */
static const char made_header[] =
	/*  1 */ "#define ALWAYS static inline __attribute__((always_inline))\n"
	/*  2 */ "#define NEVER __attribute__((noinline))\n"
	/*  3 */ "#define HERE(label) asm volatile(\".globl \" #label \"\\n\" #label \":nop\" ::: \"memory\")\n"
	/*  4 */ "namespace space {\n"
	/*  5 */ "struct Thing {\n"
	/*  6 */ "	int n;\n"
	/*  7 */ "	__attribute__((always_inline)) inline int method(int by)\n"
	/*  8 */ "	{\n"
	/*  9 */ "		HERE(in_method);\n"
	/* 10 */ "		return n * by;\n"
	/* 11 */ "	}\n"
	/* 12 */ "};\n"
	/* 13 */ "}\n";

static const char made_program[] =
	/*  1 */ "#include \"folder/header.h\"\n"
	/*  2 */ "extern int sink;\n"
	/*  3 */ "extern \"C\" int in_c(int n);\n"
	/*  4 */ "namespace space { namespace {\n"
	/*  5 */ "ALWAYS int hidden(int n) { HERE(in_hidden); return n + 1; }\n"
	/*  6 */ "struct Local { ALWAYS int step(int n) { HERE(in_step); return n - 1; } };\n"
	/*  7 */ "} }\n"
	/*  8 */ "ALWAYS int middle(int n)\n"
	/*  9 */ "{\n"
	/* 10 */ "	space::Thing thing = {n};\n"
	/* 11 */ "	n = thing.method(3);\n"
	/* 12 */ "	return space::hidden(n);\n"
	/* 13 */ "}\n"
	/* 14 */ "NEVER int outer(int n)\n"
	/* 15 */ "{\n"
	/* 16 */ "	HERE(in_outer);\n"
	/* 17 */ "	return middle(n) + 7;\n"
	/* 18 */ "}\n"
	/* 19 */ "NEVER int lambdas(int n)\n"
	/* 20 */ "{\n"
	/* 21 */ "	auto add = [n](int by) __attribute__((always_inline)) {\n"
	/* 22 */ "		HERE(in_lambda);\n"
	/* 23 */ "		return n + by;\n"
	/* 24 */ "	};\n"
	/* 25 */ "	struct Inner { static NEVER int call(int n) { HERE(in_call); return n * 5; } };\n"
	/* 26 */ "	return add(n) + Inner::call(n) + space::Local::step(n);\n"
	/* 27 */ "}\n"
	/* 28 */ "NEVER int unused(int n) { return n * 9; }\n"
	/* 29 */ "int sink = 1;\n"
	/* 30 */ "int main(int n, char **)\n"
	/* 31 */ "{\n"
	/* 32 */ "	sink = outer(n) + lambdas(n) + in_c(n);\n"
	/* 33 */ "	return sink;\n"
	/* 34 */ "}\n";

static const char made_c[] =
	/* 1 */ "static inline __attribute__((always_inline)) int c_inlined(int n)\n"
	/* 2 */ "{\n"
	/* 3 */ "	asm volatile(\".globl in_c_inlined\\nin_c_inlined:nop\" ::: \"memory\");\n"
	/* 4 */ "	return n ^ 5;\n"
	/* 5 */ "}\n"
	/* 6 */ "__attribute__((noinline)) int in_c(int n) { return c_inlined(n); }\n";
/* clang-format on */

/* The meaning of a label's address. */
struct made_frame {
	const char *function, *file;
	unsigned int line;
};

struct made_label {
	const char *name;
	struct made_frame frames[5]; /* innermost first; the last is not inlined */
};

#define HEADER	"header.h"
#define PROGRAM "program.cc"

static const struct made_label made_labels[] = {
	{"in_outer", {{"outer(int)", PROGRAM, 16}}},
	{"in_method",
	 {{"space::Thing::method(int)", HEADER, 9},
	  {"middle", PROGRAM, 11},
	  {"outer(int)", PROGRAM, 17}}},
	{"in_hidden",
	 {{"space::(anonymous namespace)::hidden", PROGRAM, 5},
	  {"middle", PROGRAM, 12},
	  {"outer(int)", PROGRAM, 17}}},
	{"in_lambda",
	 {{"lambdas(int)::{lambda}::operator()", PROGRAM, 22}, {"lambdas(int)", PROGRAM, 26}}},
	{"in_step",
	 {{"space::(anonymous namespace)::Local::step", PROGRAM, 6},
	  {"lambdas(int)", PROGRAM, 26}}},
	{"in_call", {{"lambdas(int)::Inner::call", PROGRAM, 25}}},
	{"in_c_inlined", {{"c_inlined", "part.c", 3}, {"in_c", "part.c", 6}}},
};

#define N_MADE_LABELS (sizeof made_labels / sizeof *made_labels)

#endif
