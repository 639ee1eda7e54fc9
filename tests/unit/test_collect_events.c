/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events by name: how they are parsed, what is suggested for unknown names, and where their
 * functions and probes are in a file, which is this program.
 */
#include "unit/cmocka_all.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system.h"
#include "bpf/wire.h"
#include "collect/counters.h"
#include "collect/event_find.h"
#include "base/nearest.h"
#include "collect/probe_file.h"
#include "collect/probe_job.h"
#include "made_profile.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Names */

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void events_are_read(void **state)
{
	static const struct {
		const char *text;
		struct event_request expected;
	} cases[] = {
		{"cycles", {EVENT_COUNTER, "cycles", .target = "cycles"}},
		{"cycles:u:1000000",
		 {EVENT_COUNTER, "cycles:u", .target = "cycles", .period = 1000000,
		  .user_only = true}},
		{"page-faults:k",
		 {EVENT_COUNTER, "page-faults:k", .target = "page-faults", .kernel_only = true}},
		{"faults:uk", {EVENT_COUNTER, "faults:uk", .target = "faults"}},
		{"r01c2:1000", {EVENT_COUNTER, "r01c2", .target = "r01c2", .period = 1000}},
		{"cpu/event=0x3c,umask=0x0/",
		 {EVENT_COUNTER, "cpu/event=0x3c,umask=0x0/",
		  .target = "cpu/event=0x3c,umask=0x0/"}},
		{"cpu/event=0x3c/u:7",
		 {EVENT_COUNTER, "cpu/event=0x3c/u", .target = "cpu/event=0x3c/", .period = 7,
		  .user_only = true}},
		{"sched:sched_switch",
		 {EVENT_TRACEPOINT, "sched:sched_switch", .group = "sched",
		  .target = "sched_switch"}},
		{"tracepoint:sched:sched_switch:10",
		 {EVENT_TRACEPOINT, "tracepoint:sched:sched_switch", .group = "sched",
		  .target = "sched_switch", .period = 10}},
		{"uprobe:libc.so.6:malloc+0x10:100",
		 {EVENT_UPROBE, "uprobe:libc.so.6:malloc+0x10", .path = "libc.so.6",
		  .target = "malloc", .offset = 16, .period = 100}},
		{"uprobe:/bin/x:std::sort",
		 {EVENT_UPROBE, "uprobe:/bin/x:std::sort", .path = "/bin/x",
		  .target = "std::sort"}},
		{"uprobe:/bin/x:0x1234",
		 {EVENT_UPROBE, "uprobe:/bin/x:0x1234", .path = "/bin/x", .target = "0x1234"}},
		{"uretprobe:/bin/x:f",
		 {EVENT_URETPROBE, "uretprobe:/bin/x:f", .path = "/bin/x", .target = "f"}},
		{"usdt:/bin/x:p:n:5",
		 {EVENT_USDT, "usdt:/bin/x:p:n", .path = "/bin/x", .group = "p", .target = "n",
		  .period = 5}},
		{"usdt:/bin/x:n", {EVENT_USDT, "usdt:/bin/x:n", .path = "/bin/x", .target = "n"}},
		{"kprobe:vfs_read", {EVENT_KPROBE, "kprobe:vfs_read", .target = "vfs_read"}},
		{"kretprobe:vfs_read:2",
		 {EVENT_KRETPROBE, "kretprobe:vfs_read", .target = "vfs_read", .period = 2}},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct event_request *expected = &cases[i].expected;
		struct event_request read;
		struct failure failure;

		if (event_parse(cases[i].text, &read, &failure) != 0)
			fail_msg("%s: %s", cases[i].text, failure.what);
		if (read.kind != expected->kind || !same(read.name, expected->name) ||
		    !same(read.path, expected->path) || !same(read.group, expected->group) ||
		    !same(read.target, expected->target) || read.offset != expected->offset ||
		    read.period != expected->period || read.user_only != expected->user_only ||
		    read.kernel_only != expected->kernel_only)
			fail_msg("%s is read as %s %s %s %s +%lu :%lu", cases[i].text,
				 event_kind_name(read.kind), read.path, read.group, read.target,
				 (unsigned long)read.offset, (unsigned long)read.period);
		event_request_done(&read);
	}
}

