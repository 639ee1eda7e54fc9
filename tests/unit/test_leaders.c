/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that ran and waited longest: by function, and by the program's own code. */
#include "cmocka_all.h"

#include <string.h>

#include "core/leaders.h"
#include "made_profile.h"

#define N(array) (sizeof(array) / sizeof *(array))

/* The stacks of @samples, with threads if there are any. */
static struct stacks made(enum profile_mode mode, const struct made_sample *samples, size_t n)
{
	static const struct stacks_options options = {.unfold.threads = true,
						      .unfold.fold_idle = true};
	struct profile *profile = made_profile(mode, samples, n);
	struct stacks stacks;

	assert_int_equal(stacks_init(&stacks, &options), 0);
	assert_int_equal(stacks_add(&stacks, profile, SIDE_NEW), 0);
	assert_int_equal(stacks_finish(&stacks, SCALE_ABSOLUTE), 0);
	profile_free(profile);
	return stacks;
}

/* Formats each row as `function reason command weight`. */
static void assert_leaders(struct stacks *stacks, enum leaders_of of, const char *const *wanted,
			   size_t n)
{
	struct leaders leaders;
	uint64_t sum = 0;

	assert_int_equal(leaders_find(stacks, of, &leaders), 0);
	for (size_t i = 0; i < leaders.n; i++) {
		const struct leader *row = &leaders.rows[i];
		char text[256];

		snprintf(text, sizeof text, "%s%s %s %s %llu", row->function,
			 frame_kind_suffix(row->kind), *row->reason ? row->reason : "-",
			 row->command, (unsigned long long)row->weight);
		assert_true(i < n);
		assert_string_equal(text, wanted[i]);
		sum += row->weight;
	}
	assert_int_equal(leaders.n, n);
	assert_int_equal(leaders.weight, sum);
	leaders_done(&leaders);
}

static void running_is_named_by_the_function_that_ran(void **state)
{
	static const struct made_sample samples[] = {
		{"app", "main;sort;compare", 30, .pid = 1, .tid = 1},
		{"app", "main;other;compare", 20, .pid = 1, .tid = 2},
		{"app", "main;read;vfs_read_[k];copy_[k]", 40, .pid = 1, .tid = 1},
		{"sh", "main;compare", 7, .pid = 3, .tid = 3},
		{"lost", "", 100, .pid = 4, .tid = 4},
	};
	static const char *const wanted[] = {"compare - app 50", "copy_[k] - app 40",
					     "compare - sh 7"};
	struct stacks stacks = made(PROFILE_ONCPU, samples, N(samples));

	assert_leaders(&stacks, LEADERS_RUNNING, wanted, N(wanted));
	assert_leaders(&stacks, LEADERS_WAITING, NULL, 0);
	stacks_done(&stacks);
}

