/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DWARF: a program with known inlined functions, in every version and packing of DWARF that the
 * installed tools can make; real code, compared with addr2line; and malicious files.
 */
#include "unit/made_files.h"

#include <errno.h>
#include <time.h>

#include "symbol/demangle.h"
#include "symbol/dwarf_frames.h"
#include "symbol/elf_symbols.h"
#include "unit/made_program.h"

#define MAX_LOOKUPS 4096

static struct strings strings;
static uint64_t addresses[MAX_LOOKUPS];
static uint32_t names[MAX_LOOKUPS];
static struct lookups lookups = {addresses, names, 0};
static struct dwarf_frames frames;
static bool damaged;

static int setup(void **state)
{
	lookups.n = 0;
	memset(names, 0, sizeof names);
	return strings_init(&strings);
}

static int teardown(void **state)
{
	dwarf_frames_done(&frames);
	strings_done(&strings);
	return 0;
}

static uint64_t lowest_code(const struct elf_file *file)
{
	uint64_t lowest = UINT64_MAX;

	for (size_t i = 0; i < file->n_segments; i++)
		if ((file->segments[i].p_flags & PF_X) && file->segments[i].p_vaddr < lowest)
			lowest = file->segments[i].p_vaddr;
	return lowest;
}

/* Finds the frames of the lookups in @fd; @alternate: dwz's shared file, or -1. */
static int resolve(int fd, int alternate, bool lines)
{
	struct dwarf *dwarf = NULL, *shared = NULL;
	struct elf_file file, shared_file;
	int r = elf_file_open(&file, fd);

	dwarf_frames_done(&frames);
	if (r < 0)
		return r;
	r = dwarf_open(&dwarf, &file, lowest_code(&file));
	if (r == 0 && alternate >= 0) {
		assert_int_equal(elf_file_open(&shared_file, alternate), 0);
		assert_int_equal(dwarf_open(&shared, &shared_file, 0), 0);
		dwarf->alternate = shared;
	}
	if (r == 0)
		r = dwarf_frames_find(dwarf, &lookups, lines, &strings, &frames, &damaged);
	dwarf_free(dwarf);
	dwarf_free(shared);
	if (alternate >= 0)
		elf_file_done(&shared_file);
	elf_file_done(&file);
	return r;
}

/* The address of @symbol in nm's list, which is in file "symbols". */
static uint64_t address_of(const char *symbol)
{
	FILE *stream = fopen(made_path("symbols"), "r");
	unsigned long address, found = 0;
	char line[512], name[256];

	assert_non_null(stream);
	while (fgets(line, sizeof line, stream))
		if (sscanf(line, "%lx %*c %255s", &address, name) == 2 && strcmp(name, symbol) == 0)
			found = address;
	fclose(stream);
	assert_true(found != 0);
	return found;
}

