/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbolize: turns a profile without names into one with names, on a C++ program built for the
 * test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/elf_file.h"
#include "base/reader.h"
#include "base/system.h"
#include "symbol/names_cache.h"
#include "symbol/names_job.h"
#include "symbol/names_later.h"
#include "symbol/symbolize.h"

#define MAX_MAPPINGS 16

static const char program[] =
	"#include <cstdlib>\n"
	"namespace space { struct Thing { int method(int); }; }\n"
	"__attribute__((noinline)) int space::Thing::method(int n) { return n * atoi(\"3\"); }\n"
	"extern \"C\" __attribute__((noinline)) int plain(int n) { return n + 1; }\n"
	"int main(int n, char **) { space::Thing t; return t.method(plain(n)); }\n";

static const char inlined[] = "static inline __attribute__((always_inline)) int twice(int n)\n"
			      "{\n"
			      "	asm volatile(\".globl in_twice\\nin_twice:nop\");\n"
			      "	return n * 2;\n"
			      "}\n"
			      "static inline __attribute__((always_inline)) int more(int n)\n"
			      "{\n"
			      "	return twice(n + 1);\n"
			      "}\n"
			      "__attribute__((noinline)) int caller(int n)\n"
			      "{\n"
			      "	asm volatile(\".globl in_caller\\nin_caller:nop\");\n"
			      "	return more(n) + 5;\n"
			      "}\n"
			      "int main(int n, char **) { return caller(n); }\n";

static char folder[] = "/tmp/test_symbolize.XXXXXX";

static struct profile *profile;
static int fds[MAX_MAPPINGS];
static int root;
static struct symbolize_options options;
static struct symbol_stats stats;

static const char *in_folder(const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name, const char *text)
{
	FILE *stream = fopen(in_folder(name), "w");

	assert_non_null(stream);
	fputs(text, stream);
	fclose(stream);
}

static int build(void **state)
{
	char command[1024];

	assert_non_null(mkdtemp(folder));
	write_file("program.cc", program);
	write_file("inlined.cc", inlined);
	snprintf(command, sizeof command,
		 "cd %s && ${CXX:-g++} -O2 -Wl,--build-id=0xfeed0123 -o program program.cc && "
		 "strip -o stripped program && "
		 "${CXX:-g++} -O2 -Wl,--no-eh-frame-hdr -o no_table program.cc && "
		 "nm no_table | sed 's/ plain/ alone/' >symbols.no_table && strip no_table && "
		 "objcopy -R .eh_frame no_table no_frames && "
		 "nm program >symbols && cat symbols.no_table >>symbols && "
		 "head -c 5000 program >short && "
		 "${CXX:-g++} -O2 -g -Wl,--build-id=0xfeed0456 -o inlined inlined.cc && "
		 "nm inlined | grep ' in_' >>symbols && strip -o bare inlined && mkdir -p "
		 "root/usr/bin "
		 "root/usr/lib/debug/.build-id/fe && cp inlined root/usr/bin/ && "
		 "objcopy --only-keep-debug inlined root/usr/lib/debug/.build-id/fe/ed0456.debug",
		 folder);
	return system(command) ? -1 : 0;
}

static int clean(void **state)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

static int setup(void **state)
{
	stats = (struct symbol_stats){};
	options = (struct symbolize_options){};
	root = -1;
	return profile_new(PROFILE_ONCPU, &profile);
}

