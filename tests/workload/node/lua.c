// SPDX-License-Identifier: GPL-2.0-or-later
// lua.c: a module of node that runs LuaJIT: load(TEXT, FUNCTION) loads a text, in which FUNCTION is
// javascript(); call(NAME) calls a function of it.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// As in node_api.h and lua.h.
typedef void *value, *environment;
typedef value native(environment, void *);
int napi_create_function(environment, const char *, size_t, native *, void *, value *);
int napi_set_named_property(environment, value, const char *, value);
int napi_get_cb_info(environment, void *, size_t *, value *, value *, void **);
int napi_get_value_string_utf8(environment, value, char *, size_t, size_t *);
int napi_create_reference(environment, value, uint32_t, void **);
int napi_get_reference_value(environment, void *, value *);
int napi_call_function(environment, value, value, size_t, const value *, value *);
int napi_get_global(environment, value *);

void *luaL_newstate(void);
void luaL_openlibs(void *);
int luaL_loadbuffer(void *, const char *, size_t, const char *);
void lua_call(void *, int, int);
void lua_pushcclosure(void *, int (*)(void *), int);
void lua_setfield(void *, int, const char *);
void lua_getfield(void *, int, const char *);
#define GLOBALS (-10002)

static environment node;
static void *state, *function;

static int javascript(void *lua)
{
	value global, called, result;

	(void)lua;
	napi_get_global(node, &global);
	napi_get_reference_value(node, function, &called);
	napi_call_function(node, global, called, 0, NULL, &result);
	return 0;
}

static value load(environment env, void *info)
{
	char text[4096];
	value arguments[2];
	size_t n = 2;

	napi_get_cb_info(env, info, &n, arguments, NULL, NULL);
	napi_get_value_string_utf8(env, arguments[0], text, sizeof text, NULL);
	napi_create_reference(env, arguments[1], 1, &function);
	node = env;
	state = luaL_newstate();
	luaL_openlibs(state);
	lua_pushcclosure(state, javascript, 0);
	lua_setfield(state, GLOBALS, "javascript");
	luaL_loadbuffer(state, text, strlen(text), "=mixed");
	lua_call(state, 0, 0);
	return NULL;
}

static value call(environment env, void *info)
{
	char name[64];
	value argument;
	size_t n = 1;

	napi_get_cb_info(env, info, &n, &argument, NULL, NULL);
	napi_get_value_string_utf8(env, argument, name, sizeof name, NULL);
	lua_getfield(state, GLOBALS, name);
	lua_call(state, 0, 0);
	return NULL;
}

value napi_register_module_v1(environment env, value exports)
{
	value made;

	napi_create_function(env, "load", 4, load, NULL, &made);
	napi_set_named_property(env, exports, "load", made);
	napi_create_function(env, "call", 4, call, NULL, &made);
	napi_set_named_property(env, exports, "call", made);
	return exports;
}