static int compare_addresses(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static const struct dwarf_frame *frames_at(uint64_t address, uint32_t *ret_n)
{
	size_t i = lookups_lower_bound(&lookups, address);

	assert_true(i < lookups.n && addresses[i] == address);
	*ret_n = frames.n[i];
	return frames.frames + frames.first[i];
}

static const char *text_of(uint32_t id)
{
	return strings_get(&strings, id);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Compilers may omit the parameters of file-local functions, and choose the names of lambdas. */
static bool is_name(const char *got, const char *wanted)
{
	size_t n = strlen(wanted);

	if (strstr(wanted, "{lambda}"))
		return strncmp(got, "lambdas(int)::", 14) == 0 && strstr(got, "::operator()");
	return strncmp(got, wanted, n) == 0 && (!got[n] || strcmp(got + n, "(int)") == 0);
}

static void check_label(const struct made_label *label, bool lines)
{
	uint32_t n, i = 0;
	const struct dwarf_frame *got = frames_at(address_of(label->name), &n);

	for (; label->frames[i].function; i++) {
		const struct made_frame *wanted = &label->frames[i];

		assert_true(i < n);
		if (!is_name(text_of(got[i].function), wanted->function))
			fail_msg("%s: %s", label->name, text_of(got[i].function));
		assert_int_equal(got[i].line, lines ? wanted->line : 0);
		if (lines)
			assert_string_equal(base_name(text_of(got[i].file)), wanted->file);
		else
			assert_int_equal(got[i].file, 0);
	}
	assert_int_equal(i, n);
}

/* Builds the program with @compilers (a C++ and a C compiler) and @flags. */
static bool try_build(const char *cxx, const char *cc, const char *flags, const char *name)
{
	return made_try("%s %s -O2 -c -o part.o part.c && %s %s -O2 -o %s program.cc part.o", cc,
			flags, cxx, flags, name);
}

static void check_program(const char *name, const char *alternate)
{
	int fd = made_open(name), shared = alternate ? made_open(alternate) : -1;

	made("nm %s >symbols", name);
	for (int lines = 0; lines < 2; lines++) {
		lookups.n = 0;
		for (size_t i = 0; i < N_MADE_LABELS; i++)
			addresses[lookups.n++] = address_of(made_labels[i].name);
		qsort(addresses, lookups.n, sizeof *addresses, compare_addresses);
		assert_int_equal(resolve(fd, shared, lines), 0);
		assert_false(damaged);
		for (size_t i = 0; i < N_MADE_LABELS; i++)
			check_label(&made_labels[i], lines);
		dwarf_frames_done(&frames);
	}
	close(fd);
	if (shared >= 0)
		close(shared);
}

static int build(void **state)
{
	made_setup(state);
	assert_int_equal(mkdir(made_path("folder"), 0755), 0);
	made_text("folder/header.h", made_header);
	made_text("program.cc", made_program);
	made_text("part.c", made_c);
	return try_build("g++", "gcc", "-g", "program") ? 0 : -1;
}

static void every_version_says_the_same(void **state)
{
	static const char *const flags[] = {
		"-g -gdwarf-2", "-g -gdwarf-3",	      "-g -gdwarf-4",
		"-g -gdwarf-5", "-g -gdwarf-5 -flto", "-g -ffunction-sections -Wl,--gc-sections",
		"-g -static",	"-g -no-pie",
	};

	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		if (!try_build("g++", "gcc", flags[i], "variant"))
			fail_msg("cannot build with %s", flags[i]);
		check_program("variant", NULL);
	}
}

static void dwarf_of_64_bits(void **state)
{
	if (!try_build("g++", "gcc", "-g -gdwarf64", "variant"))
		skip();
	check_program("variant", NULL);
}

/* Its own forms for addresses, strings and lists, and no sibling attributes. */
static void clang_says_the_same(void **state)
{
	if (!try_build("clang++", "clang", "-g -gdwarf-4", "variant"))
		skip();
	check_program("variant", NULL);
	assert_true(try_build("clang++", "clang", "-g -gdwarf-5", "variant"));
	check_program("variant", NULL);
}

static void compressed_sections(void **state)
{
	made("objcopy --compress-debug-sections=zlib program zlib");
	check_program("zlib", NULL);
	made("objcopy --compress-debug-sections=zlib-gnu program old");
	made("readelf -SW old | grep -q zdebug");
	check_program("old", NULL);
}

static void sections_compressed_with_zstd(void **state)
{
	if (!made_try("objcopy --compress-debug-sections=zstd program zstd"))
		skip();
	check_program("zstd", NULL);
}

static void without_symbols(void **state)
{
	made("cp program bare && objcopy --strip-all --keep-section='.debug*' program bare");
	made("nm program >symbols && ! nm bare | grep -q outer");
	lookups.n = 0;
	addresses[lookups.n++] = address_of("in_outer");
	int fd = made_open("bare");
	uint32_t n;

	assert_int_equal(resolve(fd, -1, false), 0);
	assert_string_equal(text_of(frames_at(addresses[0], &n)->function), "outer(int)");
	assert_int_equal(n, 1);
	close(fd);
}

/* A function that has a name already keeps it. */
static void names_that_are_there_stay(void **state)
{
	int fd = made_open("program");
	uint32_t n;

	made("nm program >symbols");
	addresses[lookups.n++] = address_of("in_method");
	names[0] = 1;
	assert_int_equal(resolve(fd, -1, false), 0);
	const struct dwarf_frame *got = frames_at(addresses[0], &n);

	assert_int_equal(n, 3);
	assert_string_equal(text_of(got[0].function), "space::Thing::method(int)");
	assert_int_equal(got[2].function, 0);
	close(fd);
}

static void dwz_moves_entries(void **state)
{
	if (!made_try("dwz --version >/dev/null"))
		skip();
	made("cp program one && dwz one");
	check_program("one", NULL);
	/* dwz moves what two files share into a third. */
	assert_true(try_build("g++", "gcc", "-g", "other"));
	made("cp program two && dwz -l none -m shared.debug two other");
	made("readelf -SW two | grep -q gnu_debugaltlink");
	check_program("two", "shared.debug");
	assert_true(try_build("g++", "gcc", "-g", "other"));
	made("cp program two && dwz -l none --dwarf-5 -m shared5.debug two other");
	check_program("two", "shared5.debug");
}

/* Without that file only the moved names are missing. */
static void the_shared_file_may_be_missing(void **state)
{
	if (!made_try("dwz --version >/dev/null"))
		skip();
	assert_true(try_build("g++", "gcc", "-g", "other"));
	made("cp program two && dwz -l none -m shared.debug two other");
	made("nm two >symbols");
	addresses[lookups.n++] = address_of("in_method");
	int fd = made_open("two");
	uint32_t n;

	assert_int_equal(resolve(fd, -1, true), 0);
	const struct dwarf_frame *got = frames_at(addresses[0], &n);

	assert_int_equal(n, 3);
	assert_int_equal(got[0].line, 9);
	assert_int_equal(got[1].line, 11);
	close(fd);
}

/* ---- real code, against addr2line */

/* A name as addr2line prints it: mangled, or without its scope. */
static bool is_same_name(const char *got, const char *printed)
{
	char wanted[DEMANGLED_SIZE];
	size_t n = demangle(printed, wanted), length = strlen(got);

	if (length >= n && strcmp(got + length - n, wanted) == 0)
		return length == n || strncmp(got + length - n - 2, "::", 2) == 0;
	return false;
}

struct oracle {
	size_t addresses, frames, inlined, other_files;
};

static void read_line(FILE *stream, char *line, size_t size)
{
	assert_non_null(fgets(line, size, stream));
	line[strcspn(line, "\n")] = '\0';
}

/* Whether a C++ function's name, as shown, comes from a mangled one. */
static bool is_mangled(const char *name)
{
	size_t n = strlen(name);

	return n && (name[n - 1] == ')' || (n > 6 && strcmp(name + n - 6, " const") == 0));
}

/* Compares the frames of lookup @i with addr2line's output up to the next address. */
static void compare_frames(FILE *stream, size_t i, struct oracle *oracle)
{
	const struct dwarf_frame *got = frames.frames + frames.first[i];
	uint32_t n = frames.n[i];
	static char function[256][SYMBOL_NAME_MAX];
	char place[8192];

	for (uint32_t k = 0; k < n; k++) {
		char *end;

		read_line(stream, function[k], sizeof function[k]);
		read_line(stream, place, sizeof place);
		end = strrchr(place, ':');
		assert_non_null(end);
		*end = '\0';
		if (strtoul(end + 1, NULL, 10) != got[k].line)
			fail_msg("%lx frame %u: %s:%u is not %s:%s", addresses[i], k,
				 text_of(got[k].file), got[k].line, place, end + 1);
		oracle->other_files +=
			got[k].file && strcmp(base_name(place), base_name(text_of(got[k].file)));
	}
	/* For a first function without a mangled name it prints the symbol. */
	for (uint32_t k = n && !is_mangled(text_of(got[0].function)); k + 1 < n; k++)
		if (got[k].function && !is_same_name(text_of(got[k].function), function[k]))
			fail_msg("%lx: %s is not %s", addresses[i], text_of(got[k].function),
				 function[k]);
	oracle->frames += n;
	oracle->inlined += n ? n - 1 : 0;
}

/* Looks up addresses at regular distances in every function of @name. */
static void take_addresses(const char *name, size_t most)
{
	char command[PATH_MAX], line[512];
	unsigned long start, size, total = 0, step, next = 0;
	FILE *stream;

	snprintf(command, sizeof command, "nm -nS --defined-only %s | grep -i ' [tw] '",
		 made_path(name));
	for (int pass = 0; pass < 2; pass++) {
		stream = popen(command, "r");
		assert_non_null(stream);
		step = total / most + 1;
		while (fgets(line, sizeof line, stream)) {
			if (sscanf(line, "%lx %lx", &start, &size) != 2)
				continue;
			total += pass ? 0 : size;
			next = next < start ? start : next;
			for (; pass && next < start + size && lookups.n < MAX_LOOKUPS; next += step)
				addresses[lookups.n++] = next;
		}
		next = 0;
		pclose(stream);
	}
}

static void compare_with_addr2line(const char *name, size_t most, struct oracle *oracle)
{
	int fd = made_open(name);
	char line[64];
	FILE *stream;

	lookups.n = 0;
	take_addresses(name, most);
	assert_true(lookups.n > most / 2);
	assert_int_equal(resolve(fd, -1, true), 0);
	assert_false(damaged);
	stream = fopen(made_path("list"), "w");
	assert_non_null(stream);
	for (size_t i = 0; i < lookups.n; i++)
		fprintf(stream, "%#lx\n", addresses[i]);
	fclose(stream);
	made("addr2line -a -i -f -e %s <list >output", name);
	stream = fopen(made_path("output"), "r");
	assert_non_null(stream);
	for (size_t i = 0; i < lookups.n; i++) {
		do
			read_line(stream, line, sizeof line);
		while (strncmp(line, "0x", 2) != 0);
		assert_int_equal(strtoul(line, NULL, 16), addresses[i]);
		compare_frames(stream, i, oracle);
		oracle->addresses++;
	}
	fclose(stream);
	dwarf_frames_done(&frames);
	close(fd);
}

static const char standard_library[] =
	"#include <algorithm>\n#include <map>\n#include <memory>\n#include <sstream>\n"
	"#include <string>\n#include <unordered_map>\n#include <vector>\n"
	"int words(const std::string &text)\n{\n"
	"	std::unordered_map<std::string, int> counts;\n	std::istringstream in(text);\n"
	"	for (std::string word; in >> word;)\n		counts[word]++;\n"
	"	std::vector<std::pair<int, std::string>> order;\n"
	"	for (auto &[word, n] : counts)\n		order.emplace_back(n, word);\n"
	"	std::stable_sort(order.begin(), order.end());\n"
	"	return order.empty() ? 0 : order.back().first;\n}\n"
	"int main(int n, char **arguments)\n{\n"
	"	std::map<int, std::shared_ptr<std::string>> map;\n"
	"	for (int i = 0; i < n; i++)\n"
	"		map[i * 7] = std::make_shared<std::string>(arguments[i]);\n"
	"	std::vector<int> v;\n	for (auto &[k, s] : map)\n		"
	"v.push_back(words(*s) + k);\n"
	"	std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });\n"
	"	return v.size();\n}\n";

static void real_code_agrees_with_addr2line(void **state)
{
	static const char *const flags[] = {"-O2 -gdwarf-5", "-O3 -gdwarf-4", "-O1 -gdwarf-3"};
	struct oracle oracle = {};

	made_text("library.cc", standard_library);
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		made("g++ -std=c++17 -g %s -o library library.cc", flags[i]);
		compare_with_addr2line("library", 400, &oracle);
	}
	assert_true(oracle.addresses > 900);
	assert_true(oracle.inlined > 900);
	/* binutils 2.40 attributes some lines of headers to the unit's own file. */
	assert_true(oracle.other_files * 100 < oracle.frames);
}

