/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * applications LIBPYTHON SCRIPT: runs SCRIPT, a text, as web servers run an application: in an
 * interpreter of its own, in each of two threads. One thread made the interpreter, and has run
 * another one before; the other one has run none.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct python {
	void (*initialize)(int);
	void *(*new_interpreter)(void);
	void *(*interpreter_of)(void *thread);
	void *(*new_thread)(void *interpreter);
	void (*acquire)(void *thread);
	void *(*release)(void);
	int (*run)(const char *text, void *flags);
	void *interpreter;
	const char *script;
};

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		fprintf(stderr, "applications: %s is missing\n", name);
		exit(1);
	}
	return found;
}

static void *run(void *context)
{
	const struct python *python = context;

	python->acquire(python->new_thread(python->interpreter));
	python->run(python->script, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	struct python python;
	pthread_t thread;
	void *state;

	if (!library) {
		fprintf(stderr, "applications: LIBPYTHON SCRIPT, please\n");
		return 1;
	}
	python = (struct python){
		.initialize = symbol(library, "Py_InitializeEx"),
		.new_interpreter = symbol(library, "Py_NewInterpreter"),
		.interpreter_of = symbol(library, "PyThreadState_GetInterpreter"),
		.new_thread = symbol(library, "PyThreadState_New"),
		.acquire = symbol(library, "PyEval_RestoreThread"),
		.release = symbol(library, "PyEval_SaveThread"),
		.run = symbol(library, "PyRun_SimpleStringFlags"),
		.script = argv[2],
	};
	python.initialize(0);
	python.run("pass", NULL);
	state = python.new_interpreter();
	python.interpreter = python.interpreter_of(state);
	python.release();
	pthread_create(&thread, NULL, run, &python);
	python.acquire(state);
	python.run(python.script, NULL);
	return 0;
}