static void other_words_are_refused(void **state)
{
	static const char *const texts[] = {
		"",
		":",
		"page-faults:0",
		"page-faults:x",
		"cycles:uu:x",
		"uprobe:",
		"uprobe:x",
		"uprobe::f",
		"uprobe:x:",
		"usdt:x",
		"tracepoint:",
		"tracepoint:x",
		"a:b:c",
		"kprobe:",
		"uprobe:x:+5",
		":switch",
		"cpu/event=1/z",
		"page-faults:99999999999999999999",
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct event_request read;
		struct failure failure = {};

		if (event_parse(texts[i], &read, &failure) != -EINVAL)
			fail_msg("'%s' is taken", texts[i]);
		assert_true(strncmp(failure.what, "-e ", 3) == 0);
	}
}

static void what_is_wrong_with_a_period_is_said(void **state)
{
	static const char *const texts[] = {"page-faults:0", "uprobe:libc.so.6:malloc:0",
					    "sched:sched_switch:99999999999999999999"};

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct event_request read;
		struct failure failure = {};

		assert_int_equal(event_parse(texts[i], &read, &failure), -EINVAL);
		assert_non_null(strstr(failure.what, "PERIOD is a number from 1"));
	}
}

static uint64_t bpf_period(const char *text)
{
	struct event_request request;
	struct failure failure;
	uint64_t period;

	assert_int_equal(event_parse(text, &request, &failure), 0);
	period = event_bpf_period(&request);
	assert_int_equal(event_is_counted(&request), period != BF_PERIOD_NONE);
	event_request_done(&request);
	return period;
}

/* Clocks count samples. All other events count themselves, one by one or by the period. */
static void samples_have_weights(void **state)
{
	assert_true(bpf_period("cycles") == BF_PERIOD_NONE);
	assert_true(bpf_period("cpu-clock") == BF_PERIOD_NONE);
	assert_true(bpf_period("task-clock:u") == BF_PERIOD_NONE);
	assert_true(bpf_period("cycles:1000000") == BF_PERIOD_OWN);
	assert_true(bpf_period("instructions") == BF_PERIOD_OWN);
	assert_true(bpf_period("cpu/event=1/") == BF_PERIOD_OWN);
	assert_int_equal(bpf_period("page-faults"), 1);
	assert_int_equal(bpf_period("cs:10"), 10);
	assert_int_equal(bpf_period("sched:sched_switch"), 1);
	assert_int_equal(bpf_period("uprobe:x:f:100"), 100);
}

static void counters_have_their_numbers(void **state)
{
	struct failure failure;
	struct counter counter;

	assert_int_equal(counter_find("LLC-load-misses", &counter, &failure), 0);
	assert_int_equal(counter.type, PERF_TYPE_HW_CACHE);
	assert_int_equal(counter.config, PERF_COUNT_HW_CACHE_LL | 1 << 16);
	assert_int_equal(counter_find("faults", &counter, &failure), 0);
	assert_int_equal(counter.config, PERF_COUNT_SW_PAGE_FAULTS);
	assert_int_equal(counter_find("r1A2", &counter, &failure), 0);
	assert_int_equal(counter.type, PERF_TYPE_RAW);
	assert_int_equal(counter.config, 0x1a2);
	assert_int_equal(counter_find("rather", &counter, &failure), -ENOENT);
	assert_int_equal(counter_find("no-pmu/event=1/", &counter, &failure), -ENOENT);
	assert_int_equal(counter_find("../x/", &counter, &failure), -ENOENT);
	assert_int_equal(counter_find("/", &counter, &failure), -ENOENT);
}