static void waits_are_named_by_the_programs_own_code(void **state)
{
	static const struct made_sample samples[] = {
		{"db",
		 "main;serve;pthread_cond_wait@@GLIBC_2.3.2;__futex_abstimed_wait;futex_wait_[k]",
		 50, REASON_FUTEX, 1, 1},
		{"db", "main;serve;pthread_cond_wait;futex_wait_[k]", 10, REASON_FUTEX, 1, 2},
		{"db", "main;serve;poll;do_poll_[k]", 30, REASON_POLL, 1, 2},
		{"go", "main.main;net.Read;internal/poll.Read;runtime.gopark;runtime.futex", 25,
		 REASON_FUTEX},
		{"rs", "app::run;<std::sync::Mutex>::lock;std::sys::futex;syscall", 24,
		 REASON_FUTEX},
		{"java", "App.work_[j];java.util.Queue.take_[j];jdk.internal.park_[j]", 23,
		 REASON_FUTEX},
		{"libc", "start_thread;nanosleep", 22, REASON_TIMER},
		{"pg", "_start;main;XLogFlush;[postgres+0x1e84f0];fdatasync;fsync_[k]", 20,
		 REASON_DISK},
		{"bare", "_start;main;[bare+0x10];[bare+0x20];read;read_[k]", 19, REASON_PIPE},
		{"kworker", "ret_from_fork_[k];worker_thread_[k]", 21, REASON_SLEEP},
		{"pool",
		 "StubRoutines (1)_[j];java.lang.Thread.run_[0];java.util.Queue.take_[j];"
		 "pthread_cond_wait;futex_wait_[k]",
		 18, REASON_FUTEX},
		{"db", "main;idle", 1000, REASON_POLL, 1, 2, .is_idle = true},
	};
	static const char *const wanted[] = {"serve [futex] db 60",
					     "serve [poll] db 30",
					     "net.Read [futex] go 25",
					     "app::run [futex] rs 24",
					     "App.work_[j] [futex] java 23",
					     "nanosleep [timer] libc 22",
					     "worker_thread_[k] [sleep] kworker 21",
					     "XLogFlush [disk] pg 20",
					     "[bare+0x20] [pipe] bare 19",
					     "java.util.Queue.take_[j] [futex] pool 18"};
	struct stacks stacks = made(PROFILE_OFFCPU, samples, N(samples));

	assert_leaders(&stacks, LEADERS_WAITING, wanted, N(wanted));
	assert_leaders(&stacks, LEADERS_RUNNING, NULL, 0);
	stacks_done(&stacks);
}

/* Instances of the library's templates are not the program's, except those made for its code. */
static void templates_are_the_librarys(void **state)
{
	static const struct made_sample samples[] = {
		{"app", "serve();bool std::condition_variable::wait_for<long>(int (*)());syscall",
		 60, REASON_FUTEX},
		{"app", "std::foo;std::pair<int, int> ask<int>(int);std::bar;poll", 50,
		 REASON_POLL},
		{"app", "(anonymous namespace)::run();void std::baz<int>(int);poll", 40,
		 REASON_POLL},
		{"app", "clone3;std::thread::_State_impl<f()::{lambda()#1}>::_M_run();nanosleep",
		 30, REASON_TIMER},
		{"app", "void* std::__1::__thread_proxy<f()::$_0>(void*);nanosleep", 20,
		 REASON_TIMER},
		{"app", "std::_Function_handler<void (), g()::{lambda()#1}>::_M_invoke();g();poll",
		 10, REASON_POLL},
	};
	static const char *const wanted[] = {
		"serve() [futex] app 60",
		"std::pair<int, int> ask<int>(int) [poll] app 50",
		"(anonymous namespace)::run() [poll] app 40",
		"std::thread::_State_impl<f()::{lambda()#1}>::_M_run() [timer] app 30",
		"void* std::__1::__thread_proxy<f()::$_0>(void*) [timer] app 20",
		"g() [poll] app 10",
	};
	struct stacks stacks = made(PROFILE_OFFCPU, samples, N(samples));

	assert_leaders(&stacks, LEADERS_WAITING, wanted, N(wanted));
	stacks_done(&stacks);
}

/* Puts functions into files. */
static void set_modules(struct stacks *stacks, const char *const (*modules)[2], size_t n)
{
	for (size_t i = 0; i < stacks->n_frames; i++)
		for (size_t k = 0; k < n; k++)
			if (strcmp(stacks_name(stacks, i), modules[k][0]) == 0)
				assert_int_equal(strings_add(&stacks->strings, modules[k][1],
							     &stacks->frames[i].module),
						 0);
}

