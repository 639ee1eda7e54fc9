%% SPDX-License-Identifier: GPL-2.0-or-later
%%
%% beam_truth:main([LEAF]): processes that each stay below a known stack of Erlang's functions.
%%
%% LEAF is what they do at its end: burn, hash (a function in C), equal (the machine itself, in C), block
%% (a function that waits in C), or nap, which waits for a message. Each prints one line of JSON first: [[name, line], …], root first, as
%% the machine itself has it; that of the last function is not known.
-module(beam_truth).
-export([main/1, burn/1, hash/1, equal/1, block/1, nap/1]).

main([Leaf]) ->
    erlang:system_flag(backtrace_depth, 1000),
    erts_debug:set_internal_state(available_internal_state, true),
    Main = self(),
    Kinds = [fun by_call/1, fun by_fun/1, fun by_fold/1, fun by_sort/1, fun by_list/1, fun by_binary/1,
             fun by_name/1, fun by_try/1, fun by_map/1, fun by_numbers/1],
    All = [spawn(fun() -> put(leaf, Leaf), put(main, Main), started(Kind, 1) end) || Kind <- Kinds],
    [receive {said, Process} -> ok end || Process <- All],
    [Process ! go || Process <- All],
    receive ends -> ok end.

%% Calls that are a function's last leave no frame; these are not.
started(Kind, X) -> {started, Kind(X)}.

by_call(X) -> {by_call, deep(100, X)}.
deep(0, X) -> {deep, leaf(X)};
deep(N, X) -> {deep, deep(N - 1, X)}.

by_fun(X) -> {by_fun, lists:map(fun(Y) -> {a_fun, leaf(Y)} end, [X])}.
by_fold(X) -> {by_fold, lists:foldl(fun(Y, Z) -> {Y, leaf(Z)} end, X, [1])}.
by_sort(X) -> {by_sort, lists:sort(fun(Y, Z) -> leaf(Y) =< Z end, [X, 2])}.
by_list(X) -> {by_list, [{a_list, leaf(Y)} || Y <- [X]]}.
by_binary(X) -> {by_binary, << <<(leaf(Y))>> || <<Y>> <= <<X>> >>}.
by_name(X) -> {by_name, apply(?MODULE, get(leaf) , [said(X)])}.
by_try(X) ->
    try {by_try, leaf(X)} catch _:_ -> failed after erase(nothing) end.
by_map(X) -> {by_map, maps:fold(fun(_, Y, Z) -> {Z, leaf(Y)} end, [], #{a => X})}.

%% All kinds of terms are on the stack.
by_numbers(X) ->
    Float = X / 3,
    Large = 1 bsl (64 + X),
    Small = X - 12345,
    Terms = {self(), make_ref(), <<X:64>>, [X | improper], #{X => X}, fun() -> X end},
    {by_numbers, leaf(X), Float, Large, Small, Terms}.

leaf(X) -> {leaf, ?MODULE:(get(leaf))(said(X))}.

said(X) ->
    {current_stacktrace, Stack} = process_info(self(), current_stacktrace),
    Ours = lists:dropwhile(fun({Module, Function, _, _}) -> {Module, Function} =/= {?MODULE, said} end, Stack),
    Said = [io_lib:format("[\"~ts:~ts/~b\", ~b]", [Module, Function, Arity, proplists:get_value(line, Place, 0)])
            || {Module, Function, Arity, Place} <- lists:reverse(tl(Ours))],
    io:format("[~s]~n", [lists:join(", ", Said)]),
    get(main) ! {said, self()},
    receive go -> X end.

burn(N) -> burn(N + 1 band 16#ffff).

hash(X) -> hash(binary:copy(<<"text">>, 2000), X).
hash(Bytes, X) ->
    erlang:md5(Bytes),
    hash(Bytes, X).

%% C does not look at the stack then, which is not the same at all of these calls.
equal(X) -> equal(lists:duplicate(3000, X), lists:duplicate(3000, X)).
equal(X, Y) ->
    {equal, {equal, true}} = equal_1(X, Y),
    equal(X, Y).
equal_1(X, Y) -> case X == Y of true -> {equal, equal_2(X, Y)}; false -> false end.
equal_2(X, Y) -> case X == Y of true -> {equal, equal_3(X, Y)}; false -> false end.
equal_3(X, Y) -> X == Y.

block(X) ->
    erts_debug:set_internal_state(block, 5),
    erlang:yield(),
    block(X).

nap(X) ->
    receive never -> ok after 20 -> nap(X) end.