static void similar_names_are_suggested(void **state)
{
	static const char *const names[] = {"page-faults", "minor-faults", "context-switches",
					    "cycles",	   "ref-cycles",   "branches"};
	static const struct {
		const char *wanted, *text;
	} cases[] = {
		{"page-fault", "did you mean page-faults?"},
		{"cylces", "did you mean cycles?"},
		{"Page_Faults", "did you mean page-faults?"},
		{"switch", "did you mean context-switches?"},
		{"faults", "did you mean page-faults or minor-faults?"},
		{"entirely-different", ""},
		{"", ""},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct nearest nearest = {.wanted = cases[i].wanted};
		char text[NEAREST_TEXT_SIZE], longest[4096];

		for (size_t k = 0; k < COUNT(names); k++) {
			nearest_offer(&nearest, names[k]);
			nearest_offer(&nearest, names[k]);
		}
		memset(longest, 'x', sizeof longest - 1);
		longest[sizeof longest - 1] = '\0';
		nearest_offer(&nearest, longest);
		assert_string_equal(nearest_text(&nearest, text), cases[i].text);
	}
}

/* Places */

int a_probed_function(int i);
__attribute__((noinline, used)) int a_probed_function(int i)
{
	__asm__ volatile("" ::: "memory");
	return i + 1;
}

/* A USDT probe as <sys/sdt.h> makes it. Its code is in the function above; it has no counter. */
__asm__(".pushsection .note.stapsdt,\"\",%note\n"
	".balign 4\n"
	".4byte 8, 9f - 8f, 3\n"
	".asciz \"stapsdt\"\n"
	"8: .8byte a_probed_function, _.stapsdt.base, 0\n"
	".asciz \"tests\"\n.asciz \"a_mark\"\n.asciz \"\"\n"
	"9: .balign 4\n"
	".popsection\n"
	".pushsection .stapsdt.base,\"aG\",%progbits,.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n"
	".popsection\n");

/* Its place in the file, by the current mapping. */
static uint64_t offset_of(const void *code)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t result = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof line, maps)) {
		unsigned long long start, end, offset;

		if (sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) == 3 &&
		    (uintptr_t)code >= start && (uintptr_t)code < end)
			result = (uintptr_t)code - start + offset;
	}
	fclose(maps);
	return result;
}

static void functions_are_found(void **state)
{
	struct event_places places;
	struct nearest nearest = {.wanted = "a_probed_functoin"};
	char text[NEAREST_TEXT_SIZE];
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int text_file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	assert_int_equal(probe_job_functions(NULL, own, "a_probed_function", &places, NULL), 0);
	assert_int_equal(places.n, 1);
	assert_int_equal(places.items[0].offset, offset_of(a_probed_function));
	assert_int_equal(probe_job_functions(NULL, own, "a_probed_functoin", &places, &nearest),
			 -ENOENT);
	assert_non_null(strstr(nearest_text(&nearest, text), "a_probed_function"));
	assert_int_equal(probe_job_functions(NULL, text_file, "f", &places, &nearest), -ENOEXEC);
}

static void usdt_probes_are_found(void **state)
{
	struct event_places places;
	struct nearest nearest = {.wanted = "a_mark"};
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_int_equal(probe_job_usdt(NULL, own, "tests", "a_mark", &places, &nearest), 0);
	assert_int_equal(places.n, 1);
	assert_int_equal(places.items[0].offset, offset_of(a_probed_function));
	assert_int_equal(places.items[0].counter, 0);
	assert_int_equal(probe_job_usdt(NULL, own, NULL, "a_mark", &places, &nearest), 0);
	assert_int_equal(probe_job_usdt(NULL, own, "other", "a_mark", &places, &nearest), -ENOENT);
}