/* What an interpreter does, it does for the function that it runs. */
static void interpreters_are_not_the_program(void **state)
{
	static const char *const modules[][2] = {
		{"[libruby.so.3.1+0x10]", "libruby.so.3.1"},
		{"rb_ary_push", "libruby.so.3.1"},
		{"[php8.2+0x30]", "php8.2"},
		{"Py_Main", "python3.11"},
		{"dict_get", "python3.11"},
		{"[python3.11+0x10]", "python3.11"},
		{"PyDict_New", "libpython3.11.so.1.0"},
		{"[libz.so.1+0x50]", "libz.so.1"},
		{"app.run", "python.py"},
	};
	static const struct made_sample samples[] = {
		{"ruby", "main;App#sum_[0];[libruby.so.3.1+0x10]", 30, REASON_ONCPU},
		{"ruby", "main;App#sum_[0];rb_ary_push", 20, REASON_ONCPU},
		{"php", "main;App::run_[0];[php8.2+0x30]", 15, REASON_ONCPU},
		{"python3", "Py_Main;app.run_[0];[libz.so.1+0x50]", 9, REASON_ONCPU},
		{"python3", "Py_Main;app.run_[0];deflate", 8, REASON_ONCPU},
		{"python3", "Py_Main;app.run_[0];dict_get;memcpy", 7, REASON_ONCPU},
		{"python3", "Py_Main;app.run_[0];dict_get;fault_[k]", 6, REASON_ONCPU},
		/* of a version whose functions are not found; embedded */
		{"python3", "Py_Main;[python3.11+0x10]", 5, REASON_ONCPU},
		{"gdb", "main;step;PyDict_New", 4, REASON_ONCPU},
		{"python3", "Py_Main;app.run_[0];dict_get;read", 30, REASON_PIPE},
		{"python3", "Py_Main;dict_get;read", 20, REASON_PIPE},
		{"gdb", "main;step;PyDict_New;read", 10, REASON_PIPE},
	};
	static const char *const ran[] = {"App#sum_[0] - ruby 50",
					  "App::run_[0] - php 15",
					  "[libz.so.1+0x50] - python3 9",
					  "deflate - python3 8",
					  "memcpy - python3 7",
					  "fault_[k] - python3 6",
					  "[python3.11+0x10] - python3 5",
					  "PyDict_New - gdb 4"};
	static const char *const waited[] = {"app.run_[0] [pipe] python3 30",
					     "dict_get [pipe] python3 20", "step [pipe] gdb 10"};
	struct stacks stacks = made(PROFILE_WALL, samples, N(samples));

	set_modules(&stacks, modules, N(modules));
	assert_leaders(&stacks, LEADERS_RUNNING, ran, N(ran));
	assert_leaders(&stacks, LEADERS_WAITING, waited, N(waited));
	stacks_done(&stacks);
}

static void wakers_are_not_who_waits(void **state)
{
	static const struct made_sample samples[] = {
		{"db", "main;take;futex_wait_[k]", 50, REASON_FUTEX, 1, 1,
		 .wakers = {{"other", "main;give;futex_wake_[k]", 9}}},
	};
	static const char *const wanted[] = {"take [futex] db 50"};
	static const struct stacks_options options = {.unfold.waker_depth = 4};
	struct profile *profile = made_profile(PROFILE_OFFCPU, samples, N(samples));
	struct stacks stacks;

	assert_int_equal(stacks_init(&stacks, &options), 0);
	assert_int_equal(stacks_add(&stacks, profile, SIDE_NEW), 0);
	profile_free(profile);
	assert_leaders(&stacks, LEADERS_WAITING, wanted, N(wanted));
	stacks_done(&stacks);
}

static void wall_has_both(void **state)
{
	static const struct made_sample samples[] = {
		{"app", "main;work", 70, REASON_ONCPU},
		{"app", "main;work", 20, REASON_RUNQUEUE},
		{"app", "main;load;read", 10, REASON_DISK},
	};
	static const char *const ran[] = {"work - app 70"};
	static const char *const waited[] = {"work [runqueue] app 20", "load [disk] app 10"};
	struct stacks stacks = made(PROFILE_WALL, samples, N(samples));

	assert_leaders(&stacks, LEADERS_RUNNING, ran, N(ran));
	assert_leaders(&stacks, LEADERS_WAITING, waited, N(waited));
	stacks_done(&stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(running_is_named_by_the_function_that_ran),
		cmocka_unit_test(waits_are_named_by_the_programs_own_code),
		cmocka_unit_test(templates_are_the_librarys),
		cmocka_unit_test(interpreters_are_not_the_program),
		cmocka_unit_test(wakers_are_not_who_waits),
		cmocka_unit_test(wall_has_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