/* ---- malicious files */

/* The frames of all the program's labels, in a file that may contain anything. */
static void resolve_anything(int fd)
{
	if (resolve(fd, -1, true) == 0) {
		for (size_t i = 0; i < lookups.n; i++)
			assert_true(frames.first[i] + frames.n[i] <= frames.n_frames);
		dwarf_frames_done(&frames);
	}
}

static char *read_file(const char *name, size_t *ret_n)
{
	FILE *stream = fopen(made_path(name), "r");
	struct stat st;
	char *bytes;

	assert_non_null(stream);
	assert_int_equal(fstat(fileno(stream), &st), 0);
	bytes = malloc(st.st_size);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, st.st_size, stream), st.st_size);
	fclose(stream);
	*ret_n = st.st_size;
	return bytes;
}

static void want_labels(const char *name)
{
	made("nm %s >symbols", name);
	lookups.n = 0;
	for (size_t i = 0; i < N_MADE_LABELS; i++)
		addresses[lookups.n++] = address_of(made_labels[i].name);
	qsort(addresses, lookups.n, sizeof *addresses, compare_addresses);
}

static void damaged_files(void **state)
{
	static const char *const programs[] = {"program", "old_program", "clang_program"};
	unsigned int seed = 7;

	assert_true(try_build("g++", "gcc", "-g -gdwarf-3", "old_program"));
	for (size_t p = 0; p < 3; p++) {
		struct elf_file file;
		size_t n;
		int fd;

		if (p == 2 && !try_build("clang++", "clang", "-g -gdwarf-5", programs[p]))
			break;
		want_labels(programs[p]);
		char *bytes = read_file(programs[p], &n);

		assert_int_equal(elf_file_open_image(&file, bytes, n), 0);
		uint64_t from = elf_file_section(&file, ".debug_info")->sh_offset;

		elf_file_done(&file);
		fd = open(made_path("damaged"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		assert_int_equal(write(fd, bytes, n), n);
		for (int round = 0; round < 400; round++) {
			uint64_t at = from + rand_r(&seed) % (n - from - 8);
			uint64_t value = round % 3 ? (uint64_t)rand_r(&seed) : UINT64_MAX;

			assert_int_equal(pwrite(fd, &value, 1 + round % 8, at), 1 + round % 8);
			resolve_anything(fd);
			if (round % 4 == 0)
				assert_int_equal(pwrite(fd, bytes + from, n - from, from),
						 n - from);
		}
		close(fd);
		free(bytes);
	}
}

/* A file that shrinks while it is read gives an error, not a signal. */
static void shrinking_files(void **state)
{
	size_t n;
	char *bytes = read_file("program", &n);
	struct elf_file file;
	struct dwarf *dwarf;
	int fd = open(made_path("shrinking"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	want_labels("program");
	for (size_t left = n; left > 4096; left -= n / 40) {
		assert_int_equal(ftruncate(fd, n), 0);
		assert_int_equal(pwrite(fd, bytes, n, 0), n);
		assert_int_equal(elf_file_open(&file, fd), 0);
		assert_int_equal(dwarf_open(&dwarf, &file, 1), 0);
		assert_int_equal(ftruncate(fd, left), 0);
		assert_int_equal(
			dwarf_frames_find(dwarf, &lookups, true, &strings, &frames, &damaged), 0);
		dwarf_frames_done(&frames);
		dwarf_free(dwarf);
		elf_file_done(&file);
	}
	close(fd);
	free(bytes);
}

/*
 * DWARF written by hand. The unit's code is all of .text; abbreviations: 1 the unit, 2 a function
 * with code, 3 inlined with an origin and code, 4 a namespace, 5 a function that has only an
 * origin, 6 inlined, with a list of ranges.
 */
#define UNIT_START                                                                                 \
	".text\nstart: .fill 64,1,0x90\nend:\n"                                                    \
	".section .debug_abbrev,\"\",@progbits\n"                                                  \
	".byte 1,0x11,1, 0x11,1, 0x12,7, 0,0\n"                                                    \
	".byte 2,0x2e,1, 0x11,1, 0x12,7, 0x31,0x13, 0,0\n"                                         \
	".byte 3,0x1d,1, 0x11,1, 0x12,7, 0x31,0x13, 0,0\n"                                         \
	".byte 4,0x39,1, 0,0\n"                                                                    \
	".byte 5,0x2e,0, 0x31,0x13, 0,0\n"                                                         \
	".byte 6,0x1d,1, 0x55,0x17, 0,0\n"                                                         \
	".section .debug_info,\"\",@progbits\n"                                                    \
	"unit: .long unit_end-.-4\n.value 4\n.long 0\n.byte 8\n"                                   \
	".byte 1\n.quad start,64\n"
#define UNIT_END "unit_end:\n.section .debug_abbrev\n.subsection 9\n.byte 0\n.section .debug_info\n"
#define FUNCTION "function: .byte 2\n.quad start,64\n.long loop-unit\n"

/*
 * CPU seconds, with sanitizers; doubled for cores that a hypervisor shares. Without the limits
 * under test it takes more than a minute.
 */
#define MOST_SECONDS 60

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* Assembles @text and looks up every byte of its code. Returns the CPU seconds that this takes. */
static double resolve_assembly(const char *text)
{
	struct elf_file file;
	const Elf64_Shdr *code;
	double before;
	int fd;

	made_text("harm.s", text);
	made("gcc -nostdlib -static -Wl,-e,0 -o harm harm.s");
	fd = made_open("harm");
	assert_int_equal(elf_file_open(&file, fd), 0);
	code = elf_file_section(&file, ".text");
	lookups.n = 0;
	for (uint64_t i = 0; i < code->sh_size; i++)
		addresses[lookups.n++] = code->sh_addr + i;
	elf_file_done(&file);
	before = seconds();
	assert_int_equal(resolve(fd, -1, true), 0);
	before = seconds() - before;
	close(fd);
	return before;
}

static void references_in_a_circle(void **state)
{
	resolve_assembly(UNIT_START FUNCTION "loop: .byte 5\n.long other-unit\n"
					     "other: .byte 5\n.long loop-unit\n"
					     ".byte 0,0\n" UNIT_END);
	assert_false(damaged);
	assert_int_equal(frames.n[0], 1);
	assert_int_equal(frames.frames[frames.first[0]].function, 0);
}

static void references_out_of_the_file(void **state)
{
	resolve_assembly(UNIT_START
			 "function: .byte 2\n.quad start,64\n.long 0x7fffffff\n"
			 ".byte 3\n.quad start,8\n.long 0xffffff\n.byte 0,0,0\n" UNIT_END);
	assert_int_equal(frames.n[0], 2);
	assert_int_equal(frames.n[8], 1);
}

/* A hundred thousand nested entries, none of which ends. */
static void entries_inside_each_other(void **state)
{
	assert_true(resolve_assembly(UNIT_START ".rept 100000\n.byte 4\n.endr\n" FUNCTION
						"loop: .byte 5\n.long 0\n" UNIT_END) < 5);
	assert_true(resolve_assembly(
			    UNIT_START FUNCTION
			    ".rept 100000\n.byte 3\n.quad start,64\n.long function-unit\n.endr\n"
			    "loop: .byte 5\n.long 0\n" UNIT_END) < 5);
	assert_true(frames.n[0] <= 200);
}

/* Many entries, each with the same long list of ranges: the cost must not be their product. */
static void ranges_shared_by_many(void **state)
{
	double taken = resolve_assembly(
		UNIT_START FUNCTION "loop:\n.rept 100000\n.byte 6\n.long ranges\n.byte 0\n.endr\n"
				    ".byte 0,0\n" UNIT_END
				    ".section .debug_ranges,\"\",@progbits\nranges:\n"
				    ".rept 20000\n.quad start,1\n.endr\n.quad 0,0\n");

	assert_true(damaged);
	assert_true(taken < MOST_SECONDS);
}

/* Two bytes in the file, thousands of attributes to read: each one counts against the budget. */
static void attributes_without_bytes(void **state)
{
	double taken = resolve_assembly(
		UNIT_START FUNCTION "loop:\n.rept 1000000\n.byte 7,0\n.endr\n.byte 0,0\n" UNIT_END
				    ".section .debug_abbrev\n"
				    ".byte 7,0x2e,1\n.rept 10000\n.byte 0x3f,0x19\n.endr\n"
				    ".byte 0x3f,0x0f,0,0,0\n");

	assert_true(damaged);
	assert_true(taken < MOST_SECONDS);
}

/* A thousand units inside one another, none with an address. */
static void units_without_code(void **state)
{
	resolve_assembly(UNIT_START FUNCTION
			 "loop: .byte 0,0\n" UNIT_END
			 ".rept 1000\n.long 7\n.value 4\n.long 0\n.byte 8\n"
			 ".endr\n.long 0xfffffff0\n.rept 100\n.byte 1\n.endr\n");
	assert_int_equal(frames.n[0], 1);
}

static void files_without_dwarf(void **state)
{
	int fd;

	made("strip -o stripped program && objcopy --only-keep-debug program kept");
	fd = made_open("stripped");
	assert_int_equal(resolve(fd, -1, false), -ENODATA);
	close(fd);
}

#define DWARF_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DWARF_TEST(every_version_says_the_same),
		DWARF_TEST(dwarf_of_64_bits),
		DWARF_TEST(clang_says_the_same),
		DWARF_TEST(compressed_sections),
		DWARF_TEST(sections_compressed_with_zstd),
		DWARF_TEST(without_symbols),
		DWARF_TEST(names_that_are_there_stay),
		DWARF_TEST(dwz_moves_entries),
		DWARF_TEST(the_shared_file_may_be_missing),
		DWARF_TEST(real_code_agrees_with_addr2line),
		DWARF_TEST(damaged_files),
		DWARF_TEST(shrinking_files),
		DWARF_TEST(references_in_a_circle),
		DWARF_TEST(references_out_of_the_file),
		DWARF_TEST(entries_inside_each_other),
		DWARF_TEST(ranges_shared_by_many),
		DWARF_TEST(attributes_without_bytes),
		DWARF_TEST(units_without_code),
		DWARF_TEST(files_without_dwarf),
	};

	return cmocka_run_group_tests(tests, build, made_done);
}