/* A reader's job: answers for this program, unless the name it looks for says otherwise. */
static int find_or_lie(struct reader_request *request)
{
	static char nonsense[1 << 16];

	memset(nonsense, 0xff, sizeof nonsense);
	if (memmem(request->bytes, request->n, "crash", 5))
		_exit(1);
	if (memmem(request->bytes, request->n, "lie-little", 10))
		return reader_answer(request, &(struct reader_piece){nonsense, 3}, 1);
	if (memmem(request->bytes, request->n, "lie-much", 8))
		return reader_answer(request, &(struct reader_piece){nonsense, sizeof nonsense}, 1);
	return probe_job_run(request);
}

static void readers_find_the_same(void **state)
{
	struct reader reader = READER_NONE;
	struct event_places places;
	struct nearest nearest = {.wanted = "a_probed_functoin"};
	struct usdt_probe *list = NULL, *ours = NULL;
	size_t n = 0, n_ours = 0;
	char text[NEAREST_TEXT_SIZE];
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int text_file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	assert_int_equal(probe_job_functions(&reader, own, "a_probed_function", &places, NULL), 0);
	assert_int_equal(places.n, 1);
	assert_int_equal(places.items[0].offset, offset_of(a_probed_function));
	assert_int_equal(probe_job_functions(&reader, own, "a_probed_functoin", &places, &nearest),
			 -ENOENT);
	assert_non_null(strstr(nearest_text(&nearest, text), "a_probed_function"));
	assert_int_equal(probe_job_usdt(&reader, own, "tests", "a_mark", &places, &nearest), 0);
	assert_int_equal(places.items[0].offset, offset_of(a_probed_function));
	assert_int_equal(probe_job_list(&reader, own, &list, &n), 0);
	assert_int_equal(probe_job_list(NULL, own, &ours, &n_ours), 0);
	assert_true(n && n == n_ours);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(list[i].name, ours[i].name);
	assert_int_equal(probe_job_functions(&reader, text_file, "f", &places, &nearest), -ENOEXEC);
	assert_int_equal(reader.n_lost, 0);
	reader_stop(&reader);
	free(list);
	free(ours);
}

static void readers_are_not_believed(void **state)
{
	struct reader reader = READER_NONE;
	struct event_places places;
	struct usdt_probe *list;
	size_t n;
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; i < 2; i++) {
		const char *name = i ? "lie-much" : "lie-little";

		assert_int_equal(probe_job_functions(&reader, own, name, &places, NULL), -EPROTO);
		assert_int_equal(places.n, 0);
	}
	assert_int_equal(probe_job_functions(&reader, own, "crash", &places, NULL), -ECHILD);
	assert_int_equal(probe_job_list(&reader, own, &list, &n), 0);
	free(list);
	reader_stop(&reader);
}

static int take_any(void *context, const struct usdt_probe *probe)
{
	*(size_t *)context += strlen(probe->provider) + strlen(probe->name);
	return 0;
}

/* Whatever the notes claim, reading stays within them. */
static void damaged_notes_do_no_harm(void **state)
{
	struct elf_file file, damaged;
	uint64_t random = 5;
	const Elf64_Shdr *notes;
	uint8_t *image;
	size_t size, n = 0;

	assert_int_equal(read_whole_file("/proc/self/exe", (char **)&image, &size), 0);
	assert_int_equal(elf_file_open_image(&file, image, size), 0);
	notes = elf_file_section(&file, ".note.stapsdt");
	assert_non_null(notes);
	for (int i = 0; i < 3000; i++) {
		uint8_t *at = image + notes->sh_offset + made_random(&random) % notes->sh_size;
		uint8_t was = *at;

		*at = made_random(&random);
		assert_int_equal(elf_file_open_image(&damaged, image, size), 0);
		usdt_list(&damaged, take_any, &n);
		elf_file_done(&damaged);
		if (i % 3)
			*at = was;
	}
	elf_file_done(&file);
	free(image);
}