static int teardown(void **state)
{
	for (size_t i = 0; i < profile->n_mappings; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	profile_free(profile);
	return 0;
}

static uint32_t add_mapping(enum mapping_kind kind, const char *path, int fd)
{
	struct profile_mapping mapping = {.kind = kind, .start = profile->n_mappings};
	uint32_t id;

	assert_int_equal(strings_add(&profile->strings, path, &mapping.path), 0);
	assert_int_equal(profile_add_mapping(profile, &mapping, &id), 0);
	fds[id] = fd;
	return id;
}

static uint32_t add_location(uint32_t mapping, uint64_t address, bool is_return)
{
	uint32_t id;

	assert_int_equal(profile_add_location(profile, mapping, address, is_return, &id), 0);
	return id;
}

static int open_file(const char *name)
{
	int fd = open(in_folder(name), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void run(void)
{
	struct mapping_source sources[sizeof fds / sizeof *fds];

	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
		sources[i] = MAPPING_SOURCE_NONE;
		sources[i].file = fds[i];
		sources[i].root = root;
	}
	assert_int_equal(symbolize(profile, sources, &options, &stats), 0);
}

static const struct profile_frame *frame_of(uint32_t location)
{
	assert_int_equal(profile->locations[location].n_frames, 1);
	return &profile->frames[profile->locations[location].first_frame];
}

static const char *name_of(uint32_t location)
{
	return strings_get(&profile->strings, frame_of(location)->function);
}

/* What nm prints for a symbol of the program. */
static uint64_t address_of(const char *symbol)
{
	FILE *stream = fopen(in_folder("symbols"), "r");
	char line[512], name[256];
	unsigned long address, found = 0;

	assert_non_null(stream);
	while (fgets(line, sizeof line, stream)) {
		if (sscanf(line, "%lx %*c %255s", &address, name) == 2 && strcmp(name, symbol) == 0)
			found = address;
	}
	fclose(stream);
	assert_true(found != 0);
	return found;
}

static uint64_t offset_in(const char *name, const char *symbol)
{
	uint64_t address = address_of(symbol), offset = 0;
	int fd = open_file(name);
	struct elf_file file;

	assert_int_equal(elf_file_open(&file, fd), 0);
	for (size_t i = 0; i < file.n_segments; i++) {
		const Elf64_Phdr *segment = &file.segments[i];

		if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
		    address - segment->p_vaddr < segment->p_filesz)
			offset = address - segment->p_vaddr + segment->p_offset;
	}
	elf_file_done(&file);
	close(fd);
	return offset;
}

static uint64_t offset_of(const char *symbol)
{
	return offset_in("program", symbol);
}

static void test_names(void **state)
{
	uint32_t mapping = add_mapping(MAPPING_FILE, "/some/program", open_file("program"));
	uint64_t plain = offset_of("plain"), method = offset_of("_ZN5space5Thing6methodEi");
	uint32_t second = add_location(mapping, plain + 1, false);
	uint32_t first = add_location(mapping, method, false);
	uint32_t main_end = add_location(mapping, offset_of("main") + 1, true);
	uint32_t before = add_location(mapping, plain, true);

	run();
	assert_string_equal(name_of(first), "space::Thing::method(int)");
	assert_string_equal(name_of(second), "plain");
	assert_string_equal(name_of(main_end), "main");
	assert_string_not_equal(name_of(before), "plain");
	assert_int_equal(frame_of(first)->kind, FRAME_USER);
	assert_string_equal(strings_get(&profile->strings, profile->mappings[mapping].build_id),
			    "feed0123");
	assert_int_equal(stats.locations, 4);
	assert_int_equal(stats.files, 1);
	assert_int_equal(stats.unreadable_files, 0);
}

/* A file that several processes mapped is one file; existing names stay. */
static void test_shared_file(void **state)
{
	uint32_t here = add_mapping(MAPPING_FILE, "/here/program", open_file("program"));
	uint32_t there = add_mapping(MAPPING_FILE, "/there/program", open_file("program"));
	uint32_t known, id, locations[2];

	assert_int_equal(strings_add(&profile->strings, "feed", &known), 0);
	profile->mappings[there].build_id = known;
	locations[0] = add_location(here, offset_of("plain"), false);
	locations[1] = add_location(there, offset_of("plain"), false);
	run();
	assert_string_equal(name_of(locations[0]), "plain");
	assert_string_equal(name_of(locations[1]), "plain");
	assert_int_equal(stats.files, 1);
	assert_int_equal(profile->mappings[there].build_id, known);

	id = frame_of(locations[0])->function;
	run();
	assert_int_equal(stats.locations, 0);
	assert_int_equal(frame_of(locations[0])->function, id);
}

static void assert_unnamed(uint32_t location, const char *module, uint64_t address)
{
	char text[256];

	snprintf(text, sizeof text, "[%s+0x%lx]", module, (unsigned long)address);
	assert_string_equal(name_of(location), text);
}

/*
 * Without a table of functions, as in static programs, their frame descriptions are looked through;
 * without these, only the address is known.
 */
static void test_no_table(void **state)
{
	uint32_t with = add_mapping(MAPPING_FILE, "/usr/bin/no_table", open_file("no_table"));
	uint32_t without = add_mapping(MAPPING_FILE, "/usr/bin/no_frames", open_file("no_frames"));
	uint32_t known = add_location(with, offset_of("alone") + 3, false);
	uint32_t unknown = add_location(without, offset_of("alone") + 3, false);

	run();
	assert_unnamed(known, "no_table", address_of("alone"));
	assert_unnamed(unknown, "no_frames", address_of("alone") + 3);
}

/* Code without a symbol is named by its function's start. */
static void test_stripped(void **state)
{
	uint32_t mapping =
		add_mapping(MAPPING_FILE, "/usr/bin/strip ped (deleted)", open_file("stripped"));
	uint32_t leaf = add_location(mapping, offset_of("plain"), false);
	uint32_t caller = add_location(mapping, offset_of("plain") + 3, true);
	uint32_t outside = add_location(mapping, 0x7fffffff, false);

	run();
	assert_unnamed(leaf, "strip ped", address_of("plain"));
	assert_unnamed(caller, "strip ped", address_of("plain"));
	assert_unnamed(outside, "strip ped", 0x7fffffff);
	assert_int_equal(stats.unnamed, 3);
	assert_int_equal(stats.unreadable_files, 0);
}

static void test_unreadable(void **state)
{
	uint32_t locations[6];
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	close(pipes[1]);
	locations[0] = add_location(add_mapping(MAPPING_FILE, "/bin/gone", -1), 0x1234, false);
	locations[1] = add_location(add_mapping(MAPPING_FILE, "fifo", pipes[0]), 0x1234, true);
	locations[2] = add_location(
		add_mapping(MAPPING_FILE, "/dir", open("/", O_RDONLY | O_CLOEXEC)), 7, false);
	locations[3] = add_location(add_mapping(MAPPING_FILE, "/short", open_file("short")),
				    offset_of("plain"), false);
	locations[4] =
		add_location(add_mapping(MAPPING_FILE, "/text", open_file("symbols")), 9, false);
	locations[5] = add_location(add_mapping(MAPPING_FILE, "", -1), 9, false);
	run();
	assert_unnamed(locations[0], "gone", 0x1234);
	assert_unnamed(locations[1], "fifo", 0x1233);
	assert_unnamed(locations[2], "dir", 7);
	assert_unnamed(locations[3], "short", offset_of("plain"));
	assert_unnamed(locations[4], "text", 9);
	assert_string_equal(name_of(locations[5]), "[unknown]");
	assert_int_equal(stats.files, 4);
	assert_int_equal(stats.unreadable_files, 3); /* text is of another format */
	assert_int_equal(stats.unnamed, 6);
}

static void test_without_file(void **state)
{
	uint32_t unknown = add_location(add_mapping(MAPPING_UNKNOWN, "", -1), 0x10, false);
	uint32_t anon = add_location(add_mapping(MAPPING_ANON, "", -1), 0x10, false);
	uint32_t shared = add_location(add_mapping(MAPPING_ANON, "//anon", -1), 0x10, false);
	uint32_t heap = add_location(add_mapping(MAPPING_ANON, "[heap]", -1), 0x10, true);
	uint32_t kernel = add_location(add_mapping(MAPPING_KERNEL, "", -1), 0x10, false);

	run();
	assert_string_equal(name_of(unknown), "[unknown]");
	assert_string_equal(name_of(anon), "[anon]");
	assert_string_equal(name_of(shared), "[anon]");
	assert_string_equal(name_of(heap), "[heap]");
	assert_string_equal(name_of(kernel), "[kernel]");
	assert_int_equal(frame_of(kernel)->kind, FRAME_KERNEL);
	assert_int_equal(stats.unnamed, 5);
	assert_int_equal(stats.files, 0);
	/* Where it was mapped stays private. */
	for (uint32_t i = 0; i < profile->n_locations; i++) {
		assert_int_equal(profile->locations[i].address, 0);
		assert_true(profile->locations[i].is_named);
	}
}

static void test_addresses_that_were_asked_for(void **state)
{
	uint32_t anon = add_location(add_mapping(MAPPING_ANON, "", -1), 0x10, false);
	uint32_t kernel = add_location(add_mapping(MAPPING_KERNEL, "", -1), 0x20, false);

	options.addresses = true;
	run();
	assert_unnamed(kernel, "kernel", 0x20);
	assert_int_equal(profile->locations[anon].address, 0x10);
	assert_int_equal(profile->locations[kernel].address, 0x20);
}

static void test_vdso(void **state)
{
	uint32_t mapping = add_mapping(MAPPING_VDSO, "[vdso]", -1), outside;
	bool found = false;

	if (!getauxval(AT_SYSINFO_EHDR))
		skip();
	outside = add_location(mapping, 0x7fffffff, false);
	for (uint64_t offset = 0; offset < 0x4000; offset += 16)
		add_location(mapping, offset, false);
	run();
	assert_unnamed(outside, "vdso", 0x7fffffff);
	for (uint32_t i = 0; i < profile->n_locations; i++)
		found |= strcmp(name_of(i), "__vdso_clock_gettime") == 0 ||
			 strcmp(name_of(i), "__kernel_clock_gettime") == 0;
	assert_true(found);
}

/* Frame @i of @location, innermost first, as text. */
static void assert_frame(uint32_t location, uint32_t i, enum frame_kind kind, const char *function,
			 uint32_t line)
{
	const struct profile_location *of = &profile->locations[location];
	const struct profile_frame *frame;

	assert_true(i < of->n_frames);
	frame = &profile->frames[of->first_frame + i];
	assert_int_equal(frame->kind, kind);
	assert_string_equal(strings_get(&profile->strings, frame->function), function);
	assert_int_equal(frame->line, line);
	if (line)
		assert_non_null(strstr(strings_get(&profile->strings, frame->file), "/inlined.cc"));
	else
		assert_int_equal(frame->file, 0);
}

static void assert_inlined(uint32_t location, bool lines)
{
	assert_int_equal(profile->locations[location].n_frames, 3);
	assert_frame(location, 0, FRAME_INLINED, "twice", lines ? 3 : 0);
	assert_frame(location, 1, FRAME_INLINED, "more", lines ? 8 : 0);
	assert_frame(location, 2, FRAME_USER, "caller(int)", lines ? 13 : 0);
}

static void test_inlined(void **state)
{
	uint32_t mapping = add_mapping(MAPPING_FILE, "/some/inlined", open_file("inlined"));
	uint64_t offset = offset_in("inlined", "in_twice");
	uint32_t leaf = add_location(mapping, offset, false);
	uint32_t caller = add_location(mapping, offset + 1, true);
	uint32_t outside = add_location(mapping, offset_in("inlined", "in_caller"), false);

	run();
	assert_inlined(leaf, false);
	assert_inlined(caller, false);
	assert_string_equal(name_of(outside), "caller(int)");
	assert_int_equal(stats.unnamed, 0);
	assert_int_equal(stats.unreadable_files, 0);
}

static void test_no_inline(void **state)
{
	uint32_t mapping = add_mapping(MAPPING_FILE, "/some/inlined", open_file("inlined"));
	uint32_t leaf = add_location(mapping, offset_in("inlined", "in_twice"), false);

	options.no_inline = true;
	run();
	assert_int_equal(profile->locations[leaf].n_frames, 1);
	assert_frame(leaf, 0, FRAME_USER, "caller(int)", 0);
}

static void test_lines(void **state)
{
	uint32_t mapping = add_mapping(MAPPING_FILE, "/some/inlined", open_file("inlined"));
	uint32_t leaf = add_location(mapping, offset_in("inlined", "in_twice"), false);

	options.lines = true;
	run();
	assert_inlined(leaf, true);
}

/* The function's own line, not a line inlined there. */
static void test_lines_no_inline(void **state)
{
	uint32_t mapping = add_mapping(MAPPING_FILE, "/some/inlined", open_file("inlined"));
	uint32_t leaf = add_location(mapping, offset_in("inlined", "in_twice"), false);

	options.lines = options.no_inline = true;
	run();
	assert_int_equal(profile->locations[leaf].n_frames, 1);
	assert_frame(leaf, 0, FRAME_USER, "caller(int)", 13);
}

static void test_unfold_lines(void **state)
{
	static const char *const texts[] = {"command", "caller(int) (inlined.cc:13)",
					    "more (inlined.cc:8)", "twice (inlined.cc:3)",
					    "[gone+0x7]"};
	uint32_t mapping = add_mapping(MAPPING_FILE, "/some/inlined", open_file("inlined"));
	uint32_t locations[2] = {add_location(add_mapping(MAPPING_FILE, "/bin/gone", -1), 7, false),
				 add_location(mapping, offset_in("inlined", "in_twice"), true)};
	struct profile_sample sample = {.count = 1};
	struct unfold_options unfold = {.lines = true};
	struct unfolder unfolder = {.profile = profile, .options = &unfold};

	profile->locations[locations[1]].address++;
	options.lines = true;
	run();
	assert_int_equal(strings_add(&profile->strings, "command", &sample.comm), 0);
	assert_int_equal(profile_add_stack(profile, locations, 2, STACK_COMPLETE, &sample.stack),
			 0);
	assert_int_equal(unfolder_next(&unfolder, &sample), 0);
	assert_int_equal(unfolder.n, 5);
	for (size_t i = 0; i < unfolder.n; i++)
		assert_string_equal(strings_get(&profile->strings, unfolder.frames[i].name),
				    texts[i]);
	assert_int_equal(unfolder.frames[3].kind, FRAME_INLINED);
	unfolder_done(&unfolder);
	unfold.lines = false;
	unfolder = (struct unfolder){.profile = profile, .options = &unfold};
	assert_int_equal(unfolder_next(&unfolder, &sample), 0);
	assert_string_equal(strings_get(&profile->strings, unfolder.frames[3].name), "twice");
	unfolder_done(&unfolder);
}

static void test_addresses(void **state)
{
	uint32_t mapping = add_mapping(MAPPING_FILE, "/some/inlined", open_file("inlined"));
	uint32_t leaf = add_location(mapping, offset_in("inlined", "in_twice"), false);
	uint32_t kernel =
		add_location(add_mapping(MAPPING_KERNEL, "", -1), 0xffffffff81000010, false);

	options.addresses = true;
	run();
	assert_unnamed(leaf, "inlined", address_of("in_twice"));
	assert_unnamed(kernel, "kernel", 0xffffffff81000010);
	assert_string_equal(strings_get(&profile->strings, profile->mappings[mapping].build_id),
			    "feed0456");
}

/* The debug file is where the process could see it, and nowhere else. */
static void test_root(void **state)
{
	uint32_t mapping = add_mapping(MAPPING_FILE, "/usr/bin/bare (deleted)", open_file("bare"));
	uint32_t leaf = add_location(mapping, offset_in("inlined", "in_twice"), false);

	root = open(in_folder("root"), O_PATH | O_CLOEXEC);
	run();
	assert_inlined(leaf, false);
	close(root);
}

static void test_symfs(void **state)
{
	uint32_t bare = add_mapping(MAPPING_FILE, "/usr/bin/inlined", open_file("bare"));
	uint32_t gone = add_mapping(MAPPING_FILE, "/usr/bin/inlined", -1);
	uint32_t unknown = add_mapping(MAPPING_FILE, "/usr/bin/unknown", -1);
	uint64_t offset = offset_in("inlined", "in_twice");
	uint32_t locations[] = {add_location(bare, offset, false),
				add_location(gone, offset, false),
				add_location(unknown, offset, false)};
	char path[128];

	snprintf(path, sizeof path, "%s", in_folder("root"));
	options.symfs = path;
	run();
	assert_inlined(locations[0], false);
	assert_inlined(locations[1], false);
	assert_unnamed(locations[2], "unknown", offset);
	assert_int_equal(stats.files, 1);
	assert_int_equal(stats.unreadable_files, 0);
}

static void test_empty(void **state)
{
	run();
	assert_int_equal(stats.locations, 0);
	assert_int_equal(stats.kernel_refused, 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* The file can't be read any more, and need not be: the kernel's record identifies it. */
static void test_named_once(void **state)
{
	uint64_t offset = offset_in("inlined", "in_twice");
	struct names_cache_stats known;
	uint32_t mapping, location;
	const char *built;

	assert_int_equal(names_cache_new(1 << 20, &options.cache), 0);
	mapping = add_mapping(MAPPING_FILE, "/bin/inlined", open_file("inlined"));
	location = add_location(mapping, offset, false);
	run();
	assert_int_equal(profile->locations[location].n_frames, 3);
	teardown(NULL);

	assert_int_equal(profile_new(PROFILE_ONCPU, &profile), 0);
	mapping = add_mapping(MAPPING_FILE, "/bin/inlined",
			      open(in_folder("inlined"), O_PATH | O_CLOEXEC));
	location = add_location(mapping, offset, false);
	run();
	assert_int_equal(profile->locations[location].n_frames, 3);
	for (uint32_t i = 0; i < 3; i++) {
		static const char *const names[] = {"twice", "more", "caller(int)"};
		const struct profile_frame *frame =
			&profile->frames[profile->locations[location].first_frame + i];

		assert_string_equal(strings_get(&profile->strings, frame->function), names[i]);
		assert_int_equal(frame->kind, i < 2 ? FRAME_INLINED : FRAME_USER);
	}
	built = strings_get(&profile->strings, profile->mappings[mapping].build_id);
	assert_string_equal(built, "feed0456");
	assert_int_equal(stats.unreadable_files, 0);
	names_cache_stats(options.cache, &known);
	assert_int_equal(known.hits, 1);
	assert_int_equal(known.misses, 1);
	names_cache_free(options.cache);
}

static size_t frames_now(uint64_t offset)
{
	uint32_t location;

	profile_free(profile);
	assert_int_equal(profile_new(PROFILE_ONCPU, &profile), 0);
	fds[0] = open_file("inlined");
	location = add_location(add_mapping(MAPPING_FILE, "/bin/inlined", fds[0]), offset, false);
	run();
	return profile->locations[location].n_frames;
}

/* A slow file gets the names of its symbols at once, and all names after it was read. */
static void test_read_later(void **state)
{
	uint64_t offset = offset_in("inlined", "in_twice");
	struct reader reader = READER_NONE;
	struct names_later later = {};
	struct names_key key = {.kind = MAPPING_FILE};
	struct stat st;

	assert_int_equal(stat(in_folder("inlined"), &st), 0);
	key.device = st.st_dev;
	key.inode = st.st_ino;
	key.size = st.st_size;
	key.mtime_ns = st.st_mtim.tv_sec * NSEC_PER_SEC + st.st_mtim.tv_nsec;
	key.ctime_ns = st.st_ctim.tv_sec * NSEC_PER_SEC + st.st_ctim.tv_nsec;
	assert_int_equal(names_cache_new(1 << 20, &options.cache), 0);
	options.later = &later;
	options.reader = &reader;
	names_cache_postpone(options.cache, &key, 0);

	assert_int_equal(frames_now(offset), 1);
	assert_int_equal(later.n, 1);
	assert_int_equal(later.items[0].n, 1);
	assert_int_equal(later.items[0].addresses[0], offset);
	assert_int_equal(names_later_learn(&later, &options), 0);
	/* It is idle; known names stay. */
	assert_false(names_cache_is_due(options.cache, &key));
	names_later_done(&later);
	assert_int_equal(frames_now(offset), 3);
	assert_int_equal(later.n, 0);

	/* Put off: returns only known names. */
	options.put_off = true;
	assert_int_equal(frames_now(offset), 3);
	assert_int_equal(frames_now(offset_in("inlined", "in_caller")), 1);
	assert_memory_equal(name_of(0), "[inlined+0x", 11);
	options.put_off = false;

	/* From a file that was given up, only symbols are requested. */
	names_cache_give_up(options.cache, &key, "/bin/inlined");
	assert_int_equal(frames_now(offset_in("inlined", "in_caller")), 1);
	assert_int_equal(later.n, 0);
	reader_stop(&reader);
	names_cache_free(options.cache);
}

/* Takes 20 ms of CPU time. */
static int run_slowly(struct reader_request *request)
{
	struct timespec used = {};

	while (used.tv_nsec < 20000000)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return names_job_run_file(request);
}

/*
 * What was read slowly rests: until then, addresses that are new get the names of symbols. Those
 * who are not frugal have it read for each.
 */
static void test_slow_file_rests(void **state)
{
	for (int frugal = 0; frugal < 2; frugal++) {
		struct reader reader = READER_NONE;
		struct names_later later = {};

		assert_int_equal(names_cache_new(1 << 20, &options.cache), 0);
		options.later = &later;
		options.reader = &reader;
		options.is_frugal = frugal;
		assert_int_equal(frames_now(offset_in("inlined", "in_caller")), 1);
		assert_int_equal(frames_now(offset_in("inlined", "in_twice")), frugal ? 1 : 3);
		assert_int_equal(later.n, 0);
		reader_stop(&reader);
		names_cache_free(options.cache);
	}
}

int main(int argc, char **argv)
{
	static const reader_job_fn jobs[N_READER_JOBS] = {
		[READER_TABLE] = names_job_run_file,
		[READER_FILE_NAMES] = run_slowly,
		[READER_JIT_NAMES] = names_job_run_jit,
	};

	const struct CMUnitTest tests[] = {
		TEST(test_names),
		TEST(test_named_once),
		TEST(test_read_later),
		TEST(test_slow_file_rests),
		TEST(test_shared_file),
		TEST(test_no_table),
		TEST(test_stripped),
		TEST(test_unreadable),
		TEST(test_without_file),
		TEST(test_addresses_that_were_asked_for),
		TEST(test_vdso),
		TEST(test_empty),
		TEST(test_inlined),
		TEST(test_no_inline),
		TEST(test_lines),
		TEST(test_lines_no_inline),
		TEST(test_unfold_lines),
		TEST(test_addresses),
		TEST(test_root),
		TEST(test_symfs),
	};

	if (strcmp(argv[0], READER_NAME) == 0)
		return reader_run(jobs);
	return cmocka_run_group_tests(tests, build, clean);
}