static void libraries_are_found_by_name(void **state)
{
	struct probe_file a, b, c;

	assert_int_equal(probe_file_find("libc.so.6", 0, &a), 0);
	assert_int_equal(probe_file_find("libc", getpid(), &b), 0);
	assert_int_equal(probe_file_find("sh", 0, &c), 0);
	assert_non_null(strstr(a.path, "libc.so.6"));
	assert_non_null(strstr(b.path, "libc.so.6"));
	assert_non_null(strstr(c.path, "/sh"));
	assert_true(probe_file_runs_here(a.fd) && probe_file_runs_here(b.fd));
	probe_file_done(&a);
	probe_file_done(&b);
	probe_file_done(&c);
	assert_int_equal(probe_file_find("no-such-thing", 0, &a), -ENOENT);
	assert_int_equal(probe_file_find("/no/such/thing", 0, &a), -ENOENT);
	assert_int_equal(probe_file_find("/", 0, &a), -ENOENT);
	assert_int_equal(probe_file_find("/dev/null", 0, &a), -ENOENT);
}

static const char *prefix(void)
{
	static char path[32];

	snprintf(path, sizeof path, "/tmp/bpfflame-%d", getpid());
	return path;
}

/* The ELF header of this program, changed to claim machine @machine and word size @class. */
static const char *like_us(const char *name, uint8_t class, uint16_t machine)
{
	static char path[64];
	Elf64_Ehdr *header;
	FILE *file;
	size_t size;

	assert_int_equal(read_whole_file("/proc/self/exe", (char **)&header, &size), 0);
	header->e_ident[EI_CLASS] = class;
	if (machine)
		header->e_machine = machine;
	snprintf(path, sizeof path, "%s-%s", prefix(), name);
	mkdir(path, 0700);
	strcat(path, "/libprobed.so.1");
	file = fopen(path, "w");
	assert_int_equal(fwrite(header, 1, 4096, file), 4096);
	fclose(file);
	free(header);
	return path;
}

static bool runs_here(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return probe_file_runs_here(fd);
}

/* Imitates a machine with programs of several kinds, each with its own libc.so.6. */
static void libraries_of_other_programs_are_passed_over(void **state)
{
	struct probe_file found;
	char folders[256], wanted[64];

	assert_false(runs_here(like_us("a", ELFCLASS32, 0)));
	assert_false(runs_here(like_us("b", ELFCLASS64, EM_S390)));
	snprintf(wanted, sizeof wanted, "%s", like_us("c", ELFCLASS64, 0));
	assert_true(runs_here(wanted));
	snprintf(folders, sizeof folders, "%1$s-a:%1$s-b:%1$s-c", prefix());
	setenv("LD_LIBRARY_PATH", folders, 1);
	assert_int_equal(probe_file_find("libprobed.so.1", 0, &found), 0);
	unsetenv("LD_LIBRARY_PATH");
	assert_string_equal(found.path, wanted);
	probe_file_done(&found);
	for (const char *kind = "abc"; *kind; kind++) {
		char path[64];

		snprintf(path, sizeof path, "%s-%c/libprobed.so.1", prefix(), *kind);
		unlink(path);
		*strrchr(path, '/') = '\0';
		rmdir(path);
	}
}

int main(int argc, char **argv)
{
	static const reader_job_fn jobs[N_READER_JOBS] = {[READER_PROBES] = find_or_lie};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_read),
		cmocka_unit_test(other_words_are_refused),
		cmocka_unit_test(what_is_wrong_with_a_period_is_said),
		cmocka_unit_test(samples_have_weights),
		cmocka_unit_test(counters_have_their_numbers),
		cmocka_unit_test(similar_names_are_suggested),
		cmocka_unit_test(functions_are_found),
		cmocka_unit_test(usdt_probes_are_found),
		cmocka_unit_test(readers_find_the_same),
		cmocka_unit_test(readers_are_not_believed),
		cmocka_unit_test(damaged_notes_do_no_harm),
		cmocka_unit_test(libraries_are_found_by_name),
		cmocka_unit_test(libraries_of_other_programs_are_passed_over),
	};

	if (strcmp(argv[0], READER_NAME) == 0)
		return reader_run(jobs);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
